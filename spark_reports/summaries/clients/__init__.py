"""Summaries from the perspective of clients: unavailability, latency, errors, and lost records."""
