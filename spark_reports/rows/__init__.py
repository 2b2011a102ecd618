"""Turns lines of event logs into rows.

`schema` defines the columns. `lines_to_rows` parses lines on Spark. `arrow_fast_path` parses logs on this machine, and is faster.
`staging` and `dataset` write and read rows as Parquet, `frames` combines all sources, and `rows_to_lines` turns rows back into lines.
"""
