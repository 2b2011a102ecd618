"""Reports on sessions with Spark: event logs become rows, rows become summaries, and summaries become tables, pages, and files.

The way of a report: `logs` finds event logs, `rows` turns their lines into rows, `summaries` defines the tables, `compute` computes
them with `spark`, `tables` holds the result, and `output` shows it. `report` is the command `isrlab report`, `convert` is
`isrlab log convert`, and `sweep` is `isrlab sweep`. PySpark is imported only when a command needs it.
"""
