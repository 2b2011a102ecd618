"""Turns lines of event logs into rows.

`schema` defines the columns. `lines_to_rows` parses the logs on this machine with Arrow. `remote_lines_to_rows` uses Spark to parse all
other logs: those that only the executors can read, and those that Arrow cannot parse. `staging` and `dataset` write and read rows as
Parquet, `frames` combines all sources, and `rows_to_lines` turns rows back into lines. `log_source` is a data source for Spark sessions of
the caller; `log_partitions` and `log_positions` are its parts on the driver.
"""
