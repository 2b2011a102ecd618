"""Summaries about services: delayed records, retries, and dead letters."""
