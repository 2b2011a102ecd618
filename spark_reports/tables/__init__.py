"""Tables on their way out of Spark: bounded numbers of rows to show, and files with all rows."""
