"""A report with everything that a page can show: every state, every kind of window, long names, and shortened tables."""

from __future__ import annotations

from typing import Any

from spark_reports.summaries.overview import FIGURES, NOTES, TITLE, WORST
from spark_reports.tables.result import Report, Result

END = 60_000_000
LONG = "a-topic-with-a-name-that-is-longer-than-any-column-of-a-telephone.and-goes-on-" + "x" * 120


def report() -> Report:
    """Return the report on a session in which everything happened."""
    sessions = Result(
        "sessions", "Sessions", "", ("session", "release", "seed", "scenario", "events", "end_us", "ended", "torn"),
        [(LONG, "4.3", 0, "one-follower-killed", 7_653, END, True, False)],
    )  # fmt: skip
    figures = dict.fromkeys(FIGURES, 0) | {
        "end_us": END, "events": 7_653, "records_acknowledged": 5_995, "records_lost": 12, "records_lost_acknowledged": 5,
        "records_lost_read": 9, "no_reads_us": 8_378_000, "longest_no_reads_us": 8_378_000, "no_writes_us": 20_000_000,
        "longest_no_writes_us": 12_000_000, "stalled_us": 16_756_000, "longest_stalled_us": 8_378_000, "offline_us": 3_000_000,
        "under_min_us": 9_000_000, "unclean": 1, "elections": 4, "batches_given_up": 7, "batches_unanswered": 249,
        "records_never_delivered": 30, "records_delivered_twice": 20, "dead_letters": 1, "rebalances": 5, "unowned_us": 26_239_000,
        "longest_unowned_us": 6_005_000, "group_lag": 120, "max_group_lag": 4_000,
    }  # fmt: skip
    overview = Result("overview", TITLE, NOTES, ("session", *figures), [(LONG, *figures.values())], worst=WORST)
    columns = (
        "session",
        "topic",
        "partition",
        "accepted",
        "acknowledged",
        "unconfirmed",
        "lost",
        "lost_acknowledged",
        "lost_read",
        "recovered",
    )
    rows = [(LONG, LONG if number == 1 else "orders", number, 10**6, 10**6, 0, 12 if number == 0 else 0, 5, 9, 0) for number in range(400)]
    records = Result("records", "Records by partition", "`lost`: acknowledged or read.", columns, rows, worst=("lost",))
    states = [("in sync", 1, "1,2,3"), ("under-replicated", 1, "1,2,4"), ("at min", 2, "1,2"), ("under min", 2, "2"), ("offline", -1, "2")]
    windows = [("stalled", "b3 is down"), ("writes", "ISR under min.insync.replicas"), ("reads", "no leader")]
    timeline, closed, points = [], [], []
    for number, topic in enumerate(["orders", LONG, "payments"]):
        where = (LONG, topic, number)
        for place, (state, leader, isr) in enumerate(states):
            begin, finish = place * END // 5, (place + 1) * END // 5
            timeline.append((*where, isr, state, leader, begin, finish, 2, finish - begin))
        for place, (what, why) in enumerate(windows):
            begin, finish = (place + 2) * END // 6, (place + 3) * END // 6
            closed.append((*where, what, why, begin, finish, finish - begin))
        points += [(*where, at * END // 50, at * 120, at * 120 - 40) for at in range(50)]
    keys = ("session", "topic", "partition")
    unavailability = Result(
        "unavailability", "Windows in which a partition could not be read or written", "Reads: nobody leads.",
        (*keys, "what", "why", "from_us", "to_us", "lasts_us"), closed, worst=("lasts_us",),
    )  # fmt: skip
    drawn = [
        Result(
            "timeline",
            "",
            "",
            (*keys, "isr", "state", "leader", "from_us", "to_us", "min_isr", "lasts_us"),
            timeline,
            more=50,
            worst=("state",),
        ),
        Result("curves", "", "", (*keys, "at_us", "log_end", "high_watermark"), points),
        unavailability,
    ]
    tables, more = tables_with_pictures(LONG, END)
    return Report([sessions, overview, unavailability, records, *tables], figures, [*drawn, *more], partitions=400)


def result(name: str, rows: list[dict[str, Any]]) -> Result:
    """Return a table with the given rows."""
    return Result(name, name, "", tuple(rows[0]), [tuple(row.values()) for row in rows])


def owner(name: str, client: str, start: int, stop: int, partition: int = 0) -> dict[str, Any]:
    """Return a row of the table `owners`. The session, the group, and the topic are all called `name`."""
    return {"session": name, "group": name, "topic": name, "partition": partition, "client": client, "from_us": start, "to_us": stop}


def tables_with_pictures(name: str, end: int) -> tuple[list[Result], list[Result]]:
    """Return the tables that have pictures, and the data of their charts. Everything in them is called `name`."""
    where = {"session": name, "group": name, "topic": name, "partition": 0}
    move = {"session": name, "group": name, "number": 1, "from_us": 0, "lasts_us": 3, "outcome": "stable", "reason": name}
    late = {"session": name, "worker": name, "p50_late_us": -5, "p95_late_us": 3, "p99_late_us": 3, "max_late_us": 2_000_000}
    steps = ["appended", "copied", *["committed"] * 30, "lost"]
    tables = [
        result("groups", [{"session": name, "group": name}]),
        result("rebalances", [move]),
        result("group_lag", [where | {"lag": 3}]),
        result("deliveries", [where | {"once": None, "twice": 2, "half": 0, "never": 7}]),
        result("delays", [late]),
        result("retries", [{"session": name, "worker": name, "number": 1, "succeeded": 3, "failed": 0}]),
        result(
            "traces",
            [
                {"session": name, "topic": name, "partition": 0, "offset": 7, "number": number, "why": "lost", "step": step, "node": name}
                | {"at_us": number * 1_000, "event": number, "cause": 0}
                for number, step in enumerate(steps, start=1)
            ],
        ),
        result("audit", [{"session": name, "topic": name, "bucket_us": 0, "tier": tier, "records": 9} for tier in ("acked", "lost")]),
    ]
    drawn = [
        result("owners", [owner(name, name, 0, end // 2), owner(name, "", end // 2, end)]),
        result("lag_curves", [where | {"at_us": at, "lag": at - 3, "max_lag": at} for at in range(9)]),
    ]
    return tables, drawn
