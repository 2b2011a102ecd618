"""The summaries once more, in plain Python: one loop over a log's lines a question, nothing shared with `spark_reports`.

Each function takes the events of one session as the objects on the log's lines, and gives its rows as a mapping from the
columns that tell rows apart to the other columns.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

Line = dict[str, Any]
Rows = dict[tuple[Any, ...], dict[str, int]]


def read(path: Path) -> tuple[list[Line], int]:
    """The events of a log, and the time its session ended."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    events = [line for line in lines if "kind" in line]
    ends = [line["t"] for line in lines if "end" in line]
    return events, ends[0] if ends else max((event["t"] for event in events), default=0)


def elections(events: list[Line], end: int) -> Rows:
    rows: Rows = defaultdict(
        lambda: dict.fromkeys(("elections", "clean", "preferred", "eligible", "unclean", "last_known", "offline", "refused"), 0)
    )
    for event in events:
        if event["kind"] == "leader-elected":
            rows[(event["topic"],)]["elections"] += 1
            rows[(event["topic"],)][event["election"].replace("-", "_")] += 1
        elif event["kind"] == "partition-offline":
            rows[(event["topic"],)]["offline"] += 1
        elif event["kind"] == "election-refused":
            rows[(event["topic"],)]["refused"] += 1
    return rows


def isr_churn(events: list[Line], end: int) -> Rows:
    rows: Rows = defaultdict(lambda: dict.fromkeys(("shrinks", "expands", "dropped", "readmitted", "left", "entered"), 0))
    isr: dict[tuple[str, int], set[int]] = {}
    for event in events:
        if event["kind"] == "isr-shrunk":
            rows[(event["broker"],)]["shrinks"] += 1
            for member in event["out"]:
                rows[(member,)]["dropped"] += 1
        elif event["kind"] == "isr-expanded":
            rows[(event["broker"],)]["expands"] += 1
            for member in event["joined"]:
                rows[(member,)]["readmitted"] += 1
        elif event["kind"] == "partition-changed":
            where, now = (event["topic"], event["partition"]), set(event["isr"])
            before = isr.get(where, now)
            for member in before - now:
                rows[(member,)]["left"] += 1
            for member in now - before:
                rows[(member,)]["entered"] += 1
            isr[where] = now
    return rows


def availability(events: list[Line], end: int) -> Rows:
    rows: Rows = {}
    state: dict[tuple[str, int], tuple[int, str]] = {}

    def account(where: tuple[str, int], until: int) -> None:
        since, how = state[where]
        rows[where]["observed_us"] += until - since
        if how:
            rows[where][how + "_us"] += until - since

    for event in events:
        if event["kind"] != "partition-changed":
            continue
        where = (event["topic"], event["partition"])
        if where in state:
            account(where, event["t"])
        else:
            names = ("observed_us", "under_replicated_us", "under_replicated_times", "offline_us", "offline_times")
            rows[where] = dict.fromkeys(names, 0)
        how = ""
        if event["leader"] == -1:
            how = "offline"
        elif len(event["isr"]) + len(event["adding"]) < len(event["replicas"]):
            how = "under_replicated"
        if how and (where not in state or state[where][1] != how):
            rows[where][how + "_times"] += 1
        state[where] = (event["t"], how)
    for where in state:
        account(where, end)
    return rows


def records(events: list[Line], end: int) -> Rows:
    names = ("accepted", "acknowledged", "unconfirmed", "lost", "recovered", "duplicated", "diverged")
    rows: Rows = defaultdict(lambda: dict.fromkeys(names, 0))
    spans = {
        "append": "accepted",
        "records-lost": "lost",
        "records-recovered": "recovered",
        "records-duplicated": "duplicated",
        "records-diverged": "diverged",
    }
    for event in events:
        if event["kind"] == "produce-acked":
            column = "acknowledged" if event["acks"] in (-1, 1) else "unconfirmed"
            rows[event["topic"], event["partition"]][column] += event["records"]
        elif event["kind"] in spans:
            count = event["to_offset"] - event["from_offset"]
            rows[event["topic"], event["partition"]][spans[event["kind"]]] += count
            if event["kind"] == "records-recovered":
                rows[event["topic"], event["partition"]]["lost"] -= count
    return rows


def produce_latency(events: list[Line], end: int) -> Rows:
    waits: dict[tuple[str, int], list[int]] = defaultdict(list)
    counts: Counter[tuple[str, int]] = Counter()
    for event in events:
        if event["kind"] == "produce-acked":
            waits[event["topic"], event["acks"]].append(event["latency_us"])
            counts[event["topic"], event["acks"]] += event["records"]
    rows: Rows = {}
    for group, latencies in waits.items():
        latencies.sort()
        number = len(latencies)
        rows[group] = {"batches": number, "records": counts[group], "max_us": latencies[-1]}
        for percent in (50, 95, 99):
            rows[group][f"p{percent}_us"] = latencies[-(-percent * number // 100) - 1]
    return rows


def errors(events: list[Line], end: int) -> Rows:
    rows: Rows = {}
    for event in events:
        if "error" in event:
            row = rows.setdefault((event["error"], event["kind"]), {"count": 0, "given_up": 0, "first_us": event["t"], "last_us": 0})
            row["count"] += 1
            row["given_up"] += event["kind"] == "produce-failed" and not event["retry"]
            row["last_us"] = event["t"]
    return rows


ALL = {
    "elections": elections,
    "isr_churn": isr_churn,
    "availability": availability,
    "records": records,
    "produce_latency": produce_latency,
    "errors": errors,
}
"""Every question by the summary's name."""
