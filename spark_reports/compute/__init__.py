"""Computes the tables of a report with Spark: loads the logs, computes all summaries, and fetches the rows to show."""
