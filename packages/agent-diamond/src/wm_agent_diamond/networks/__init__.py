"""Layers that the networks of DIAMOND are built of."""
