"""Benchmarks as data: found in `wm.suites`, planned into one run, scored by rules of their own where they have any."""
