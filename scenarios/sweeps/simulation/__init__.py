"""Simulates one run of a sweep, from its drawn faults to a row of numbers.

This package needs only `core`, `sweeps.grid`, and attrs, so that executors can run it.
"""
