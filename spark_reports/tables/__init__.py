"""The tables of a report outside Spark: a limited number of rows for display, and files with all rows."""
