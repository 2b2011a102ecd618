"""Summaries of what clients experience: unavailability, latency, errors, and lost records."""
