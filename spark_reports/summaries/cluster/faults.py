"""What was down, paused, fenced, cut off, slow, or broken, from when until when, and the event that led to it."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.summary import Summary, table_schema

_PROCESS: Final = ("broker-stopped", "broker-started", "broker-paused", "broker-resumed")
_CONTROLLER: Final = ("controller-stopped", "controller-started", "controller-paused", "controller-resumed")
_FENCE: Final = ("broker-fenced", "broker-unfenced", "session-expired", "broker-joined")
_LINK: Final = ("link-cut", "link-healed")
_DISK: Final = ("disk-slowed",)
_DIRECTORY: Final = ("log-dir-failed", "log-dir-repaired")

_LIVES: Final = {
    "process": (_PROCESS, "concat('b', broker)"),
    "controller": (_CONTROLLER, "controller"),
    "session": (_FENCE, "concat('b', broker)"),
    "link": (_LINK, "concat(src, ' → ', dst)"),
    "disk": (_DISK, "concat('b', broker)"),
    "directory": (_DIRECTORY, "concat('b', broker, ' directory ', dir)"),
}
"""The kinds of events that begin or end a fault of the same thing, and the name of that thing. Each event ends the fault before it."""

_BEGINS: Final = {
    "broker-stopped": "how",
    "broker-paused": "'paused'",
    "controller-stopped": "'stopped'",
    "controller-paused": "'paused'",
    "broker-fenced": "'fenced'",
    "session-expired": "'session expired'",
    "link-cut": "'cut'",
    "disk-slowed": "if(delay_us > 0, 'slow disk', NULL)",
    "log-dir-failed": "'failed'",
}
"""The kinds of events that begin a fault, and what the fault is; null if the event begins none."""


def _case(cases: dict[str, str]) -> str:
    return f"CASE kind {' '.join(f'WHEN {kind!r} THEN {value}' for kind, value in cases.items())} END"


def _compute(inputs: SummaryInputs) -> DataFrame:
    names = {kind: name for kinds, name in _LIVES.values() for kind in kinds}
    lives = {kind: repr(life) for life, (kinds, _) in _LIVES.items() for kind in kinds}
    life = Window.partitionBy("session", "life", "who").orderBy("seq")
    return (
        inputs.events_of(FAULTS.kinds)
        .selectExpr(
            "session",
            "seq AS event",
            "t AS from_us",
            "cause",
            f"{_case(lives)} AS life",
            f"{_case(names)} AS who",
            f"{_case(_BEGINS)} AS what",
            "seq",
        )
        .withColumn("until_us", F.lead("from_us").over(life))
        .where("what IS NOT NULL")
        .join(F.broadcast(inputs.sessions.select("session", "end_us")), "session")
        .withColumn("lasts_us", F.expr("greatest(coalesce(until_us, end_us), from_us) - from_us"))
    )


FAULTS: Final = Summary(
    name="faults",
    title="Who was down, paused, fenced, cut off, or slow, and when",
    notes=(
        "`what` is how the process ended (`killed`, `power-loss`, `shutdown`, `halted`, `unheard`, or `exited`; `stopped` for a controller), or `paused`, `fenced` (KRaft) or "
        "`session expired` (ZooKeeper), `cut` (messages from the first node to the second do not arrive), `slow disk`, or `failed` (a log "
        "directory). `event` is the number of the event that began the fault, and `cause` is the number of the event that led to it, "
        "for example of the act of a person. An empty `until_us` means the end of the session."
    ),
    kinds=tuple(kind for kinds, _ in _LIVES.values() for kind in kinds),
    columns=("broker", "how", "controller", "src", "dst", "delay_us", "dir"),
    schema=table_schema(
        names=("session",), numbers=("event",), more_names=("what", "who"), more_numbers=("from_us", "until_us", "lasts_us", "cause")
    ),
    keys=("session", "event"),
    compute=_compute,
    worst=("lasts_us",),
    rows_from=tuple(_BEGINS),
)
