"""Turns lines of event logs into rows.

`schema` defines the columns. `lines_to_rows` parses the logs on this machine with Arrow. `remote_lines_to_rows` parses the other logs with
Spark, which are logs that only the executors can read and logs that Arrow refuses. `staging` and `dataset` write and read rows as Parquet,
`frames` combines all sources, and `rows_to_lines` turns rows back into lines.
"""
