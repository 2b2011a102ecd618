"""Compares the model with a recording of groups that use the consumer protocol, value by value: epochs, target assignments, removals,
conversions, generations, and callbacks.

The times of heartbeats are not recorded, but they decide who notices a new target first, and thus in which order partitions move. The
phases of the heartbeats are therefore an unknown input: the model plays a recording with several phases. The recording agrees if there is
one phase with which all values agree.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from core.kafka import events
from core.sim.units import SECOND
from tests.fidelity.comparison import Best, Comparison, best_of
from tests.fidelity.groups.comparison import ASSIGNMENTS, CALLBACKS, GENERATIONS, PHASES, REMOVALS, TIMES
from tests.fidelity.groups.explained import GROUPS_EXPLAINED
from tests.fidelity.groups.player import LEAD, PREFIX, GroupPlayer
from tests.fidelity.groups.recording import LEFT_OUT, changes_protocol, read_groups

EPOCHS: Final = "group epochs"
CONVERSIONS: Final = "conversions"

CONSUMER_MEASURES: Final = (EPOCHS, ASSIGNMENTS, CALLBACKS, REMOVALS, CONVERSIONS, GENERATIONS, TIMES)
"""The compared measures, in the order of the table."""

TOLERANCE: Final = 1.5
"""The maximum difference between two times in seconds. The recorded machine was busy, so some events were 1 to 3 s late."""

HEARTBEAT: Final = 5.0
"""The time between two heartbeats in seconds. The heartbeats of a member do not have the same phase as in the recording."""

LISTENER: Final = {events.PartitionsAssigned: "assigned", events.PartitionsRevoked: "revoked", events.PartitionsLost: "lost"}
"""The callbacks behind the events."""

Target = dict[str, tuple[tuple[int, ...], ...]]
"""A target assignment: for each member ID, the partition numbers in each topic, sorted. The recordings name topics by random IDs."""


class ConsumerReplay:
    """A recording and its replay in the model.

    Attributes:
        name: the name of the recording.
        player: the model.
    """

    def __init__(self, file: Path, phase: int = 0) -> None:
        self.name = file.stem
        self.raw: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        self.player = GroupPlayer(read_groups(file, "both" if changes_protocol(file) else "consumer"), phase)
        self.player.play()
        # The recorded consumers take orders before they run; the joins contain these orders.
        if wrong := [refused for refused in self.player.refused if "'op': 'set'" not in refused]:
            raise ValueError(f"{self.name}: the model refused acts: {wrong}")
        self.heard = [((each[1] - LEAD) / SECOND, events.decode(each)) for each in self.player.heard]

    def comparisons(self) -> list[Comparison]:
        """Return every recorded value together with the value of the model."""
        return [*self._epochs(), *self._targets(), *self._removals(), *self._conversions(), *self._callbacks()]

    def _log(self, pattern: str) -> list[tuple[float, tuple[str, ...]]]:
        """Return the lines of the coordinator's log that match a pattern, with their times and groups."""
        return [(line[0], found.groups()) for line in self.player.recording.log if (found := re.search(pattern, line[2]))]

    def _of(self, kind: type[events.Event]) -> list[tuple[float, Any]]:
        """Return the events of a kind in the model, with their times."""
        return [(at, event) for at, event in self.heard if type(event) is kind]

    def _time(self, where: str, recorded: float, played: float, tolerance: float) -> Comparison:
        apart = round(played - recorded, 1)
        within = "within the tolerance"
        return Comparison(TIMES, f"{self.name} {where}", within, within if abs(apart) <= tolerance else apart)

    def _epochs(self) -> Iterator[Comparison]:
        """A group epoch grows when members join, leave, or are fenced."""
        # A coordinator compares the topics with its metadata when the next member sends a heartbeat.
        changes_topics = any(
            act["op"] in ("add partitions", "alter partitions", "create topic", "delete topic") for act in self.raw["acts"]
        )
        for group in self.player.recording.groups:
            recorded = sorted(
                (int(epoch), at) for at, (epoch,) in self._log(rf"\[GroupId {re.escape(group)}\] Bumped group epoch to (\d+)")
            )
            played = sorted((event.group_epoch, at) for at, event in self._of(events.GroupEpochBumped) if event.group == group)
            yield Comparison(EPOCHS, f"{self.name} {group}", [epoch for epoch, _ in recorded], [epoch for epoch, _ in played])
            for (epoch, at), (_, played_at) in zip(recorded, played, strict=False):
                tolerance = TOLERANCE + HEARTBEAT * (at > 50 or changes_topics)
                yield self._time(f"{group} epoch {epoch}", at, played_at, tolerance)

    def recorded_targets(self) -> dict[tuple[str, int], Target]:
        """Return the target assignments in the records of the real cluster, by group and epoch.

        A coordinator writes only the assignments that change. After records that the recording leaves out, the other ones are unknown.
        """
        known: dict[str, Target] = {}
        found = {}
        for record in self.raw.get("offsets_records") or []:
            if isinstance(record, str):
                assert record.startswith(LEFT_OUT)
                known.clear()
                continue
            key, _, payload = record[3].removeprefix("key: ").partition(" payload: ")
            about = json.loads(key)
            if about["type"] not in ("6", "7"):
                continue
            target = known.setdefault(about["data"]["groupId"], {})
            if about["type"] == "6":
                if payload != "<DELETE>":
                    found[about["data"]["groupId"], json.loads(payload)["data"]["assignmentEpoch"]] = dict(target)
            elif payload == "<DELETE>":
                target.pop(about["data"]["memberId"], None)
            else:
                topics = json.loads(payload)["data"]["topicPartitions"]
                target[about["data"]["memberId"]] = tuple(sorted(tuple(sorted(topic["partitions"])) for topic in topics))
        return found

    def model_targets(self) -> dict[tuple[str, int], Target]:
        """Return the target assignments of the model, in the same form."""
        found: dict[tuple[str, int], Target] = {}
        for _, event in self._of(events.TargetAssigned):
            target = found[event.group, event.group_epoch] = {}
            for member, _, names in (part.partition(": ") for part in event.assignment.split("; ")):
                topics: dict[str, list[int]] = {}
                for topic, _, number in (name.rpartition("-") for name in names.split(", ") if name != "nothing"):
                    topics.setdefault(topic, []).append(int(number))
                target[member] = tuple(sorted(tuple(sorted(numbers)) for numbers in topics.values()))
        return found

    def _targets(self) -> Iterator[Comparison]:
        """The same epochs get a target assignment, in which each member has the same partitions."""
        pattern = r"\[GroupId (\S+)\] Computed a new target assignment for epoch (\d+)"
        logged = {(group, int(epoch)) for _, (group, epoch) in self._log(pattern)}
        recorded, played = self.recorded_targets(), self.model_targets()
        yield Comparison(ASSIGNMENTS, f"{self.name} epochs", sorted(logged), sorted(played))
        for key in sorted(logged.intersection(recorded)):
            target = played.get(key, {})
            yield Comparison(
                ASSIGNMENTS, f"{self.name} {key[0]} epoch {key[1]}", recorded[key], {member: target.get(member) for member in recorded[key]}
            )

    def _removals(self) -> Iterator[Comparison]:
        """A silent member is removed 45 s after its last heartbeat."""
        recorded = sorted(
            [(at, member, "session-timeout") for at, (member,) in self._log(r"Member (\S+) fenced .* session expired")]
            + [(at, member, "left") for at, (member,) in self._log(r"Member (\S+) left the consumer group")]
            + [(at, member, "left") for at, (member,) in self._log(r"[Mm]ember (\S+) has left group through explicit")]
        )
        played = [(at, event.member_id, event.why) for at, event in self._of(events.GroupMemberRemoved)]
        # Several members that close at once leave in any order.
        yield Comparison(REMOVALS, self.name, sorted(each[1:] for each in recorded), sorted(each[1:] for each in played))
        for (at, member, _), (played_at, _, _) in zip(recorded, played, strict=False):
            yield self._time(f"removal of {member}", at, played_at, TOLERANCE + HEARTBEAT)

    def _conversions(self) -> Iterator[Comparison]:
        """A group changes its protocol at the same times. As a classic group, it has the same generations."""
        recorded = [("consumer", at) for at, _ in self._log(r"Converted the classic group to a consumer group()")]
        recorded += [("classic", at) for at, _ in self._log(r"Converted the consumer group to a classic group()")]
        played = [(event.protocol, at) for at, event in self._of(events.GroupConverted)]
        if recorded or played:
            yield Comparison(CONVERSIONS, self.name, [each[0] for each in recorded], [each[0] for each in played])
        for (protocol, at), (_, played_at) in zip(recorded, played, strict=False):
            yield self._time(f"conversion to {protocol}", at, played_at, TOLERANCE)
        lines = self._log(r"Stabilized group \S+ generation (\d+) with (\d+) members")
        generations = [(int(number), int(count)) for _, (number, count) in lines]
        model = [(event.generation, event.member_ids.count(",") + 1) for _, event in self._of(events.GroupGeneration)]
        if generations or model:
            yield Comparison(GENERATIONS, self.name, generations, model)

    def _callbacks(self) -> Iterator[Comparison]:
        """Each consumer gets the same partitions in the same order, gives up the same ones, and loses the same ones."""
        recorded: dict[str, list[tuple[str, str]]] = {}
        for event in self.player.recording.events:
            if event["ev"] in LISTENER.values():
                recorded.setdefault(event["who"], []).append((event["ev"], ", ".join(event["parts"])))
        played: dict[str, list[tuple[str, str]]] = {}
        for _, event in self.heard:
            if type(event) in LISTENER:
                played.setdefault(event.client.removeprefix(PREFIX), []).append((LISTENER[type(event)], event.partition_names))
        for who in sorted({*recorded, *played}):
            yield Comparison(CALLBACKS, f"{self.name} {who}", recorded.get(who), played.get(who))


def best_of_consumer_groups(file: Path) -> Best:
    """Return the replay that agrees best with the recording. The phases of heartbeats are not recorded, so several are tried."""
    return best_of([partial(_course, file, phase) for phase in range(PHASES)], GROUPS_EXPLAINED)


def _course(file: Path, phase: int) -> list[Comparison]:
    return ConsumerReplay(file, phase).comparisons()
