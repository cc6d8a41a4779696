"""Environments: the built-in backends, the way from a game id to an `EnvSpec`, and lanes that step together."""
