"""Summaries about transactions and their producers."""
