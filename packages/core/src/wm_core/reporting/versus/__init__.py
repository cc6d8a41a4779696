"""Agents against each other and against published results: aggregates, profiles, probability of improvement."""
