"""Turns lines of event logs into rows.

`schema` defines the columns. `lines_to_rows_arrow` (for logs on this machine) and `lines_to_rows_spark` (for all others) parse lines,
`staging` and `dataset` write and read rows as Parquet, `frames` combines all sources, and `rows_to_lines` turns rows back into lines.
"""
