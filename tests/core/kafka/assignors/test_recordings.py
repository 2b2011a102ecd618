"""The assignments of real clusters, recorded while members join and leave, are computed again from the recorded member IDs."""

from __future__ import annotations

import itertools
import json
import re
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from core.kafka.assignors import range_assignor, round_robin
from core.kafka.assignors.java_order import hash_map_order
from core.kafka.assignors.server import uniform_assignor
from core.kafka.assignors.sticky import sticky_assignor
from core.kafka.assignors.sticky.sticky_assignor import StickyRules
from core.kafka.assignors.subscription import Member, TopicMetadata
from core.kafka.ids import TopicPartition
from core.kafka.release import RELEASES

RECORDINGS: Final = Path(__file__).parents[3] / "fidelity" / "drills-groups"

ROW: Final = re.compile(
    r"^(?P<group>\S+)\s+(?P<topic>\S+)\s+(?P<partition>\d+)\s+\S+\s+\S+\s+\S+\s+(?P<member>\S+)\s+/\S+\s+(?P<client>\S+)$", re.MULTILINE
)


class Point(NamedTuple):
    """A group at rest.

    Attributes:
        members: the subscriptions of the members.
        assignment: what each member has.
        generations: the generations since the last point, with the members that learned of their assignment.
    """

    members: dict[str, tuple[str, ...]]
    assignment: dict[str, set[TopicPartition]]
    generations: dict[int, set[str]]


def points_of(recording: dict, group: str) -> list[Point]:
    """Return the states of a group after each of its acts."""
    joined = {
        act["who"]: tuple(act["subscribe"].split(","))
        for act in recording["acts"]
        if act["op"] == "join" and act["config"]["group.id"] == group
    }
    ids = {event["who"]: event["member"] for event in recording["events"] if event.get("member") and event["who"] in joined}
    points = []
    begin = 0.0
    for point in recording["points"]:
        if group not in point["text"]:
            continue
        present = set()
        for act in recording["acts"][: point["after"] + 1]:
            (present.add if act["op"] == "join" else present.discard)(act["who"])
        assignment: dict[str, set[TopicPartition]] = {ids[who]: set() for who in joined if who in present}
        for row in ROW.finditer(point["text"][group]["describe"]["out"]):
            assignment[row["member"]].add(TopicPartition(row["topic"], int(row["partition"])))
        generations: dict[int, set[str]] = {}
        for event in recording["events"]:
            if begin < event["t"] <= point["t"] and event["ev"] == "assigned" and event["who"] in joined:
                generations.setdefault(event["gen"], set()).add(event["member"])
        begin = point["t"]
        points.append(Point({ids[who]: topics for who, topics in joined.items() if who in present}, assignment, generations))
    return points


def cases() -> list[tuple[str, str]]:
    return [(path.name, group) for path in sorted(RECORDINGS.glob("*assignor*.json")) for group in json.loads(path.read_text())["groups"]]


@pytest.mark.parametrize(("name", "group"), cases())
def test_recorded_assignments(name: str, group: str) -> None:
    recording = json.loads((RECORDINGS / name).read_text())
    topics = {topic: TopicMetadata(len(about["placement"])) for topic, about in recording["initial"].items()}
    kind = name.partition("assignor-")[2].removesuffix(".json")
    points = points_of(recording, group)
    assert len(points) >= 4
    rules = StickyRules.of(RELEASES[name[:3]])
    if kind in ("range", "roundrobin"):
        assign = range_assignor.assign if kind == "range" else round_robin.assign
        assert follows(assign, points, topics, sorted(topics))
    elif kind == "consumer-uniform":
        orders = [order for order in itertools.permutations(topics) if follows(uniform_assignor.assign, points, topics, order)]
        assert orders, "no order of topic IDs gives the recorded assignments"
    elif kind == "sticky":
        assert follows(lambda t, m: sticky_assignor.assign(t, m, rules).assignment, points, topics, hash_map_order(topics))
    else:
        assert follows_by_generation(partial(sticky_assignor.cooperative_assign, rules=rules), points, topics)


def follows(assign, points: list[Point], topics: dict[str, TopicMetadata], order) -> bool:
    """Return whether an assignor produces the assignments at all points of a recording, given its previous assignment at each point.
    Members report what they own in the given order of topics.
    """
    owned: dict[str, list[TopicPartition]] = {}
    for generation, point in enumerate(points):
        members = [
            Member(
                member, point.members[member], tuple(sorted(owned.get(member, ()), key=lambda tp: (order.index(tp.topic), tp))), generation
            )
            for member in hash_map_order(point.members)
        ]
        owned = assign({topic: topics[topic] for topic in order}, members)
        if {member: set(tps) for member, tps in owned.items()} != point.assignment:
            return False
    return True


def follows_by_generation(assign, points: list[Point], topics: dict[str, TopicMetadata]) -> bool:
    """Return the same for several rebalances between two points. A member whose SyncGroup came too late keeps its partitions from its older
    generation.
    """
    known: dict[str, tuple[int, tuple[TopicPartition, ...]]] = {}
    for point in points:
        for generation, informed in sorted(point.generations.items()):
            members = []
            for member in hash_map_order(point.members):
                its_generation, owned = known.get(member, (-1, ()))
                members.append(Member(member, point.members[member], owned, its_generation))
            assignment = assign(topics, members)
            known.update((member, (generation, tuple(assignment[member]))) for member in informed if member in assignment)
        if {member: set(known[member][1]) for member in point.members} != point.assignment:
            return False
    return True
