"""Recordings of consumer groups on real clusters: their acts, what the members reported, and what the coordinators logged.

Only groups of the classic protocol are read. The files are in `tests/fidelity/drills-groups`, and the README there describes the fields.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import attrs

from tests.fidelity.recording import release_of

ASSIGNORS: Final = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "StickyAssignor": "sticky",
    "CooperativeStickyAssignor": "cooperative-sticky",
    "Members$SlowRange": "range",
}
"""The names of assignors by the last part of the names of their classes. The slow assignor takes 6 s."""

AT_ONCE: Final = 1.0
"""The maximum time between two generations of which the second one follows from the first one, seconds."""

LEFT_OUT: Final = "…"
"""The beginning of the line that says how many records a recording leaves out."""


@attrs.frozen
class Sample:
    """What `--describe` printed about a group under load.

    Attributes:
        at: the time, seconds.
        group: the group.
        rows: (committed offset, log end offset) by partition.
    """

    at: float
    group: str
    rows: dict[str, tuple[int, int]]


@attrs.frozen
class Joiner:
    """A consumer of a recording.

    Attributes:
        who: its name.
        group: its group.
        topics: the topics that it subscribes to.
        config: its settings, as Kafka names them.
        at: when it first asked to join, seconds.
        ids: the member IDs that it got, in order.
        sets: the orders that it got: `commit`, `delay`, `perRecord`, `crashAfter`.
        polls_again: when it polled again after an error, and joined again, seconds; None if it did not.
    """

    who: str
    group: str
    topics: tuple[str, ...]
    config: dict[str, Any]
    at: float
    ids: tuple[str, ...]
    sets: dict[str, Any]
    polls_again: float | None = None

    @property
    def assignors(self) -> tuple[str, ...]:
        """Its assignors; empty for the default."""
        text = str(self.config.get("partition.assignment.strategy", ""))
        return tuple(ASSIGNORS[name.rpartition(".")[2]] for name in text.split(",") if name)


@attrs.frozen
class GroupRecording:
    """A recording.

    Attributes:
        name: the name of the file.
        version: the version of Kafka.
        acts, events: the recorded acts and events, without those of other protocols.
        log: (seconds, broker, text) of the coordinators' lines about the groups.
        offsets: the committed offset of each (group, partition) at the end; empty if it was not recorded.
        topics: the placement of each topic.
        settings: the settings that differed from Kafka's defaults.
        joiners: the consumers, in the order of their starts.
        coordinators: the first coordinator of each group.
        late: the consumers whose SyncGroup request of a generation arrived after the next rebalance had begun, each with the generation.
        samples: the samples from which the load is taken; empty if the acts contain the whole load.
    """

    name: str
    version: str
    acts: list[dict[str, Any]]
    events: list[dict[str, Any]]
    log: list[tuple[float, int, str]]
    offsets: dict[tuple[str, str], int]
    topics: dict[str, dict[str, Any]]
    settings: dict[str, Any]
    joiners: list[Joiner]
    coordinators: dict[str, int]
    samples: list[Sample] = attrs.field(factory=list)
    late: frozenset[tuple[str, int]] = frozenset()

    @property
    def release(self) -> str:
        """The release of the model."""
        return release_of(self.version).name

    @property
    def groups(self) -> list[str]:
        """The groups of the classic protocol."""
        return list(dict.fromkeys(joiner.group for joiner in self.joiners))


def read_groups(file: Path, protocol: str = "classic") -> GroupRecording:
    """Read the groups of a protocol in a recording: `classic`, `consumer`, or `both` for a group that changes its protocol.

    Raises:
        ValueError: the file is not a recording of groups.
    """
    raw = _raw(file)
    version = raw["kafka"]
    protocols = protocols_of(raw)
    wanted = {"classic": {"classic"}, "consumer": {"consumer"}, "both": {"classic", "consumer"}}[protocol]
    starts = {act["who"]: act for act in raw["acts"] if act["op"] in ("join", "new") and protocols[act["config"]["group.id"]] <= wanted}
    refused = {event["who"] for event in raw["events"] if event.get("ev") == "error" and event.get("at") == "new"}
    simple = _simple_consumers(raw, starts)
    starts = {who: act for who, act in starts.items() if who not in refused and who not in simple}
    groups = dict.fromkeys([*(act["config"]["group.id"] for act in starts.values()), *(group for group, _ in simple.values())])
    log = [(at, broker, text) for at, broker, text in raw.get("coordinator_log", ()) if any(group in text for group in groups)]
    joiners = [_joiner(raw, who, act, log) for who, act in starts.items()]
    of = {joiner.who for joiner in joiners}
    coordinators = {group: broker for at, broker, text in reversed(log) for group in groups if re.search(rf"\b{re.escape(group)}\b", text)}
    return GroupRecording(
        file.stem,
        version,
        [_act(act, simple) for act in raw["acts"] if act.get("who", "") in of or "who" not in act or _is_simple_commit(act, simple)],
        [event for event in raw["events"] if event["who"] in of],
        log,
        _offsets(raw, groups),
        raw["initial"],
        raw["settings"],
        sorted(joiners, key=lambda joiner: joiner.at),
        coordinators,
        _samples(raw) if any(act["op"] == "load" for act in raw["acts"]) else [],
        frozenset(each for joiner in joiners for each in _late(raw, joiner, log)),
    )


def _raw(file: Path) -> dict[str, Any]:
    raw: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    if "groups" not in raw or "events" not in raw:
        raise ValueError(f"{file.name} is not a recording of groups")
    return raw


def protocols_of(raw: dict[str, Any]) -> dict[str, set[str]]:
    """Return the protocols that the members of each group use."""
    found: dict[str, set[str]] = {}
    for act in raw["acts"]:
        if act["op"] in ("join", "new"):
            found.setdefault(act["config"]["group.id"], set()).add(act["config"].get("group.protocol", "classic"))
    return found


def has_classic_groups(file: Path) -> bool:
    """Return whether a recording has a group whose members all use the classic protocol."""
    return {"classic"} in protocols_of(_raw(file)).values()


def has_consumer_groups(file: Path) -> bool:
    """Return whether a recording has a group with a member that uses the consumer protocol."""
    return any("consumer" in protocols for protocols in protocols_of(_raw(file)).values())


def changes_protocol(file: Path) -> bool:
    """Return whether a recording has a group with members of both protocols."""
    return any(len(protocols) > 1 for protocols in protocols_of(_raw(file)).values())


def _late(raw: dict[str, Any], joiner: Joiner, log: list[tuple[float, int, str]]) -> Iterator[tuple[str, int]]:
    """Return the generations that a member never got, because the next rebalance began before its SyncGroup request arrived.

    With the cooperative protocol, a member is told in each generation which partitions it got, even if it got none.
    """
    if joiner.assignors != ("cooperative-sticky",):
        return
    got = {event["gen"] for event in raw["events"] if event["who"] == joiner.who and event["ev"] == "assigned"}
    closes = min((act["t"] for act in raw["acts"] if act["op"] == "close" and act["who"] == joiner.who), default=math.inf)
    pattern = rf"Stabilized group {re.escape(joiner.group)} generation (\d+)"
    began = [(at, int(found[1])) for at, _, text in log if (found := re.search(pattern, text))]
    for (at, generation), (following, _) in itertools.pairwise(began):
        if joiner.at <= at < closes and generation not in got and following - at < AT_ONCE:
            yield joiner.who, generation


def _samples(raw: dict[str, Any]) -> list[Sample]:
    return [
        Sample(each["t"] + each["took"], each["group"], {part: (int(row[0]), int(row[1])) for part, row in each["rows"].items()})
        for each in raw.get("samples", ())
        if each["rows"]
    ]


def _simple_consumers(raw: dict[str, Any], starts: dict[str, Any]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return the group and the partitions of each consumer that assigns its partitions itself."""
    return {
        act["who"]: (starts[act["who"]]["config"]["group.id"], tuple(act["args"][0].split(",")))
        for act in raw["acts"]
        if act["op"] == "assign" and act["who"] in starts
    }


def _is_simple_commit(act: dict[str, Any], simple: dict[str, Any]) -> bool:
    return act["op"] == "commit" and act.get("who") in simple


def _act(act: dict[str, Any], simple: dict[str, tuple[str, tuple[str, ...]]]) -> dict[str, Any]:
    """Return an act. A commit by a consumer that is no member of its group names the group and the partitions."""
    if not _is_simple_commit(act, simple):
        return act
    group, partitions = simple[act["who"]]
    return {"t": act["t"], "op": "simple commit", "group": group, "partitions": partitions}


def _joiner(raw: dict[str, Any], who: str, act: dict[str, Any], log: list[tuple[float, int, str]]) -> Joiner:
    ids: dict[str, float] = {}
    for event in raw["events"]:
        if event["who"] == who and event.get("member"):
            ids.setdefault(event["member"], event["t"])
    created = [(at, found[1]) for at, _, text in log if (found := re.search(r"Created a new member id (\S+)", text))]
    own = act["config"].get("group.instance.id", who)
    for at, member_id in created:
        if member_id.startswith(f"{who}-"):
            ids[member_id] = at
    ids = dict(sorted(ids.items(), key=lambda each: each[1]))
    created += [(at, found[1]) for at, _, text in log if (found := re.search(r"Member (\S+) joins the consumer group", text))]
    seen = [at for at, known in created if known in ids]
    if ids and next(iter(ids)) not in {known for _, known in created}:
        seen = []  # it took over the place of a static member
    began = [event["t"] for event in raw["events"] if event["who"] == who and event.get("ev") == "polling"]
    if act["config"].get("group.instance.id"):
        replaced = [
            at for at, _, text in log if "Replacing previously mapped" in text and f"groupInstanceId={own} " in text and at >= act["t"]
        ]
        seen += replaced[:1]
    subscribed = act.get("subscribe") or next(
        (each["args"][0] for each in raw["acts"] if each["op"] == "subscribe" and each["who"] == who), ""
    )
    sets = {
        each["args"][0]: each["args"][1]
        for each in raw["acts"]
        if each["op"] == "set" and each["who"] == who and len(each["args"]) > 1 and each["t"] < act["t"] + 0.3
    }
    errors = [event["t"] for event in raw["events"] if event["who"] == who and event.get("ev") == "error" and event.get("at") == "poll"]
    joins_again = errors and act["config"].get("group.protocol") != "consumer"  # an error of the consumer protocol is fatal
    polls = [each["t"] for each in raw["acts"] if each["op"] == "poll" and each["who"] == who and joins_again and each["t"] > errors[0]]
    at = min(seen, default=min(began, default=act["t"]))
    if errors and began:
        at = min(at, errors[0])
    topics = tuple(subscribed.split(",")) if isinstance(subscribed, str) else tuple(subscribed)
    return Joiner(who, act["config"]["group.id"], topics, act["config"], max(at, act["t"]), tuple(ids), sets, polls[0] if polls else None)


def _is_of_a_group(key: str) -> bool:
    """Whether a record belongs to a group. The recording also contains the markers of transactions."""
    return key.startswith("key: {")


def _offsets(raw: dict[str, Any], groups: dict[str, None]) -> dict[tuple[str, str], int]:
    """Return the last committed offsets in `__consumer_offsets`."""
    found: dict[tuple[str, str], int] = {}
    for *_, text in raw.get("offsets_records", ()):
        key, _, value = text.partition(" payload: ")
        if key.startswith(LEFT_OUT):
            found.clear()
        if not _is_of_a_group(key):
            continue
        data = json.loads(key.removeprefix("key: "))
        if data["type"] != "1" or data["data"]["group"] not in groups:
            continue
        where = (data["data"]["group"], f"{data['data']['topic']}-{data['data']['partition']}")
        if value in ("null", "<DELETE>"):
            found.pop(where, None)
        else:
            found[where] = json.loads(value)["data"]["offset"]
    return found
