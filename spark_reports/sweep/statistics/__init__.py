"""Estimates with confidence intervals, and the results of each cell."""
