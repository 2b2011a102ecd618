"""Reports on sessions, computed with Spark: event logs are parsed into rows, rows are summarized, and summaries are shown or written to
files.

`logs` finds event logs, `rows` turns their lines into rows, `summaries` defines the tables, `compute` computes the tables with `spark`,
`tables` contains the results, and `output` shows the results. `report` is the command `isrlab report`, and `convert` is `isrlab log convert`.
`follow` keeps the page of a report up to date.
`sweep_workers` executes the runs of `scenarios.sweeps` on Spark. `own_session` has the functions for a Spark session of the caller, which this
package exports. PySpark is imported only when a command needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spark_reports.own_session import count_unknown, list_summaries, register, summary

__all__ = ["count_unknown", "list_summaries", "register", "summary"]


def __getattr__(name: str) -> Any:
    """Import a function of `own_session` when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from spark_reports import own_session

    return getattr(own_session, name)
