"""Reports on sessions, computed with Spark: event logs are parsed into rows, rows are summarized, and summaries are shown or written to
files.

`logs` finds event logs, `rows` turns their lines into rows, `summaries` defines the tables, `compute` computes the tables with `spark`,
`tables` contains the results, and `output` shows the results. `report` is the command `isrlab report`, and `convert` is `isrlab log convert`.
`sweep_workers` executes the runs of `scenarios.sweeps` on Spark. PySpark is imported only when a command needs it.
"""
