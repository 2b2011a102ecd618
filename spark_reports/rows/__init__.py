"""Turns lines of event logs into rows.

`schema` defines the columns. `lines_to_rows` parses lines on Spark, and `arrow_fast_path` those of logs on this machine, which is faster;
`staging` and `dataset` write and read rows as Parquet, `frames` combines all sources, and `rows_to_lines` turns rows back into lines.
"""
