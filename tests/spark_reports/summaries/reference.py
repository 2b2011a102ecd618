"""The summaries, implemented again in plain Python, with one loop over the lines of a log for each summary. No code is shared with
`spark_reports`. `core.kafka.health` determines the states of partitions.

Each function takes the events of one session as JSON objects. It returns the rows as a mapping from the columns that identify a row to the
other columns.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from core.kafka import health
from core.kafka.health import PartitionStatus
from core.kafka.partition_registration import PartitionRegistration
from tests.spark_reports.summaries import groups_reference, transactions_reference

Line = dict[str, Any]
Rows = dict[tuple[Any, ...], dict[str, int]]

STORY_KINDS = frozenset((
    "act", "broker-stopped", "broker-started", "broker-paused", "broker-resumed", "controller-stopped", "controller-started", "controller-paused", "controller-resumed",
    "broker-fenced", "broker-unfenced", "session-expired", "broker-joined", "link-cut", "link-healed", "disk-slowed", "log-dir-failed", "log-dir-repaired", "leader-elected",
    "partition-offline", "isr-shrunk", "isr-expanded", "truncated", "unflushed-lost", "no-majority", "controller-elected", "member-removed", "group-rebalancing",
    "transaction-timed-out", "consumer-reset", "records-lost", "records-diverged", "produce-waiting", "produce-given-up", "append-refused", "processed-again", "records-skipped",
    "processed-twice", "never-processed", "half-visible", "succeeded-twice", "retry-dropped", "dead-lettered", "records-out-of-order", "processed-out-of-order", "records-duplicated",
))  # fmt: skip
"""The kinds of events that a page tells of."""

STATES = {
    PartitionStatus.OFFLINE: "offline", PartitionStatus.UNDER_MIN_ISR: "under min", PartitionStatus.AT_MIN_ISR: "at min",
    PartitionStatus.UNDER_REPLICATED: "under-replicated", PartitionStatus.HEALTHY: "in sync",
}  # fmt: skip


def read(path: Path) -> tuple[list[Line], int]:
    """Return the events of a log, and the time at which its session ended."""
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
        elif event["kind"] == "topic-deleted":
            isr = {where: members for where, members in isr.items() if where[0] != event["topic"]}
    return rows


def availability(events: list[Line], end: int) -> Rows:
    rows: Rows = {}
    was: dict[tuple[str, int], str] = {}
    for state in states(events, end):
        names = (
            "observed_us",
            "under_replicated_us",
            "under_replicated_times",
            "stalled_us",
            "stalled_times",
            "offline_us",
            "offline_times",
        )
        row = rows.setdefault(state["where"], dict.fromkeys(names, 0))
        how = "offline" if state["offline"] else "under_replicated" if state["under_replicated"] else ""
        row["observed_us"] += state["until"] - state["from"]
        if how:
            row[how + "_us"] += state["until"] - state["from"]
            row[how + "_times"] += state["new"] or was[state["where"]] != how
        was[state["where"]] = how
    for where, several in stalls(events, end).items():
        rows[where]["stalled_us"] = sum(finish - begin for begin, finish, _ in several)
        rows[where]["stalled_times"] = len(several)
    return rows


def records(events: list[Line], end: int) -> Rows:
    names = (
        "accepted", "acknowledged", "unconfirmed", "lost", "lost_acknowledged", "lost_read", "recovered", "duplicated", "diverged",
        "out_of_order",
    )  # fmt: skip
    rows: Rows = defaultdict(lambda: dict.fromkeys(names, 0))
    spans = {
        "append": "accepted",
        "records-lost": "lost",
        "records-recovered": "recovered",
        "records-duplicated": "duplicated",
        "records-diverged": "diverged",
        "records-out-of-order": "out_of_order",
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
        if event["kind"] in ("records-lost", "lost-records-seen", "records-recovered"):
            sign = -1 if event["kind"] == "records-recovered" else 1
            for column in ("lost_acknowledged", "lost_read"):
                rows[event["topic"], event["partition"]][column] += sign * event[column]
    return rows


def produce_latency(events: list[Line], end: int) -> Rows:
    answered: dict[Any, list[int]] = defaultdict(list)
    abandoned: dict[Any, list[int]] = defaultdict(list)
    counts: Counter[Any] = Counter()
    pending: Counter[Any] = Counter()
    for event in events:
        group = (event.get("topic"), event.get("acks"))
        if event["kind"] == "produce-acked":
            answered[group].append(event["latency_us"])
            counts[group] += event["records"]
            waited = event["latency_us"]
        elif event["kind"] == "produce-given-up":
            abandoned[group].append(event["waited_us"])
            waited = event["waited_us"]
        elif event["kind"] == "produce-waiting":
            waited = event["waited_us"]
        else:
            continue
        if event["kind"] != "produce-acked" or waited > 1_000_000:
            batch = (group, event["partition"], event["producer"], event["t"] - waited)
            pending[batch] += 1 if event["kind"] == "produce-waiting" else -1
    left: dict[Any, list[int]] = defaultdict(list)
    for (group, _, _, sent), number in pending.items():
        left[group] += [sent] * number
    rows: Any = {}
    for group in {**answered, **abandoned, **{group: sent for group, sent in left.items() if sent}}:
        unknown = abandoned[group] + [max(end - sent, 0) for sent in left[group]]
        waits = sorted(answered[group] + unknown)
        row = {
            "acknowledged": len(answered[group]),
            "records": counts[group],
            "given_up": len(abandoned[group]),
            "unanswered": len(left[group]),
        }
        marks = {f"p{percent}": nearest_rank(waits, percent) for percent in (50, 95, 99)} | {"max": waits[-1]}
        row |= {f"{name}_us": value for name, value in marks.items()}
        row["at_least"] = ", ".join(name for name, value in marks.items() if any(wait <= value for wait in unknown))
        row["unanswered_since_us"] = min(left[group], default=None)
        rows[group] = row
    return rows


def audit(events: list[Line], end: int) -> Rows:
    waits: dict[Any, list[tuple[int | None, int]]] = defaultdict(list)
    harmed: Counter[Any] = Counter()
    ranges: dict[Any, list[tuple[int, int, int]]] = defaultdict(list)
    for event in events:
        if event["kind"] in ("records-lost", "records-recovered"):
            sign = 1 if event["kind"] == "records-lost" else -1
            ranges[event["topic"], event["partition"], event["epoch"]].append((event["from_offset"], event["to_offset"], sign))
    for event in events:
        if event["kind"] == "append":
            for low, high, sign in ranges[event["topic"], event["partition"], event["leader_epoch"]]:
                here = min(high, event["to_offset"]) - max(low, event["from_offset"])
                harmed[_batch(event), event["seq"]] += sign * max(here, 0)
    for (batch, appended), records in harmed.items():
        acked = (each for each in events if each["kind"] == "produce-acked" and each["acks"] and _batch(each) == batch)
        first = next((each for each in acked if each["seq"] > appended), None)
        if records > 0 and first is not None:
            waits[batch[0], _minute(first["t"] - first["latency_us"]), "lost"].append((None, records))
    for event in events:
        if event["kind"] in ("produce-acked", "produce-given-up"):
            wait = event["latency_us" if event["kind"] == "produce-acked" else "waited_us"]
            tier = "given-up" if event["kind"] == "produce-given-up" else "acked" if event["acks"] else "unconfirmed"
            waits[event["topic"], _minute(event["t"] - wait), tier].append((wait, event["records"]))
    rows: Any = {}
    for group, found in waits.items():
        total = sum(records for _, records in found)
        row = rows[group] = {"records": total, "max_us": max((wait for wait, _ in found if wait is not None), default=None)}
        for percent in (50, 95, 99):
            row[f"p{percent}_us"] = None
            below = 0
            for wait, records in sorted(found) if group[2] != "lost" else ():
                below += records
                if below * 100 >= total * percent:
                    row[f"p{percent}_us"] = wait
                    break
    return rows


def _batch(event: Line) -> tuple[Any, ...]:
    """Return a key that identifies the batch of an append or an acknowledgment, as far as the events contain it."""
    return event["topic"], event["partition"], event["producer"], event["from_offset"], event["to_offset"]


def _minute(time: int) -> int:
    """Return the start of the minute to which a time belongs, in µs. In the random logs of the tests, times can be negative."""
    return abs(time) // 60_000_000 * 60_000_000 * (1 if time >= 0 else -1)


def produce_errors(events: list[Line], end: int) -> Rows:
    rows: Any = {}
    attempts: dict[Any, list[int]] = defaultdict(list)
    for event in events:
        if event["kind"] not in ("produce-acked", "produce-failed"):
            continue
        group = (event["topic"], event["acks"])
        row = rows.setdefault(group, dict.fromkeys(("acked", "failed", "given_up", "given_up_records"), 0))
        given_up = event["kind"] == "produce-failed" and not event["retry"]
        row["acked" if event["kind"] == "produce-acked" else "failed"] += 1
        row["given_up"] += given_up
        row["given_up_records"] += event["records"] if given_up else 0
        if given_up or event["kind"] == "produce-acked":
            attempts[group].append(event["attempt"])
    for group, row in rows.items():
        several = sorted(attempts[group])
        row["failed_per_million"] = 1_000_000 * row["failed"] // (row["acked"] + row["failed"])
        row["max_attempts"] = several[-1] if several else None
        for percent in (50, 95, 99):
            row[f"p{percent}_attempts"] = nearest_rank(several, percent) if several else None
    return rows


def errors(events: list[Line], end: int) -> Rows:
    rows: Rows = {}
    for event in events:
        if event.get("error"):
            row = rows.setdefault((event["error"], event["kind"]), {"count": 0, "given_up": 0, "first_us": event["t"], "last_us": 0})
            row["count"] += 1
            row["given_up"] += event["kind"] == "produce-failed" and not event["retry"]
            row["last_us"] = event["t"]
    return rows


def states(events: list[Line], end: int) -> list[Line]:
    """Return the states of each partition in order, each with its duration. A state is `new` if it is the first one of its topic. The header of the test logs sets min.insync.replicas to 2 for
    the cluster, and release 4.1 caps it.
    """
    cluster, by_topic = 2, dict[str, int]()
    current: dict[tuple[str, int], Line] = {}
    existing: set[tuple[str, int]] = set()
    done: list[Line] = []

    def put(where: tuple[str, int], event: Line, change: Line) -> None:
        asked = by_topic.get(where[0], cluster)
        if where in current:
            done.append(current[where] | {"until": event["t"]})
        current[where] = {"where": where, "from": event["t"]} | {name: change[name] for name in ("leader", "replicas", "isr", "adding")}
        current[where]["min"] = health.effective_min_isr(asked, len(change["replicas"]), capped=True)
        current[where]["new"] = where not in existing
        existing.add(where)

    for event in events:
        if event["kind"] == "topic-deleted":
            by_topic.pop(event["topic"], None)
            for where in [where for where in current if where[0] == event["topic"]]:
                done.append(current.pop(where) | {"until": event["t"]})
                existing.remove(where)
        if event["kind"] == "partition-changed":
            put((event["topic"], event["partition"]), event, event)
            continue
        given: list[tuple[str, str]] = []
        if event["kind"] == "setting-changed" and event["name"] == "min.insync.replicas":
            given = [(event["subject"], event["new"])]
        elif event["kind"] == "act" and event["act"] == "create-topic":
            args = json.loads(event["args"])
            given = [(args["topic"], value) for name, value in args.get("config", []) if name == "min.insync.replicas"]
        for subject, value in given:
            if subject == "":
                cluster = int(value)
            else:
                by_topic[subject] = int(value)
            for where, state in list(current.items()):
                if subject in ("", where[0]):
                    put(where, event, state)
    done.extend(state | {"until": end} for state in current.values())
    for state in done:
        known = PartitionRegistration(state["replicas"], state["isr"], state["leader"], 0, 0, adding=state["adding"])
        status = health.status_of(known, state["min"], leader_serves=True)
        state["offline"] = health.is_offline(known)
        state["under_min"] = health.is_under_min_isr(known, state["min"])
        state["under_replicated"] = health.is_under_replicated(known)
        state["at_min"] = status is PartitionStatus.AT_MIN_ISR
        state["status"] = status
    return sorted(done, key=lambda state: state["where"])


def leadership(events: list[Line], end: int) -> Rows:
    rows: Rows = defaultdict(lambda: dict.fromkeys(("partitions", "led_us", "share_percent", "preferred_us", "taken_over"), 0))
    led = defaultdict(set)
    leaders: dict[tuple[str, int], int] = {}
    for state in states(events, end):
        leader, where = state["leader"], state["where"]
        if leader != -1:
            row = rows[(leader,)]
            led[leader].add(where)
            row["led_us"] += state["until"] - state["from"]
            row["preferred_us"] += state["until"] - state["from"] if state["replicas"][:1] == [leader] else 0
            row["taken_over"] += not state["new"] and leaders.get(where, leader) != leader
        leaders[where] = leader
    total = sum(row["led_us"] for row in rows.values())
    for (broker,), row in rows.items():
        row["partitions"] = len(led[broker])
        row["share_percent"] = row["led_us"] * 100 // max(total, 1)
    return rows


def min_isr(events: list[Line], end: int) -> Rows:
    rows: Rows = {}
    was: dict[Any, str] = {}
    for state in states(events, end):
        where = state["where"]
        row = rows.setdefault(where, dict.fromkeys(("at_min_us", "at_min_times", "under_min_us", "under_min_times"), 0))
        row["min_isr"] = state["min"]
        row["smallest_isr"] = min(row.get("smallest_isr", 99), len(state["isr"]))
        how = "at_min" if state["at_min"] else "under_min" if state["under_min"] else ""
        if how:
            row[how + "_us"] += state["until"] - state["from"]
            row[how + "_times"] += state["new"] or was[where] != how
        was[where] = how
    return rows


def away(events: list[Line], end: int) -> list[tuple[int, int, int, str]]:
    """Return (broker, from, to, how) for each interval in which a process was down or paused."""
    down: list[tuple[int, int, int, str]] = []
    since: dict[int, tuple[int, str]] = {}
    for event in events:
        if event["kind"] in ("broker-stopped", "broker-paused", "broker-started", "broker-resumed"):
            if event["broker"] in since:
                start, how = since.pop(event["broker"])
                down.append((event["broker"], start, event["t"], how))
            if event["kind"] in ("broker-stopped", "broker-paused"):
                since[event["broker"]] = (event["t"], "down" if event["kind"] == "broker-stopped" else "paused")
    down.extend((broker, start, end, how) for broker, (start, how) in since.items())
    return down


def apart(events: list[Line], end: int) -> list[tuple[set[str], int, int]]:
    """Return (the two ends, from, to) for each interval in which a link was cut in either direction."""
    found: list[tuple[set[str], int, int]] = []
    since: dict[tuple[str, str], int] = {}
    for event in events:
        if event["kind"] in ("link-cut", "link-healed"):
            way = (event["src"], event["dst"])
            if way in since:
                found.append((set(way), since.pop(way), event["t"]))
            if event["kind"] == "link-cut":
                since[way] = event["t"]
    return found + [(set(way), start, end) for way, start in since.items()]


def users(events: list[Line]) -> dict[str, set[str]]:
    """Return the clients of each topic."""
    found: dict[str, set[str]] = defaultdict(set)
    for event in events:
        if event["kind"] == "act" and event["act"] in ("load", "produce", "consume"):
            args = json.loads(event["args"])
            field, default = {"load": ("producer", "load"), "produce": ("producer", "producer"), "consume": ("consumer", "consumer")}[
                event["act"]
            ]
            if "topic" in args:
                found[args["topic"]].add(args.get(field, default))
    return found


def stuck_high_watermarks(events: list[Line], end: int) -> dict[Any, list[tuple[int, int]]]:
    """Return, by partition, the intervals of more than a second in which the high watermark stayed below the log end without advancing."""
    found: dict[Any, list[tuple[int, int]]] = defaultdict(list)
    known: dict[Any, Line] = {}
    for event in events:
        if event["kind"] not in ("append", "high-watermark", "became-leader"):
            continue
        at = known.setdefault((event["topic"], event["partition"]), {"epoch": -2, "end": None, "hw": -1, "since": None})
        if event["leader_epoch"] < at["epoch"]:
            continue
        at["epoch"] = event["leader_epoch"]
        if event["kind"] == "append":
            at["end"] = event["to_offset"]
        elif event["kind"] == "high-watermark":
            at["hw"] = event["new_offset"]
        else:
            at["end"], at["hw"] = event["offset"], event["high_watermark"]
        behind = at["end"] is not None and at["end"] > at["hw"]
        if at["since"] is not None and (not behind or event["kind"] != "append"):
            found[event["topic"], event["partition"]].append((at["since"], event["t"]))
            at["since"] = None
        if behind and at["since"] is None:
            at["since"] = event["t"]
    for where, at in known.items():
        if at["since"] is not None:
            found[where].append((at["since"], end))
    return {where: [(begin, finish) for begin, finish in several if finish - begin > 1_000_000] for where, several in found.items()}


def slow_disks(events: list[Line], end: int) -> list[tuple[int, int, int]]:
    """Return (broker, from, to) for each interval in which a write that arrives at the broker waits for its disk for more than a second."""
    found: list[tuple[int, int, int]] = []
    each, waits = dict[int, int](), dict[int, tuple[int, int]]()

    def until(broker: int, now: int) -> None:
        since, wait = waits.get(broker, (0, 0))
        finish = now if each.get(broker, 0) > 1_000_000 else min(now, since + wait - 1_000_000)
        if finish > since:
            found.append((broker, since, finish))

    for event in events:
        if event["kind"] in ("disk-slowed", "disk-behind", "broker-stopped"):
            until(event["broker"], event["t"])
            waits[event["broker"]] = (event["t"], event.get("write_wait_us", 0))
            if event["kind"] == "disk-slowed":
                each[event["broker"]] = event["delay_us"]
    for broker in waits:
        until(broker, end)
    return found


def leaderships(where: Any, events: list[Line], end: int) -> list[tuple[int, int, int]]:
    """Return (broker, from, to) for each interval in which a process led a partition."""
    found: list[tuple[int, int, int]] = []
    since: dict[int, int] = {}
    for event in events:
        here = (event.get("topic"), event.get("partition")) == where
        if event["kind"] == "broker-stopped" or (here and event["kind"] in ("became-leader", "became-follower")):
            if event["broker"] in since:
                found.append((event["broker"], since.pop(event["broker"]), event["t"]))
            if event["kind"] == "became-leader":
                since[event["broker"]] = event["t"]
    return found + [(broker, start, end) for broker, start in since.items()]


def closed(state: Line, events: list[Line], end: int) -> list[tuple[int, int, str]]:
    """Return the intervals in which clients could not reach the leader of a state, with the reasons."""
    found = [(start, stop, f"leader {how}") for broker, start, stop, how in away(events, end) if broker == state["leader"]]
    leads = [(start, stop) for broker, start, stop in leaderships(state["where"], events, end) if broker == state["leader"]]
    leads += [(start, stop) for start, stop, _ in found]
    moments = {state["from"], state["until"], *(moment for spell in leads for moment in spell)}
    for begin, finish in itertools.pairwise(sorted(moments)):
        if not any(start <= begin and finish <= stop for start, stop in leads):
            found.append((begin, finish, "leader has not taken over yet"))
    for ends, start, stop in apart(events, end):
        if f"b{state['leader']}" in ends and ends & users(events)[state["where"][0]] - {f"b{state['leader']}"}:
            found.append((start, stop, "leader cut off from a client"))
    return [(max(state["from"], a), min(state["until"], b), why) for a, b, why in found if max(state["from"], a) < min(state["until"], b)]


def stalls(events: list[Line], end: int) -> dict[Any, list[tuple[int, int, str]]]:
    """Return, by partition, the windows in which acks=all writes waited. Each interval between two changes is evaluated separately."""
    still = stuck_high_watermarks(events, end)
    pieces: dict[Any, list[tuple[int, int]]] = defaultdict(list)
    reasons: dict[Any, list[tuple[int, int, str]]] = defaultdict(list)
    for state in states(events, end):
        if state["from"] == state["until"] or state["offline"]:
            continue
        where, leader = state["where"], state["leader"]
        held = [(start, stop, "the high watermark does not advance") for start, stop in still.get(where, [])]
        for member in state["isr"]:
            if member != leader:
                held += [(start, stop, f"b{member} is {how}") for broker, start, stop, how in away(events, end) if broker == member]
                pair = {f"b{member}", f"b{leader}"}
                held += [(start, stop, f"b{member} is cut off from the leader") for ends, start, stop in apart(events, end) if ends == pair]
        held += [(start, stop, "the leader's disk is slow") for broker, start, stop in slow_disks(events, end) if broker == leader]
        held = [(a, b, why) for a, b, why in held if max(a, state["from"]) < min(b, state["until"])]
        reasons[where] += [(a, b, why) if "high" in why else (max(a, state["from"]), min(b, state["until"]), why) for a, b, why in held]
        if state["under_min"]:
            continue
        shut = closed(state, events, end)
        moments = {state["from"], state["until"], *(m for a, b, _ in held + shut for m in (a, b) if state["from"] < m < state["until"])}
        for begin, finish in itertools.pairwise(sorted(moments)):
            inside = [any(a <= begin and finish <= b for a, b, _ in several) for several in (held, shut)]
            if inside == [True, False]:
                pieces[where].append((begin, finish))
    windows: dict[Any, list[tuple[int, int, str]]] = {}
    for where, several in pieces.items():
        whole: list[list[int]] = []
        for begin, finish in sorted(several):
            if whole and whole[-1][1] == begin:
                whole[-1][1] = finish
            else:
                whole.append([begin, finish])
        windows[where] = [
            (begin, finish, ", ".join(sorted({why for a, b, why in reasons[where] if a < finish and b > begin}))) for begin, finish in whole
        ]
    return windows


def written_with_all(events: list[Line]) -> set[str]:
    """Return the topics to which somebody writes with acks=all."""
    told = {"produce-acked", "produce-failed", "produce-waiting", "produce-given-up"}
    return {"__consumer_offsets", "__transaction_state"} | {
        each["topic"] for each in events if each["kind"] in told and each.get("topic") is not None and (each.get("acks") or 0) < 0
    }


def unavailability(events: list[Line], end: int) -> Rows:
    all_acks = written_with_all(events)
    spells: dict[Any, list[tuple[int, int, str]]] = defaultdict(list)
    for state in states(events, end):
        start, stop = state["from"], state["until"]
        bad = [(start, stop, "no leader", ("reads", "writes"))] if state["offline"] else []
        bad += [(start, stop, "ISR under min.insync.replicas", ("writes",))] if state["under_min"] and state["where"][0] in all_acks else []
        if not state["offline"]:
            bad += [(begin, finish, why, ("reads", "writes")) for begin, finish, why in closed(state, events, end)]
        for begin, finish, why, whats in bad:
            if begin < finish:
                for what in whats:
                    spells[*state["where"], what].append((begin, finish, why))
    rows: Any = {}
    for where, several in spells.items():
        windows: list[tuple[int, int, set[str]]] = []
        for begin, finish, why in sorted(several):
            if windows and begin <= windows[-1][1]:
                first, last, reasons = windows.pop()
                windows.append((first, max(last, finish), reasons | {why}))
            else:
                windows.append((begin, finish, {why}))
        for begin, finish, reasons in windows:
            if finish - begin <= 2_000 or finish <= 200_000:
                continue  # new metadata reaches the brokers only after this time
            rows[*where, begin] = {"to_us": finish, "lasts_us": finish - begin, "why": ", ".join(sorted(reasons))}
    for partition, several in stalls(events, end).items():
        for begin, finish, why in several if partition[0] in all_acks else ():
            rows[*partition, "stalled", begin] = {"to_us": finish, "lasts_us": finish - begin, "why": why}
    return rows


def degraded(events: list[Line], end: int) -> Rows:
    spells: dict[Any, list[tuple[int, int, Any]]] = defaultdict(list)
    names = {"under_replicated": "under-replicated", "at_min": "at min", "under_min": "under min", "offline": "offline"}
    for state in states(events, end):
        if state["from"] == state["until"]:
            continue
        subjects = [("topic", state["where"][0]), *{("broker", f"b{broker}") for broker in state["replicas"]}]
        for name, word in names.items():
            if state[name]:
                for subject in subjects:
                    spells[*subject, word].append((state["from"], state["until"], state["where"]))
        for begin, finish, _ in stalls(events, end).get(state["where"], []):
            begin, finish = max(begin, state["from"]), min(finish, state["until"])
            for subject in subjects:
                if begin < finish:
                    spells[*subject, "stalled"].append((begin, finish, state["where"]))
    rows: Rows = {}
    for key, several in spells.items():
        moments = sorted({moment for begin, finish, _ in several for moment in (begin, finish)})
        lengths = [0]
        for begin, finish in itertools.pairwise(moments):
            if any(start <= begin and finish <= stop for start, stop, _ in several):
                lengths[-1] += finish - begin
            elif lengths[-1]:
                lengths.append(0)
        rows[key] = {
            "windows": len(lengths),
            "some_us": sum(lengths),
            "longest_us": max(lengths),
            "partitions_us": sum(finish - begin for begin, finish, _ in several),
            "partitions": len({where for _, _, where in several}),
        }
    return rows


def nearest_rank(ordered: list[int], percent: int) -> int:
    return ordered[-(-percent * len(ordered) // 100) - 1]


OWN_END = {
    "append": "to_offset",
    "follower-append": "to_offset",
    "truncated": "from_offset",
    "unflushed-lost": "from_offset",
    "log-restarted": "new_offset",
    "became-leader": "offset",
    "became-follower": "offset",
}
"""The column that contains the log end of the event's broker after the event."""


def lag(events: list[Line], end: int) -> Rows:
    committed: dict[Any, int] = {}
    reached: dict[Any, int] = {}
    replicas: dict[Any, list[int]] = {}
    samples: dict[Any, list[int]] = defaultdict(list)
    for event in events:
        where = (event.get("topic"), event.get("partition"))
        if event["kind"] in OWN_END:
            reached[where, event["broker"]] = event[OWN_END[event["kind"]]]
        if event["kind"] == "became-leader":
            committed[where] = event["high_watermark"]
        elif event["kind"] == "high-watermark":
            committed[where] = event["new_offset"]
        elif event["kind"] == "partition-changed":
            replicas[where] = event["replicas"]
        elif event["kind"] == "append":
            if where in committed:
                samples[event["topic"], "high watermark"].append(max(0, event["to_offset"] - committed[where]))
            for replica in set(replicas.get(where, [])) - {event["broker"]}:
                if (where, replica) in reached:
                    samples[event["topic"], f"follower b{replica}"].append(max(0, event["to_offset"] - reached[where, replica]))
    rows: Rows = {}
    for group, several in samples.items():
        several.sort()
        rows[group] = {"samples": len(several), "max": several[-1]} | {f"p{p}": nearest_rank(several, p) for p in (50, 95, 99)}
    return rows


def settings(events: list[Line], end: int) -> Rows:
    columns = {
        "leader-elected": "elections",
        "isr-shrunk": "isr_shrinks",
        "isr-expanded": "isr_expands",
        "partition-offline": "offline",
        "produce-failed": "produce_errors",
        "records-lost": "lost",
    }
    rows: Any = {}
    for change in events:
        if change["kind"] != "setting-changed":
            continue
        row = {"at_us": change["t"], "setting": change["name"]} | {name: change[name] for name in ("subject", "old", "new")}
        row |= dict.fromkeys((*columns.values(), "lost_acknowledged", "lost_read"), 0)
        for event in events[change["seq"] :]:
            if event["kind"] in columns and event["t"] <= change["t"] + 60_000_000:
                row[columns[event["kind"]]] += event["to_offset"] - event["from_offset"] if event["kind"] == "records-lost" else 1
            if event["kind"] in ("records-lost", "lost-records-seen") and event["t"] <= change["t"] + 60_000_000:
                for column in ("lost_acknowledged", "lost_read"):
                    row[column] += event[column]
        rows[(change["seq"],)] = row
    return rows


def timeline(events: list[Line], end: int) -> Rows:
    rows: Any = {}
    for state in states(events, end):
        if state["until"] == state["from"]:
            continue
        rows[*state["where"], state["from"]] = {
            "leader": state["leader"],
            "isr": ",".join(map(str, state["isr"])),
            "to_us": state["until"],
            "lasts_us": state["until"] - state["from"],
            "state": STATES[state["status"]],
            "min_isr": state["min"],
        }
    return rows


def curves(events: list[Line], end: int) -> Rows:
    rows: Any = {}
    last = max([end, *(event["t"] for event in events)])
    points: dict[Any, Line] = {}
    for event in events:
        if event["kind"] not in ("append", "became-leader", "high-watermark"):
            continue
        piece = event["t"] * 120 // (last + 1)
        point = points.setdefault((event["topic"], event["partition"], piece), {"log_end": None, "high_watermark": None})
        point["at_us"] = event["t"]
        if event["kind"] == "append":
            point["log_end"] = event["to_offset"]
        elif event["kind"] == "high-watermark":
            point["high_watermark"] = event["new_offset"]
        else:
            point["log_end"], point["high_watermark"] = event["offset"], event["high_watermark"]
    for (topic, partition, _), point in points.items():
        rows[topic, partition, point.pop("at_us")] = point
    return rows


GONE = ("controller-resigned", "controller-stopped", "controller-paused", "broker-stopped", "broker-paused")


def controllers(events: list[Line], end: int) -> Rows:
    rows: Any = {}
    active, gone = "", -1
    for event in events:
        who = event.get("controller", f"b{event.get('broker')}")
        if event["kind"] == "controller-elected":
            row = {"at_us": event["t"], "controller": event["controller"], "controller_epoch": event["controller_epoch"], "before": active}
            rows[(event["seq"],)] = row | {"without_us": event["t"] - gone if gone >= 0 else 0}
            active, gone = event["controller"], -1
        elif who == active and gone < 0 and event["kind"] in GONE:
            gone = event["t"]
    return rows


DOOMS = ("truncated", "unflushed-lost", "broker-stopped", "leader-elected", "became-leader", "log-restarted")


def harm(events: list[Line], end: int) -> Rows:
    rows: Any = {}
    for number, event in enumerate(events):
        what = "lost, seen" if event["kind"] == "lost-records-seen" else event["kind"].removeprefix("records-")
        if what not in ("exposed", "lost", "lost, seen", "duplicated", "diverged"):
            continue
        until = None
        for later in events[number + 1 :]:
            if (later.get("topic"), later.get("partition")) != (event["topic"], event["partition"]):
                continue
            back = later["kind"] == "records-recovered" and what == "lost"
            if back and later["from_offset"] < event["to_offset"] and event["from_offset"] < later["to_offset"]:
                until = later["t"]
            if later["kind"] == "records-safe" and what == "exposed" and later["broker"] == event["broker"]:
                until = later["t"]
            if until is not None:
                break
        by = event.get("doomed_by", 0)
        told = (
            *DOOMS,
            "records-exposed",
            "records-lost",
            "lost-records-seen",
            "records-duplicated",
            "records-diverged",
            "records-safe",
            "records-recovered",
        )
        doom = events[by - 1]["kind"] if 0 < by <= len(events) and events[by - 1]["kind"] in told else ""
        rows[(event["seq"],)] = {name: event[name] for name in ("topic", "partition", "from_offset", "to_offset")} | {
            "broker": event.get("broker"),
            "lost_acknowledged": event.get("lost_acknowledged"),
            "lost_read": event.get("lost_read"),
            "at_us": event["t"],
            "what": what,
            "records": event["records"] if what == "exposed" else event["to_offset"] - event["from_offset"],
            "until_us": until,
            "doomed_by": by,
            "doom": doom,
        }
    return rows


def isr_flapping(events: list[Line], end: int) -> Rows:
    rows: Any = {}
    isr: dict[Any, set[int]] = {}
    changed: dict[Any, int] = {}
    seen = defaultdict(set)
    for event in events:
        if event["kind"] == "topic-deleted":
            isr = {where: members for where, members in isr.items() if where[0] != event["topic"]}
            changed = {key: t for key, t in changed.items() if key[0][0] != event["topic"]}
        if event["kind"] != "partition-changed":
            continue
        where, now = (event["topic"], event["partition"]), set(event["isr"])
        before = isr.get(where, now)
        for broker in before ^ now:
            row = rows.setdefault(where, {"left": 0, "entered": 0, "flaps": 0, "longest_away_us": None})
            if broker in now:
                row["entered"] += 1
                if (where, broker) in changed:
                    away = event["t"] - changed[where, broker]
                    row["flaps"] += away <= 60_000_000
                    row["longest_away_us"] = max(row["longest_away_us"] or 0, away)
            else:
                row["left"] += 1
            changed[where, broker] = event["t"]
            seen[where].add(broker)
            row["replicas"] = len(seen[where])
        isr[where] = now
    return rows


def idle(events: list[Line], end: int) -> Rows:
    written: Counter[Any] = Counter()
    appended: Counter[Any] = Counter()
    for event in events:
        if event["kind"] == "append":
            written[event["topic"], event["partition"]] += event["bytes"]
            appended[event["topic"], event["partition"]] += event["to_offset"] - event["from_offset"]
    work: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for event in events:
        where = (event.get("topic"), event.get("partition"))
        if event["kind"] not in ("append", "append-refused", "follower-append", "follower-fetched", "fetch-failed", "consumed"):
            continue
        size = 200
        if event["kind"] == "append":
            size += event["bytes"]
        elif event["kind"] in ("follower-append", "consumed") and appended[where]:
            size += (event["to_offset"] - event["from_offset"]) * (written[where] // appended[where])
        broker = event["leader"] if event["kind"] in ("follower-append", "fetch-failed") else event["broker"]
        cell = work[broker][event["t"] // 5_000_000]
        cell[0] += 1
        cell[1] += size
    rows: Any = {}
    for broker, cells in work.items():
        rows[(broker,)] = row = {"requests": sum(count for count, _ in cells.values())}
        for name, threads, request, byte in (("network", 3, 40_000, 8), ("handler", 8, 120_000, 12)):
            capacity, waits, busiest, busy = threads * 5_000_000_000, 0, 0, 0
            steps = max(end, max(cells) * 5_000_000) // 5_000_000 + 1
            for step in range(steps):
                count, size = cells.get(step, (0, 0))
                due = waits + count * request + size * byte
                done = min(due, capacity)
                waits = due - done
                busy += done
                busiest = max(busiest, done)
            row[f"{name}_idle_percent"] = 100 - busy * 100 // (steps * capacity)
            row[f"{name}_idle_least_percent"] = 100 - busiest * 100 // capacity
    return rows


STARTS = {
    "broker-stopped": None, "broker-paused": "paused", "controller-stopped": "stopped", "controller-paused": "paused", "broker-fenced": "fenced",
    "session-expired": "session expired", "link-cut": "cut", "disk-slowed": "slow disk", "log-dir-failed": "failed",
}  # fmt: skip
ENDS = (
    "broker-started", "broker-resumed", "controller-started", "controller-resumed", "broker-unfenced", "broker-joined", "link-healed", "log-dir-repaired",
)  # fmt: skip
SESSION_KINDS = ("broker-fenced", "broker-unfenced", "session-expired", "broker-joined")


def faults(events: list[Line], end: int) -> Rows:
    rows: Any = {}
    current: dict[Any, Line] = {}
    for event in events:
        kind = event["kind"]
        if kind not in STARTS and kind not in ENDS:
            continue
        if kind.startswith("link"):
            who = f"{event['src']} → {event['dst']}"
        elif kind.startswith("log-dir"):
            who = f"b{event['broker']} directory {event['dir']}"
        else:
            who = event["controller"] if kind.startswith("controller") else f"b{event['broker']}"
        about = ("session" if kind in SESSION_KINDS else kind.split("-")[0], who)
        if about in current:
            before = current.pop(about)
            before["until_us"], before["lasts_us"] = event["t"], event["t"] - before["from_us"]
        if kind in STARTS and (kind != "disk-slowed" or event["delay_us"] > 0):
            what = STARTS[kind] or event["how"]
            row = {
                "what": what,
                "who": who,
                "from_us": event["t"],
                "until_us": None,
                "lasts_us": max(end - event["t"], 0),
                "cause": event["cause"],
            }
            rows[(event["seq"],)] = current[about] = row
    return rows


def event_kinds(events: list[Line], end: int) -> Rows:
    rows: Any = {}
    for event in events:
        row = rows.setdefault((event["kind"],), {"events": 0, "first_us": event["t"], "last_us": event["t"]})
        row["events"] += 1
        row["last_us"] = event["t"]
    return rows


def series(events: list[Line], end: int) -> Rows:
    rows: Any = {}
    sums = {"append": "produced", "produce-acked": "acknowledged", "append-refused": "refused", "produce-given-up": "given_up"}

    def piece(time: int) -> dict[str, Any]:
        place = max(time, 0) * 120 // (max(end, time) + 1)
        return rows.setdefault((place,), {**dict.fromkeys((*sums.values(), "waiting", "under_replicated"), 0), "waits": []})

    batches: dict[Any, list[int]] = defaultdict(lambda: [0, 0, 0])
    for event in events:
        if event["kind"] in sums:
            many = event["to_offset"] - event["from_offset"] if event["kind"] == "append" else event["records"]
            piece(event["t"])[sums[event["kind"]]] += many
        if event["kind"] == "produce-acked":
            piece(event["t"])["waits"].append(event["latency_us"])
        wait = event.get("latency_us", event.get("waited_us", 0))
        if event["kind"] in ("produce-waiting", "produce-given-up") or (event["kind"] == "produce-acked" and wait > 1_000_000):
            batch = batches[event["topic"], event["partition"], event["producer"], event["acks"], event["t"] - wait]
            if event["kind"] == "produce-waiting":
                batch[0] += 1
            else:
                batch[1] += 1
                batch[2] = event["t"]
    for (*_, sent), (told, ended, until) in batches.items():
        piece(sent)["waiting"] += max(told, ended)
        if ended:
            piece(until)["waiting"] -= ended
    for state in states(events, end):
        if state["under_replicated"] and state["until"] > state["from"]:
            piece(state["from"])["under_replicated"] += 1
            if state["until"] < end:
                piece(state["until"])["under_replicated"] -= 1
    waiting = behind = 0
    for place in sorted(rows):
        row = rows[place]
        waiting, behind = waiting + row["waiting"], behind + row["under_replicated"]
        row["waiting"], row["under_replicated"] = waiting, behind
        waits = sorted(row.pop("waits"))
        row |= {f"p{percent}_us": nearest_rank(waits, percent) if waits else None for percent in (50, 95, 99)}
        row["max_us"] = max(waits, default=None)
    return rows


def story(events: list[Line], end: int) -> Rows:
    """Return the events that a page tells of. A test of its own checks the chains of causes, because the events of random sessions have no causes."""
    rows: Any = {}
    counts: Counter[str] = Counter()
    told = []
    for event in events:
        if event["kind"] in STORY_KINDS:
            counts[event["kind"]] += 1
            told.append((counts[event["kind"]], event["seq"], event))
    for nth, _, event in sorted(told, key=lambda each: each[:2])[:600]:
        if nth <= 100:
            columns = {name: event[name] for name in sorted(event.keys() - {"seq", "t", "cause", "kind"})}
            line = json.dumps(columns, ensure_ascii=False, separators=(",", ":"))
            line = re.sub(r"\\u00[01][0-9a-f]", lambda found: found[0][:2] + found[0][2:].upper(), line)
            rows[0, 0, event["seq"]] = {"at_us": event["t"], "root": event["seq"], "kind": event["kind"], "line": line}
    return rows


ALL = {
    "faults": faults,
    "event_kinds": event_kinds,
    "series": series,
    "story": story,
    "controllers": controllers,
    "harm": harm,
    "isr_flapping": isr_flapping,
    "idle": idle,
    "leadership": leadership,
    "min_isr": min_isr,
    "degraded": degraded,
    "unavailability": unavailability,
    "lag": lag,
    "settings": settings,
    "timeline": timeline,
    "curves": curves,
    "elections": elections,
    "isr_churn": isr_churn,
    "availability": availability,
    "records": records,
    "produce_latency": produce_latency,
    "produce_errors": produce_errors,
    "audit": audit,
    "errors": errors,
    **transactions_reference.ALL,
    **groups_reference.ALL,
}
"""The reference implementation of each summary, by the summary's name."""
