"""Spark summaries of sessions: event logs in, tables out.

`report` is what the command line calls; `spark` and `jvm` start Spark, `schema` and `sessions` read logs, `summaries`
answer one question each, `render` shows the answers. PySpark is imported only when a report is asked for.
"""
