"""The tables that Spark returns: a limited number of rows to show, and files with all rows."""
