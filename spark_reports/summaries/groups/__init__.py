"""Summaries about consumer groups: their lag, their rebalances, and the records that they process."""
