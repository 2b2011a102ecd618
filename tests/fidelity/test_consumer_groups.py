"""Replays of the recordings of groups of the consumer protocol: epochs, target assignments, removals, and callbacks are those of the real cluster."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest

from core.kafka import events
from core.sim.units import SECOND
from tests.fidelity.groups.player import LEAD, PREFIX, GroupPlayer
from tests.fidelity.groups.recording import read_groups

FOLDER: Final = Path(__file__).parent / "drills-groups"

DRILLS: Final = (
    "4.1.1-join-consumer-uniform",
    "4.1.1-kill-member-consumer",
    "4.1.1-slow-member-consumer",
    "4.1.1-consumer-paused-zombie",
    "4.1.1-topic-changes",
    "4.1.1-describe-many",
    "4.3.1-describe-many",
    "4.3.1-join-consumer-uniform",
    "4.1.1-upgrade-classic-to-consumer",
)

BOTH_PROTOCOLS: Final = ("4.1.1-topic-changes", "4.1.1-upgrade-classic-to-consumer")
"""The recordings that have members of both protocols."""

NOTICED_BY_HEARTBEAT: Final = ("4.1.1-topic-changes",)
"""The recordings in which the coordinator compares the topics with its metadata when the next member sends a heartbeat."""

TOLERANCE: Final = 1.5
"""The maximum difference between two times in seconds. The recorded machine was busy, so some events were 1 to 3 s late."""

HEARTBEAT: Final = 5.0
"""The time between two heartbeats in seconds. The heartbeats of a member do not have the same phase as in the recording."""


class Replay:
    """A recording and its replay in the model."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.raw: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
        self.player = GroupPlayer(read_groups(FOLDER / f"{name}.json", "both" if name in BOTH_PROTOCOLS else "consumer"))
        self.player.play()
        # The recorded consumers take orders before they run; the joins contain these orders.
        assert all("'op': 'set'" in refused for refused in self.player.refused)
        self.heard = [((each[1] - LEAD) / SECOND, events.decode(each)) for each in self.player.heard]

    def log(self, pattern: str) -> list[tuple[float, tuple[str, ...]]]:
        """The lines of the coordinator's log that match a pattern, with their times and groups."""
        return [(line[0], found.groups()) for line in self.player.recording.log if (found := re.search(pattern, line[2]))]

    def of(self, kind: type[events.Event]) -> list[tuple[float, Any]]:
        """The events of a kind in the model, with their times."""
        return [(at, event) for at, event in self.heard if type(event) is kind]

    def targets(self) -> dict[int, dict[str, set[int]]]:
        """The target assignments in the records of the real cluster, by epoch: the partition numbers of each member ID."""
        known: dict[str, set[int]] = {}
        found = {}
        for record in self.raw.get("offsets_records") or []:
            key, _, payload = record[3].removeprefix("key: ").partition(" payload: ")
            about = json.loads(key)
            member = about["data"].get("memberId")
            if about["type"] == "7" and payload == "<DELETE>":
                known.pop(member, None)
            elif about["type"] == "7":
                topics = json.loads(payload)["data"]["topicPartitions"]
                known[member] = {number for topic in topics for number in topic["partitions"]}
            elif about["type"] == "6" and payload != "<DELETE>":
                found[json.loads(payload)["data"]["assignmentEpoch"]] = dict(known)
        return found

    def model_targets(self) -> dict[int, dict[str, set[int]]]:
        """The target assignments of the model, in the same form."""
        return {
            event.group_epoch: {
                member: {int(name.rpartition("-")[2]) for name in names.split(", ") if name != "nothing"}
                for member, _, names in (part.partition(": ") for part in event.assignment.split("; "))
            }
            for _, event in self.of(events.TargetAssigned)
        }


@pytest.fixture(scope="module", params=DRILLS)
def replay(request: pytest.FixtureRequest) -> Replay:
    return Replay(request.param)


def test_group_epochs(replay: Replay) -> None:
    """The group epoch grows when members join, leave, or are fenced, at the same times."""
    recorded = replay.log(r"Bumped group epoch to (\d+)")
    played = replay.of(events.GroupEpochBumped)
    assert [event.group_epoch for _, event in played] == sorted(int(epoch) for _, (epoch,) in recorded)
    for (at, _), (played_at, _) in zip(sorted(recorded), played, strict=True):
        assert played_at == pytest.approx(at, abs=TOLERANCE + HEARTBEAT * (at > 50 or replay.name in NOTICED_BY_HEARTBEAT))


def test_target_assignments(replay: Replay) -> None:
    """The same epochs get a target assignment, in which each member has the same partitions."""
    recorded = {int(epoch) for _, (epoch,) in replay.log(r"target assignment for epoch (\d+)")}
    assert set(replay.model_targets()) == recorded
    targets, played = replay.targets(), replay.model_targets()
    for epoch in recorded.intersection(targets):
        assert played[epoch] == targets[epoch], epoch


def test_members_that_are_fenced_or_leave(replay: Replay) -> None:
    """A silent member is removed 45 s after its last heartbeat. The phases of heartbeats differ by up to 5 s."""
    recorded = sorted(
        [(at, member, "session-timeout") for at, (member,) in replay.log(r"Member (\S+) fenced .* session expired")]
        + [(at, member, "left") for at, (member,) in replay.log(r"Member (\S+) left the consumer group")]
        + [(at, member, "left") for at, (member,) in replay.log(r"[Mm]ember (\S+) has left group through explicit")]
    )
    played = [(at, event.member_id, event.why) for at, event in replay.of(events.GroupMemberRemoved)]
    # Several members that close at once leave in any order.
    assert sorted(each[1:] for each in played) == sorted(each[1:] for each in recorded)
    for (at, _, _), (played_at, _, _) in zip(recorded, played, strict=True):
        assert played_at == pytest.approx(at, abs=TOLERANCE + HEARTBEAT)


def test_conversions_and_generations(replay: Replay) -> None:
    """A group changes its protocol at the same times. As a classic group, it has the same generations."""
    recorded = [("consumer", at) for at, _ in replay.log(r"Converted the classic group to a consumer group()")]
    recorded += [("classic", at) for at, _ in replay.log(r"Converted the consumer group to a classic group()")]
    played = [(event.protocol, at) for at, event in replay.of(events.GroupConverted)]
    assert [each[0] for each in played] == [each[0] for each in recorded]
    assert all(at == pytest.approx(other, abs=TOLERANCE) for (_, at), (_, other) in zip(played, recorded, strict=True))
    generations = [
        (int(number), int(count)) for _, (number, count) in replay.log(r"Stabilized group \S+ generation (\d+) with (\d+) members")
    ]
    assert [(event.generation, event.member_ids.count(",") + 1) for _, event in replay.of(events.GroupGeneration)] == generations


def test_callbacks(replay: Replay) -> None:
    """Each consumer gets the same partitions in the same order, gives up the same ones, and loses the same ones."""
    kinds = {events.PartitionsAssigned: "assigned", events.PartitionsRevoked: "revoked", events.PartitionsLost: "lost"}
    recorded: dict[str, list[tuple[str, str]]] = {}
    for event in replay.player.recording.events:
        if event["ev"] in kinds.values():
            recorded.setdefault(event["who"], []).append((event["ev"], ", ".join(event["parts"])))
    played: dict[str, list[tuple[str, str]]] = {}
    for _, event in replay.heard:
        if type(event) in kinds:
            played.setdefault(event.client.removeprefix(PREFIX), []).append((kinds[type(event)], event.partition_names))
    assert played == recorded
