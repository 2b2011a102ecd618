"""Summaries of brokers as processes, and of changed settings."""
