"""Summaries of the threads of brokers and of changed settings."""
