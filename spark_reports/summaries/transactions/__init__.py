"""Summaries of transactions, and of the producers that take part in them."""
