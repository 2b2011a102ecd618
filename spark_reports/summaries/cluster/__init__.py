"""Summaries about broker threads and about changed settings."""
