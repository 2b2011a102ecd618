"""The tables of a report after they leave Spark: a limited number of rows for display, and files with all rows."""
