"""bsuite for wmbench: 468 environments, and the scores of 23 experiments from logs of whole learning runs."""
