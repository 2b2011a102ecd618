"""The share of time that each broker's network threads and request handler threads are idle, computed with the same model as the idle
metrics.

The cost of a request is the same as in `core.lab.metrics.request_queue`. The thread counts are those at the start of the session. Time
advances in steps of five seconds, the interval of Kafka's meters. In each step, the threads do as much work as they can, and the remaining
work waits for the next step. The work that is waiting after a step equals the work that has arrived since the queue was last empty, minus
the capacity of the threads since then: `W(i) - C(i) - min(0, W(j) - C(j), …)`, where W is the total work and C is the total capacity so
far.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from core.lab.metrics.meter import TICK
from core.lab.metrics.observer import REQUEST_BYTES
from core.lab.metrics.request_queue import COSTS
from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.intermediate.event_counts import REQUESTS
from spark_reports.summaries.intermediate.partition_states import PARTITION
from spark_reports.summaries.summary import Summary, table_schema

THREADS: Final = {"network": ("num.network.threads", 3), "handler": ("num.io.threads", 8)}
"""The two kinds of threads, each with the setting that defines the number of threads, and the default value of that setting."""

_COSTS: Final = {"network": (COSTS.network_request, COSTS.network_byte), "handler": (COSTS.handler_request, COSTS.handler_byte)}


def _compute(inputs: SummaryInputs) -> DataFrame:
    asked = inputs.event_counts.where(F.col("kind").isin(*REQUESTS)).selectExpr(
        *PARTITION,
        "broker",
        "step",
        "events",
        "bytes AS written",
        "CASE WHEN kind = 'append' THEN span END AS appended",
        "CASE WHEN kind IN ('follower-append', 'consumed') THEN span END AS moved",
    )
    counted = asked.groupBy(*PARTITION, "broker", "step").agg(
        F.sum("events").alias("requests"), *(F.sum(name).alias(name) for name in ("written", "appended", "moved"))
    )
    whole = Window.partitionBy(*PARTITION)
    sized = counted.withColumns({"all_written": F.sum("written").over(whole), "all_appended": F.sum("appended").over(whole)})
    moved = "coalesce(moved * (all_written div all_appended), 0)"
    steps = (
        sized.selectExpr("session", "broker", "step", "requests", f"coalesce(written, 0) + {moved} + requests * {REQUEST_BYTES} AS size")
        .groupBy("session", "broker", "step")
        .agg(F.sum("requests").alias("requests"), F.sum("size").alias("size"))
        .join(F.broadcast(inputs.sessions.select("session", "end_us", "threads")), "session")
    )
    before = Window.partitionBy("session", "broker").orderBy("step")
    history = before.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    given: dict[str, Column] = {}
    done: dict[str, Column] = {}
    waits: dict[str, Column] = {}
    busy: dict[str, Column] = {}
    columns = []
    for name, (request, byte) in _COSTS.items():
        setting, default = THREADS[name]
        threads = f"coalesce(threads[concat('{setting} ', broker)], threads['{setting}'], {default})"
        work, capacity = f"{name}_work", f"{name}_capacity"
        given |= {work: F.expr(f"requests * {request} + size * {byte}"), capacity: F.expr(f"{threads} * {TICK * 1_000}")}
        done[f"{name}_done"] = F.sum(work).over(history)
        # The minimum of work minus capacity over all steps so far, including steps without work.
        least = F.least(
            F.lit(0),
            F.min(F.expr(f"least({name}_done - {work} - {capacity} * step, {name}_done - {capacity} * (step + 1))")).over(history),
        )
        waits[f"{name}_waits"] = F.expr(f"{name}_done - {capacity} * (step + 1)") - least
        rested = F.lag(f"{name}_waits").over(before) - F.col(capacity) * (F.col("step") - F.lag("step").over(before) - 1)
        busy[f"{name}_busy"] = F.greatest(F.coalesce(rested, F.lit(0)), F.lit(0)) + F.expr(f"{work} - {name}_waits")
        everything = f"(greatest(end_us, max(step) * {TICK}) div {TICK} + 1) * max({capacity})"
        left = (
            f"greatest(max_by({name}_waits, step) - max({capacity}) * ((greatest(end_us, max(step) * {TICK}) div {TICK}) - max(step)), 0)"
        )
        columns += [
            F.expr(f"100 - (max({name}_done) - {left}) * 100 div ({everything}) AS {name}_idle_percent"),
            F.expr(f"100 - max({name}_busy * 100 div {capacity}) AS {name}_idle_least_percent"),
        ]
    steps = steps.withColumns(given).withColumns(done).withColumns(waits).withColumns(busy)
    return steps.groupBy("session", "broker", "end_us").agg(F.sum("requests").alias("requests"), *columns)


IDLE: Final = Summary(
    name="idle",
    title="Idle network and request handler threads by broker",
    notes=(
        "The idle percentages come from the laboratory's model of requests and their costs; they are not measurements of Kafka. Fetches "
        "without records do not count. Columns that end in `_idle_percent` cover the whole session, and columns that end in "
        "`_idle_least_percent` cover the busiest five seconds. The percentages are rounded up. The numbers of threads are those at the "
        "start of the session (num.network.threads and num.io.threads). For replicated and consumed records, the model uses the mean record "
        "size of the partition."
    ),
    kinds=REQUESTS,
    columns=("topic", "partition", "broker", "leader", "bytes", "from_offset", "to_offset"),
    schema=table_schema(
        names=("session",),
        numbers=(
            "broker", "requests", "network_idle_percent", "network_idle_least_percent", "handler_idle_percent", "handler_idle_least_percent",
        ),
    ),
    keys=("session", "broker"),
    compute=_compute,
    worst=("-handler_idle_least_percent", "-network_idle_least_percent"),
)  # fmt: skip
