"""Searches for the faults that harm a cluster: which acts, at which moments, until a condition becomes true."""
