"""The summaries of transactions, implemented again in plain Python, as in `reference`."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

Line = dict[str, Any]
Rows = dict[tuple[Any, ...], Any]

DECISIONS = {"PrepareCommit": "committed", "PrepareAbort": "aborted"}


def nearest_rank(ordered: list[int], percent: int) -> int:
    return ordered[-(-percent * len(ordered) // 100) - 1]


def transactions(events: list[Line], end: int) -> Rows:
    every: dict[str, list[Line]] = defaultdict(list)
    begun: dict[str, list[Line]] = defaultdict(list)  # since the last start
    for event in events:
        if event["kind"] == "transaction-begun":
            begun[event["transactional_id"]].append(event)
        if event["kind"] != "transaction-state":
            continue
        several, state = every[event["transactional_id"]], event["transaction_state"]
        if state in ("Ongoing", *DECISIONS):
            if event["former_state"] != "Ongoing" or not several or "decided" in several[-1]:
                several.append({})
            if event["former_state"] != "Ongoing":
                for each in begun.pop(event["transactional_id"], []):
                    if all(each[name] == event[name] for name in ("producer_id", "producer_epoch")):
                        several[-1]["begun"] = each["t"]
        if state == "Ongoing":
            several[-1]["ongoing"] = True
        elif state in DECISIONS:
            several[-1] |= {"outcome": DECISIONS[state], "decided": event["t"]}
        elif state in ("CompleteCommit", "CompleteAbort"):
            for one in [one for one in several if "decided" in one][-1:]:
                one.setdefault("completed", event["t"])
    found: dict[Any, list[Line]] = defaultdict(list)
    for name, several in every.items():
        for one in several:
            if "outcome" in one or "ongoing" in one:
                found[name, one.get("outcome", "open")].append(one)
    rows: Rows = {}
    for key, several in found.items():
        times = {
            "decided": sorted(one["decided"] - one["begun"] for one in several if "decided" in one and "begun" in one),
            "complete": sorted(one["completed"] - one["decided"] for one in several if "completed" in one),
        }
        rows[key] = {"transactions": len(several), "incomplete": sum("decided" in one and "completed" not in one for one in several)}
        for name, waits in times.items():
            for percent in (50, 95, 99):
                rows[key][f"p{percent}_{name}_us"] = nearest_rank(waits, percent) if waits else None
            rows[key][f"max_{name}_us"] = max(waits, default=None)
    return rows


def aborted_transactions(events: list[Line], end: int) -> Rows:
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for event in events:
        if event["kind"] == "transaction-timed-out":
            counts[event["transactional_id"]][2] += 1
        elif event["kind"] == "transaction-state" and event["transaction_state"] in DECISIONS:
            counts[event["transactional_id"]][0] += 1
            counts[event["transactional_id"]][1] += event["transaction_state"] == "PrepareAbort"
    return {
        (name,): {
            "decided": decided,
            "aborted": aborted,
            "aborted_per_million": aborted * 1_000_000 // decided if decided else None,
            "timed_out": late,
        }
        for name, (decided, aborted, late) in counts.items()
    }


def duplicates(events: list[Line], end: int) -> Rows:
    dropped: dict[str, list[Line]] = defaultdict(list)
    for event in events:
        if event["kind"] == "duplicate-dropped":
            dropped[event["producer"]].append(event)
    return {
        (producer,): {
            "batches": len(several),
            "records": sum(each["to_offset"] - each["from_offset"] for each in several),
            "partitions": len({(each["topic"], each["partition"]) for each in several}),
            "first_us": several[0]["t"],
            "last_us": several[-1]["t"],
        }
        for producer, several in dropped.items()
    }


def refusals(events: list[Line], end: int) -> Rows:
    fixed = {"marker-refused": "WriteTxnMarkers", "verification-failed": "Produce"}
    refused: dict[Any, list[Line]] = defaultdict(list)
    for event in events:
        if event["kind"] in ("transaction-refused", *fixed):
            refused[fixed.get(event["kind"]) or event["request"], event["error"]].append(event)
    return {
        key: {
            "refusals": len(several),
            "transactional_ids": len({each["transactional_id"] for each in several if "transactional_id" in each}),
            "first_us": several[0]["t"],
            "last_us": several[-1]["t"],
        }
        for key, several in refused.items()
    }


def on_partitions(events: list[Line]) -> list[Line]:
    """Return the transactions of partitions: those that a marker from the newest leader ended, and those that are open at the end."""
    owner: dict[str, tuple[int, str]] = {}
    leader: dict[Any, int] = {}
    elections: dict[Any, list[tuple[int, int]]] = defaultdict(list)
    rows: list[Line] = []
    markers = {event["seq"] for event in events if event["kind"] == "marker-appended"}
    for event in events:
        where = (event.get("topic"), event.get("partition"))
        if event["kind"] == "append" and event["cause"] in markers:
            continue
        if event["kind"] == "transaction-begun":
            owner[event["producer"]] = event["producer_id"], event["transactional_id"]
        elif event["kind"] == "became-leader":
            leader[where] = event["broker"]
            elections[where].append((event["seq"], event["offset"]))
        elif event["kind"] == "topic-deleted":
            for number in range(event["partitions"]):
                leader[event["topic"], number] = -1
                elections[event["topic"], number].append((event["seq"], 0))
        elif event["kind"] == "marker-appended" and leader.get(where) == event["broker"]:
            rows.append(
                {"where": where, "pid": event["producer_id"], "first": event["first_offset"], "at": event["marker_offset"], "marker": True}
                | {"seq": event["seq"], "t": event["t"], "id": None}
            )
        elif event["kind"] == "append" and leader.get(where) == event["broker"] and event["producer"] in owner:
            pid, name = owner[event["producer"]]
            rows.append(
                {"where": where, "pid": pid, "first": event["from_offset"], "at": event["from_offset"], "marker": False}
                | {"seq": event["seq"], "t": event["t"], "id": name}
            )
    for row in rows:
        after = [seq for seq, log_end in elections[row["where"]] if seq > row["seq"] and log_end <= row["at"]]
        row["lost"] = min(after, default=None)
        row["from"] = max([0, *(seq for seq, log_end in elections[row["where"]] if seq < row["seq"] and log_end <= row["first"])])
    lost: dict[Any, int] = defaultdict(int)
    found = []
    for row in rows:
        if row["marker"] and row["first"] >= 0:
            same = (row["where"], row["pid"], row["first"])
            found.append(row | {"from": max(row["from"], lost[same]), "to": row["lost"]})
            lost[same] = max(lost[same], row["lost"] or 0)
    pending: dict[Any, Line] = {}
    for row in rows:
        if row["lost"] is None and row["marker"]:
            pending.pop((row["where"], row["pid"]), None)
        elif row["lost"] is None:
            pending.setdefault((row["where"], row["pid"]), row)
    for row in pending.values():
        found.append(row | {"at": None, "to": None, "from": max(row["from"], lost[row["where"], row["pid"], row["first"]])})
    return found


def hanging_transactions(events: list[Line], end: int) -> Rows:
    last: dict[str, Line] = {}
    for event in events:
        if event["kind"] == "transaction-state":
            last[event["transactional_id"]] = event
    owners = {
        event["producer_id"]: event
        for event in sorted(last.values(), key=lambda event: event["seq"])
        if event["transaction_state"] != "Dead"
    }
    rows: Rows = {}
    for row in on_partitions(events):
        if row["at"] is None:
            owner = owners.get(row["pid"], {"transaction_state": "", "partitions_named": ""})
            state, named = owner["transaction_state"], owner["partitions_named"].split(",")
            hangs = "{}-{}".format(*row["where"]) not in named
            rows[*row["where"], row["pid"]] = {
                "transactional_id": row["id"],
                "coordinator_state": state,
                "status": "hanging" if hangs else "open" if state == "Ongoing" else "waits for marker",
                "first_offset": row["first"],
                "since_us": row["t"],
                "open_us": max(end - row["t"], 0),
            }
    return rows


def held_intervals(events: list[Line], end: int) -> list[Line]:
    """Return the intervals in which the last stable offset of a leader was held back."""
    terms: list[Line] = []
    current: dict[Any, Line] = {}
    role: dict[Any, Line] = {}  # the terms that have not ended
    for event in events:
        who = (event.get("topic"), event.get("partition"), event.get("broker"))
        if event["kind"] == "broker-stopped":
            for key in [key for key in role if key[2] == event["broker"]]:
                role.pop(key)["ends"] = event["t"]
        elif event["kind"] in ("became-leader", "became-follower"):
            if who in role:
                role.pop(who)["ends"] = event["t"]
            if event["kind"] == "became-leader":
                term = {"where": who[:2], "broker": who[2], "seq": event["seq"], "ends": None, "latest": max(end, event["t"])}
                term["steps"] = [(event["t"], event["high_watermark"], None)]
                current[who] = role[who] = term
                terms.append(term)
        elif event["kind"] == "high-watermark" and who in current:
            steps = current[who]["steps"]
            if event["new_offset"] > steps[-1][1]:
                steps.append((event["t"], event["new_offset"], steps[-1][1]))
    found = []
    every = on_partitions(events)
    for term in terms:
        here = []
        ends = term["latest"] if term["ends"] is None else term["ends"]
        for row in every:
            if row["where"] != term["where"] or term["seq"] < row["from"] or (row["to"] is not None and term["seq"] >= row["to"]):
                continue
            begins = next((step for step in term["steps"] if step[1] > row["first"]), None)
            passed = None if row["at"] is None else next((step for step in term["steps"] if step[1] > row["at"]), None)
            if begins is None:
                continue
            until = ends if passed is None else min(passed[0], ends)
            reached = term["steps"][-1][1] if passed is None or passed[2] is None else passed[2]
            if begins[0] < until:
                at_end = passed is None and term["ends"] is None
                here.append((row["first"], row["seq"], begins[0], until, reached - row["first"], at_end))
        covered = 0
        for first, _, start, until, gap, at_end in sorted(here):
            if max(start, covered) < until:
                found.append(
                    {"where": term["where"], "broker": term["broker"], "from": max(start, covered), "to": until, "offset": first}
                    | {"gap": gap, "at_end": at_end}
                )
            covered = max(covered, until)
    return found


def held(events: list[Line], end: int) -> Rows:
    return {
        (*one["where"], one["broker"], one["from"]): {"to_us": one["to"], "offset": one["offset"], "lasts_us": one["to"] - one["from"]}
        for one in held_intervals(events, end)
    }


def stable_offsets(events: list[Line], end: int) -> Rows:
    of: dict[Any, list[Line]] = defaultdict(list)
    for one in held_intervals(events, end):
        of[one["where"]].append(one)
    rows: Rows = {}
    for where, several in of.items():
        windows: list[list[int]] = []
        for one in sorted(several, key=lambda one: (one["from"], one["to"])):
            if windows and one["from"] <= windows[-1][1]:
                windows[-1][1] = max(windows[-1][1], one["to"])
            else:
                windows.append([one["from"], one["to"]])
        lengths = [stop - start for start, stop in windows]
        rows[where] = {
            "held_us": sum(lengths),
            "windows": len(windows),
            "longest_us": max(lengths),
            "largest_gap": max(one["gap"] for one in several),
            "held_at_end": int(any(one["at_end"] for one in several)),
        }
    return rows


ALL = {
    "transactions": transactions,
    "aborted_transactions": aborted_transactions,
    "stable_offsets": stable_offsets,
    "hanging_transactions": hanging_transactions,
    "duplicates": duplicates,
    "refusals": refusals,
    "held": held,
}
"""The reference implementation of each summary, by the summary's name."""
