"""The summaries of groups and services, implemented again in plain Python, as in `reference`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

Line = dict[str, Any]
Rows = dict[tuple[Any, ...], Any]
Interval = tuple[int, int]


def covered(intervals: Iterable[Interval]) -> int:
    """Return how many offsets are in at least one of the intervals."""
    total, reached = 0, None
    for low, high in sorted(intervals):
        start = low if reached is None else max(low, reached)
        total += max(high - start, 0)
        reached = max(high, start)
    return total


def of_group(event: Line) -> tuple[str, str, int]:
    return event["group"], event["topic"], event["partition"]


def lags(events: list[Line], end: int) -> dict[tuple[str, str, int], list[Line]]:
    """Return the changes in the committed offset and the high watermark for each group and partition."""
    removals = ("offset-deleted", "offset-expired", "offset-removed")
    commits = ("offset-committed", "offset-materialized", *removals)
    steps: dict[tuple[str, str, int], list[Line]] = {of_group(event): [] for event in events if event["kind"] in commits}
    leader: dict[Any, int] = {}
    for event in events:
        if event["kind"] in commits:
            keys, value = (
                [of_group(event)],
                {"committed": None if event["kind"] in removals else event["committed_offset"]},
            )
        elif event["kind"] in ("became-leader", "high-watermark"):
            where = event["topic"], event["partition"]
            if event["kind"] == "became-leader":
                leader[where] = event["broker"]
            if leader.get(where) != event["broker"]:
                continue
            keys = [key for key in steps if key[1:] == where]
            value = {"log_end": event["high_watermark" if event["kind"] == "became-leader" else "new_offset"]}
        else:
            continue
        for key in keys:
            before = steps[key][-1] if steps[key] else {"committed": None, "log_end": None}
            steps[key].append(before | value | {"t": event["t"]})
    for several in steps.values():
        for one, later in pairwise([*several, {"t": max(end, several[-1]["t"])}]):
            one["until"] = later["t"]
            one["lag"] = None if None in (one["committed"], one["log_end"]) else one["log_end"] - one["committed"]
    return steps


def group_lag(events: list[Line], end: int) -> Rows:
    rows: Rows = {}
    for key, steps in lags(events, end).items():
        known = [step for step in steps if step["lag"] is not None]
        worst = max(known, key=lambda step: step["lag"], default=None)
        time = sum(step["until"] - step["t"] for step in known)
        total = sum(step["lag"] * (step["until"] - step["t"]) for step in known)
        rows[key] = {
            "commits": sum(one["committed"] != later["committed"] for one, later in pairwise([{"committed": None}, *steps])),
            "committed_offset": steps[-1]["committed"],
            "high_watermark": steps[-1]["log_end"],
            "lag": steps[-1]["lag"],
            "max_lag": worst and worst["lag"],
            "max_at_us": worst and worst["t"],
            "mean_lag": abs(total) // time * (1 if total >= 0 else -1) if time else None,
        }
    return rows


def rebalancing(events: list[Line], end: int) -> dict[str, list[Line]]:
    """Return the rebalances of each group, in order."""
    found: dict[str, list[Line]] = defaultdict(list)
    pending: dict[str, Line] = {}
    for event in events:
        group = event.get("group", "")
        starts = event["kind"] in ("group-rebalancing", "group-epoch")
        state = (
            event["new_state"]
            if event["kind"] == "group-state"
            else {"group-stable": "Stable", "group-emptied": "Empty"}.get(event["kind"])
        )
        if not starts and state not in ("Stable", "Empty"):
            continue
        if group in pending:
            outcome = "repeated" if starts else state.lower() if state else ""
            generation = None if starts else event["group_epoch"] if event["kind"] == "group-state" else event["generation"]
            pending.pop(group).update(to=event["t"], outcome=outcome, generation=generation)
        if starts:
            pending[group] = {"from": event["t"], "broker": event["broker"], "reason": event.get("reason"), "members": event["members"]}
            found[group].append(pending[group])
    for one in pending.values():
        one.update(to=max(end, one["from"]), outcome="open", generation=None)
    return found


def owned(events: list[Line], end: int) -> dict[tuple[str, str, int], list[tuple[int, int, str]]]:
    """Return the intervals in which a consumer has each partition of its group: start, end, and client."""
    found: dict[tuple[str, str, int], list[tuple[int, int, str]]] = defaultdict(list)
    since: dict[tuple[str, str, str], int] = {}

    def ends(key: tuple[str, str, str], now: int) -> None:
        topic, _, number = key[2].rpartition("-")
        found[key[0], topic, int(number)].append((since[key], now, key[1]))
        del since[key]

    for event in events:
        if event["kind"] in ("partitions-assigned", "partitions-revoked", "partitions-lost"):
            for name in filter(None, event["partition_names"].split(", ")):
                key = event["group"], event["client"], name
                if key in since:
                    ends(key, event["t"])
                if event["kind"] == "partitions-assigned":
                    since[key] = event["t"]
        elif event["kind"] == "member-ended":
            for key in [key for key in since if key[:2] == (event["group"], event["client"])]:
                ends(key, event["t"])
    for key, start in list(since.items()):
        ends(key, max(end, start))
    return found


def unowned(events: list[Line], end: int) -> dict[tuple[str, str, int], list[Interval]]:
    """Return the intervals in which consumers of a group are running but none of them has the partition."""
    started: dict[tuple[str, str], int] = {}
    created: dict[tuple[str, int], int] = {}
    members: dict[str, dict[int, int]] = defaultdict(dict)
    count: dict[str, int] = defaultdict(int)
    for event in events:
        if event["kind"] == "partition-changed":
            created.setdefault((event["topic"], event["partition"]), event["t"])
        elif event["kind"] in ("member-started", "member-ended"):
            count[event["group"]] += 1 if event["kind"] == "member-started" else -1
            members[event["group"]][event["t"]] = count[event["group"]]
            for topic in event["topics"].split(", ") if event["kind"] == "member-started" else ():
                started.setdefault((event["group"], topic), event["t"])
    has, found = owned(events, end), {}
    for (group, topic), since in started.items():
        steps = sorted(members[group].items())
        windows = [(t, later) for (t, running), (later, _) in pairwise([*steps, (max(end, steps[-1][0]), 0)]) if running > 0]
        for (name, partition), made in created.items():
            exists = max(since, made)
            if name != topic:
                continue
            owners = has.get((group, topic, partition), [])
            times = sorted({exists, *(t for window in windows for t in window), *(t for start, stop, _ in owners for t in (start, stop))})
            gaps: list[Interval] = []
            for start, stop in pairwise(times):
                is_open = start >= exists and any(low <= start < high for low, high in windows)
                if is_open and not any(low <= start < high for low, high, _ in owners):
                    gaps = [*gaps[:-1], (gaps[-1][0], stop)] if gaps and gaps[-1][1] == start else [*gaps, (start, stop)]
            found[group, topic, partition] = gaps
    return found


def most_at_once(intervals: list[Interval], low: int, high: int) -> int:
    """Return the greatest number of intervals that overlap at any moment from `low` to `high`."""
    moments = {low, *(start for start, _ in intervals if low <= start <= high)}
    return max(sum(start <= moment < stop for start, stop in intervals) for moment in moments)


def rebalances(events: list[Line], end: int) -> Rows:
    gaps: dict[str, list[Interval]] = defaultdict(list)
    for (group, _, _), several in unowned(events, end).items():
        gaps[group] += several
    return {
        (group, number): {
            "from_us": one["from"],
            "lasts_us": one["to"] - one["from"],
            "outcome": one["outcome"],
            "reason": one["reason"],
            "broker": one["broker"],
            "members": one["members"],
            "generation": one["generation"],
            "max_unowned": most_at_once(gaps[group], one["from"], one["to"]),
        }
        for group, several in rebalancing(events, end).items()
        for number, one in enumerate(several, start=1)
    }


def groups(events: list[Line], end: int) -> Rows:
    running: dict[str, list[int]] = defaultdict(lambda: [0])
    for event in events:
        if event["kind"] in ("member-started", "member-ended"):
            running[event["group"]].append(running[event["group"]][-1] + (1 if event["kind"] == "member-started" else -1))
    gaps: dict[str, list[Interval]] = defaultdict(list)
    for (group, _, _), several in unowned(events, end).items():
        gaps[group] += several
    moves = rebalancing(events, end)
    rows: Rows = {}
    for group in {*running, *moves}:
        lengths = [one["to"] - one["from"] for one in moves.get(group, [])]
        missing = [stop - start for start, stop in gaps[group]]
        rows[(group,)] = {
            "max_consumers": max(running[group][1:], default=0),
            "rebalances": len(lengths),
            "unfinished": sum(one["outcome"] in ("repeated", "open") for one in moves.get(group, [])),
            "rebalancing_us": sum(lengths),
            "longest_rebalance_us": max(lengths, default=0),
            "max_unowned": most_at_once(gaps[group], 0, end) if missing else 0,
            "unowned_us": sum(missing),
            "longest_unowned_us": max(missing, default=0),
        }
    return rows


def deliveries(events: list[Line], end: int) -> Rows:
    reasons = ("committed", "reset", "deleted", "truncated")
    rows: Rows = defaultdict(
        lambda: (
            {"processed": None, "once": None, "repeats": None, "twice": 0, "half": 0, "never": 0, "left_out": None, "out_of_order": None}
            | dict.fromkeys(reasons)
        )
    )
    harmed: dict[Any, list[Interval]] = defaultdict(list)
    columns = {
        "processed-again": "twice",
        "processed-twice": "twice",
        "half-visible": "half",
        "never-processed": "never",
        "records-skipped": "never",
        "records-left-out": "left_out",
        "processed-out-of-order": "out_of_order",
    }
    consumers = ("records-processed", "processed-again", "records-skipped", "records-left-out", "processed-out-of-order")
    for event in events:
        kind, span = event["kind"], event.get("to_offset", 0) - event.get("from_offset", 0)
        if kind not in (*columns, "records-processed"):
            continue
        does = "consume" if kind in consumers else "forward"
        row = rows[event["group"], does, event["topic"], event["partition"]]
        if does == "consume" and row["processed"] is None:
            row.update(dict.fromkeys(("processed", "once", "repeats", "left_out", "out_of_order", *reasons), 0))
        if kind == "records-processed":
            row["processed"] += span
            for (key, what, epoch, reason), several in list(harmed.items()):
                if what == "records-skipped" and key == (event["group"], does, event["topic"], event["partition"]):
                    harmed[key, "processed-later", epoch, reason] += [
                        (max(low, event["from_offset"]), min(high, event["to_offset"]))
                        for low, high in several
                        if low < event["to_offset"] and high > event["from_offset"]
                    ]
        else:
            key = event["group"], does, event["topic"], event["partition"]
            harmed[key, kind, event.get("epoch", -1), event.get("reason", "")].append((event["from_offset"], event["to_offset"]))
            if kind == "processed-again":
                row["processed"] -= span
                row["repeats"] += span
    for (key, kind, _, reason), several in harmed.items():
        sign, of = (-1, "never") if kind == "processed-later" else (1, columns[kind])
        for name in (of, *(each for each in reasons if each == reason and of == "never")):
            rows[key][name] += sign * covered(several)
    for row in rows.values():
        if row["processed"] is not None:
            row["once"] = row["processed"] - row["twice"]
    return rows


def delays(events: list[Line], end: int) -> Rows:
    found: dict[Any, list[Line]] = defaultdict(list)
    started: dict[str, list[Line]] = defaultdict(list)
    forgotten: dict[str, int] = defaultdict(int)
    for event in events:
        if event["kind"] == "delayed-forwarded":
            found[event["worker"], event["real_topic"]].append(event)
        elif event["kind"] == "service-started":
            started[event["worker"]].append(event)
        elif event["kind"] == "service-ended" and event["how"] != "stopped":
            forgotten[event["worker"]] += event["held"]
    highest: dict[Any, int] = {}
    after: dict[int, int] = {}
    for event in events:
        if event["kind"] == "delayed-forwarded":
            where = event["worker"], event["topic"], event["partition"]
            after[event["seq"]] = len(range(event["from_offset"], min(event["to_offset"], highest.get(where, 0))))
            highest[where] = max(highest.get(where, -1), event["to_offset"] - 1)
    rows: Rows = {}
    for key, several in found.items():
        sized = [(each["late_us"], each["to_offset"] - each["from_offset"]) for each in several]
        total = sum(size for _, size in sized)
        rows[key] = {
            "delay_us": started[key[0]][-1]["delay_us"] if started[key[0]] else None,
            "records": total,
            "early": sum(size for late, size in sized if late < 0),
            "mean_late_us": sum(late * size for late, size in sized) // total,
            "max_late_us": max(late for late, _ in sized),
            "inversions": sum(after[each["seq"]] for each in several),
            "instances": len(started[key[0]]) or None,
            "forgotten": forgotten[key[0]],
        }
        for name in ("rounding_us", "total_error_us"):
            values = [(each[name], each["to_offset"] - each["from_offset"]) for each in several]
            rows[key][f"mean_{name}"] = sum(value * size for value, size in values) // total
            rows[key][f"max_{name}"] = max(value for value, _ in values)
        for percent in (50, 95, 99):
            below = 0
            for late, size in sorted(sized):
                below += size
                if below * 100 >= total * percent:
                    rows[key][f"p{percent}_late_us"] = late
                    break
    return rows


def retries(events: list[Line], end: int) -> Rows:
    rows: Rows = {}
    for event in events:
        if event["kind"] == "records-tried":
            row = rows.setdefault(
                (event["worker"], event["topic"], event["number"]), {"tried": 0, "succeeded": 0, "failed": 0, "first_us": event["t"]}
            )
            row["tried"] += event["to_offset"] - event["from_offset"]
            row["failed" if event["reason"] else "succeeded"] += event["to_offset"] - event["from_offset"]
            row["last_us"] = event["t"]
    return rows


def retry_outcomes(events: list[Line], end: int) -> Rows:
    words = {"dead-lettered": "dead letter", "succeeded-twice": "succeeded twice", "retry-dropped": "dropped"}
    found: dict[Any, list[Line]] = defaultdict(list)
    for event in events:
        if event["kind"] in words:
            detail = event["reason"] if event["kind"] == "dead-lettered" else event.get("worker", event.get("group"))
            found[event["topic"], event["partition"], words[event["kind"]], detail].append(event)
    return {
        key: {
            "records": covered((each["from_offset"], each["to_offset"]) for each in several),
            "times": sum(each["to_offset"] - each["from_offset"] for each in several),
            "tries": max((each["tries"] for each in several if "tries" in each), default=None),
            "first_us": several[0]["t"],
            "last_us": several[-1]["t"],
        }
        for key, several in found.items()
    }


def lag_curves(events: list[Line], end: int) -> Rows:
    rows: Rows = {}
    for key, steps in lags(events, end).items():
        parts: dict[int, list[Line]] = defaultdict(list)
        for step in steps:
            if step["lag"] is not None:
                parts[step["t"] * 120 // (max(end, step["t"]) + 1)].append(step)
        for several in parts.values():
            rows[*key, several[-1]["t"]] = {"lag": several[-1]["lag"], "max_lag": max(step["lag"] for step in several)}
    return rows


def owners(events: list[Line], end: int) -> Rows:
    rows: Rows = {}
    for key, several in owned(events, end).items():
        rows |= {(*key, start, client): {"to_us": stop, "lasts_us": stop - start} for start, stop, client in several if stop > start}
    for key, gaps in unowned(events, end).items():
        rows |= {(*key, start, ""): {"to_us": stop, "lasts_us": stop - start} for start, stop in gaps}
    return rows


HARMS = {
    "records-lost": "lost", "records-skipped": "skipped", "never-processed": "never processed", "retry-dropped": "dropped",
    "half-visible": "half visible", "processed-again": "processed again", "processed-twice": "processed twice",
    "succeeded-twice": "succeeded twice", "dead-lettered": "dead letter",
}  # fmt: skip


def chosen_records(events: list[Line]) -> dict[tuple[str, int, int], tuple[str, int]]:
    """Return the records to trace, with the reasons and the numbers of their events."""
    worst: dict[tuple[str, int, int], tuple[int, int]] = {}
    kinds = list(HARMS)
    for event in events:
        if event["kind"] in HARMS:
            record = event["topic"], event["partition"], event["from_offset"]
            worst[record] = min(worst.get(record, (99, 0)), (kinds.index(event["kind"]), event["seq"]))
    chosen: dict[tuple[str, int, int], tuple[str, int]] = {}
    counts: dict[int, int] = defaultdict(int)
    for record, (rank, seq) in sorted(worst.items(), key=lambda each: (each[1], each[0])):
        counts[rank] += 1
        if counts[rank] <= 3 and len(chosen) < 8:
            chosen[record] = HARMS[kinds[rank]], seq
    return chosen


def traces(events: list[Line], end: int) -> Rows:
    words = HARMS | {
        "append": "appended", "follower-append": "copied", "high-watermark": "committed", "produce-acked": "acked", "consumed": "read",
        "records-processed": "processed", "offset-committed": "offset committed", "offset-materialized": "offset committed",
        "records-recovered": "recovered",
    }  # fmt: skip
    rows: Rows = {}
    for (topic, partition, offset), (why, harm) in chosen_records(events).items():
        steps: list[tuple[Line, int | None]] = []
        has: dict[int, int | None] = {}  # the record that each broker has at the offset
        wrote: dict[int, int] = {}
        sent: dict[Any, int] = {}
        read: dict[str, int | None] = {}
        newest, leader = None, -1
        for event in events:
            kind = event["kind"]
            if (event.get("topic"), event.get("partition")) != (topic, partition):
                continue
            low, high = event.get("from_offset"), event.get("to_offset")
            if kind == "high-watermark":
                low, high = event["old_offset"], event["new_offset"]
            elif kind in ("offset-committed", "offset-materialized"):
                low, high = 0, event["committed_offset"]
            elif kind in ("became-leader", "log-restarted"):
                low, high = offset, offset + 1
            if low is None or high is None or not low <= offset < high:
                continue
            broker = event.get("broker", -2)
            if kind == "append":
                has[broker] = wrote[event["leader_epoch"]] = event["seq"]
                sent[event["producer"], low, high] = event["seq"]
            elif kind == "follower-append":
                has[broker] = has.get(event["leader"])
            elif kind in ("truncated", "unflushed-lost", "log-restarted"):
                has[broker] = None
            if kind == "became-leader":
                leader = broker
            if broker == leader and kind in ("append", "follower-append", "truncated", "unflushed-lost", "log-restarted", "became-leader"):
                newest = has.get(broker)
            life = newest
            if kind in ("records-lost", "records-recovered", "records-skipped", "processed-again"):
                life = wrote.get(event["epoch"])
            elif kind == "produce-acked":
                life = sent.get((event["producer"], low, high))
            elif kind in ("append", "follower-append", "high-watermark", "consumed"):
                life = has.get(broker)
            if kind == "consumed":
                read[event["consumer"]] = life
            elif kind == "records-processed":
                life = read.get(event["client"], newest)
            if kind in words:
                steps.append((event, life))
        harmed = next(life for event, life in steps if event["seq"] == harm)
        number, groups = 0, set()
        for event, life in steps:
            kind = event["kind"]
            if life != harmed or (words[kind] == "offset committed" and event["group"] in groups):
                continue
            if words[kind] == "offset committed":
                groups.add(event["group"])
            names = (event.get(name) for name in (*(["producer"] if kind == "produce-acked" else []), "consumer", "client", "worker"))
            node = next((name for name in names if name is not None), f"b{event['broker']}" if "broker" in event else event.get("group"))
            number += 1
            rows[topic, partition, offset, number] = {
                "why": why, "step": words[kind], "node": node, "at_us": event["t"], "event": event["seq"], "cause": event["cause"],
            }  # fmt: skip
    return rows


ALL = {
    "traces": traces,
    "lag_curves": lag_curves,
    "owners": owners,
    "groups": groups,
    "rebalances": rebalances,
    "group_lag": group_lag,
    "deliveries": deliveries,
    "delays": delays,
    "retries": retries,
    "retry_outcomes": retry_outcomes,
}
"""The reference implementation of each summary, by the summary's name."""
