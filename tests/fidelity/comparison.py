"""Compares the behavior of the model with a recording, value by value. Values that say nothing about Kafka's behavior are excluded by
name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import attrs

from core.kafka.ids import TopicPartition, broker_address
from core.lab.views.partition_view import PartitionView
from core.sim.units import SECOND
from scenarios.describe.render import from_view, render_describe
from tests.fidelity.recording import Point, RecordedPartition, Recording
from tests.fidelity.rejoining import Timed, entered, forget_times, same_order, without_races
from tests.fidelity.replay import ModelPoint, Replayed, replay

CONTROLLER_SEEDS: Final = 8
"""The number of seeds that are tried for a ZooKeeper drill. The seed decides which broker replaces a dead controller."""

TOOLS: Final = ("config", "elect", "reassign", "delete")
"""Acts that a tool executes, which can print an error."""

MEASURES: Final = (
    "acts",
    "leader",
    "leader epoch",
    "replicas",
    "ISR",
    "ISR in order",
    "ELR",
    "LastKnownElr",
    "log end offset",
    "epoch entries",
    "high watermark",
    "log start",
    "checkpointed high watermark",
    "acknowledged",
    "describe text",
    "filtered describe text",
    "committed states",
)
"""The compared measures, in the order of the table."""


@attrs.frozen
class Comparison:
    """One value.

    Attributes:
        measure: the kind of value, one of `MEASURES`.
        where: recording, point or act, partition, broker.
        recorded, model: the recorded value and the model's value. The latter is a range if the recording does not determine the value
            exactly.
        race: whether the values differ only in which of two followers rejoined an ISR first. Such a difference does not count.
    """

    measure: str
    where: str
    recorded: Any
    model: Any
    race: bool = False

    @property
    def name(self) -> str:
        """The measure and its place, in one line."""
        return f"{self.measure}: {self.where}"

    @property
    def agrees(self) -> bool:
        """Whether the values are the same, or the recorded value is in the model's range."""
        return bool(self.recorded in self.model if isinstance(self.model, range) else self.recorded == self.model)


EXPLAINED: Final = {
    **dict.fromkeys(
        (
            "epoch entries: 4.1.1-102 point 9 b1 t-a-1",
            "epoch entries: 4.1.1-102 point 9 b1 t-u-1",
            "epoch entries: 4.1.1-102 point 9 b3 t-c-1",
        ),
        "two seconds after the election, the former leader's entry without records is still on disk; in other recorded elections, it is "
        "gone by then; Kafka writes this truncation to disk asynchronously (LeaderEpochFileCache#truncateFromEndAsyncFlush)",
    ),
}
"""The values that differ for a reason that the recording shows: the reason by `measure: where`."""


def best_replay(recording: Recording) -> list[Comparison]:
    """Return the comparisons of the replay that agrees best with the recording.

    KRaft drills have one replay. Under ZooKeeper, the recording contains neither the initial controller nor the broker that replaces a dead
    controller (the first to write `/controller`), so each broker and several seeds are tried until everything agrees.
    """
    best: list[Comparison] = []
    for seed, controller in _courses(recording):
        found = list(compare(recording, replay(recording, seed=seed, controller=controller)))
        if not best or _differing(found) < _differing(best):
            best = found
        if not _differing(best):
            break
    return best


def _courses(recording: Recording) -> Iterator[tuple[int, str]]:
    if recording.control_plane == "kraft":
        yield 0, ""
        return
    for seed in range(CONTROLLER_SEEDS):
        for broker in recording.points[0].live:
            yield seed, broker_address(broker)


def _differing(comparisons: list[Comparison]) -> int:
    return sum(not one.agrees for one in comparisons)


def compare(recording: Recording, replayed: Replayed) -> Iterator[Comparison]:
    """Compare every value of a recording with the value of the model."""
    for point, model in zip(recording.points, replayed.points, strict=True):
        where = f"{recording.name} point {point.after}"
        since = {tp: entered(_until(states, point.at)) for tp, states in replayed.metadata.items()}
        yield from _point(where, recording, point, model, since)
    for number, act in enumerate(recording.acts):
        if act.op in TOOLS and number in replayed.refused:
            yield Comparison("acts", f"{recording.name} act {number}", "refused" if act.refused else "done", "refused")
        elif act.op not in TOOLS or not act.refused:
            yield Comparison("acts", f"{recording.name} act {number}", "done", replayed.refused.get(number, "done"))
    for number, acknowledged in replayed.acknowledged.items():
        for tp, count in recording.acts[number].results.items():
            yield Comparison("acknowledged", f"{recording.name} act {number} {tp}", count, acknowledged.get(tp, 0))
    for tp, states in recording.metadata.items():
        yield _committed(f"{recording.name} {tp}", states, replayed.metadata[tp])


def _committed(where: str, recorded: Sequence[Timed], model: Sequence[Timed]) -> Comparison:
    """Return both sequences, without those races of followers in which they differ."""
    if forget_times(recorded) == forget_times(model):
        return Comparison("committed states", where, forget_times(recorded), forget_times(model))
    return Comparison("committed states", where, without_races(recorded), without_races(model), race=True)


def _until(states: Sequence[Timed], seconds: float) -> list[Timed]:
    return [(time, state) for time, state in states if time <= seconds * SECOND]


def _point(
    where: str, recording: Recording, point: Point, model: ModelPoint, since: dict[TopicPartition, dict[int, int]]
) -> Iterator[Comparison]:
    view = attrs.evolve(model.view, partitions=tuple(_as_recorded(each, point, since[each.tp]) for each in model.view.partitions))
    partitions = {partition.tp: partition for partition in view.partitions}
    for tp, recorded in point.partitions.items():
        yield from _partition(f"{where} {tp}", recorded, partitions[tp], elr=recording.control_plane == "kraft")
        raced = partitions[tp].isr != model.view.partition(tp).isr
        yield Comparison("ISR in order", f"{where} {tp}", recorded.isr, partitions[tp].isr, race=raced)
    for broker, replicas in point.disks.items():
        for tp, replica in replicas.items():
            copy = next((copy for copy in partitions[tp].replica_views if copy.broker == broker), None)
            place = f"{where} b{broker} {tp}"
            yield Comparison("log end offset", place, replica.leo, None if copy is None else copy.leo)
            yield Comparison("epoch entries", place, replica.epochs, None if copy is None else copy.epochs)
            yield Comparison("checkpointed high watermark", place, replica.checkpointed, model.checkpointed[broker].get(tp, range(1)))
    for tp, offset in point.latest.items():
        yield Comparison("high watermark", f"{where} {tp}", offset, _of_leader(partitions[tp], "hw"))
    for tp, offset in point.earliest.items():
        yield Comparison("log start", f"{where} {tp}", offset, _of_leader(partitions[tp], "log_start"))
    if point.text is None:
        return
    topics = from_view(view)
    release = recording.release
    live = frozenset(broker.id for broker in view.brokers if not broker.fenced)
    yield Comparison("describe text", where, by_topic(point.text), by_topic(render_describe(topics, release)))
    for name, text in point.filters.items():
        filtered = render_describe(topics, release, live_brokers=live, **{name.replace("-", "_"): True})
        yield Comparison("filtered describe text", f"{where} {name}", by_topic(text), by_topic(filtered))


def _as_recorded(partition: PartitionView, point: Point, since: dict[int, int]) -> PartitionView:
    """Return a partition with the recorded order of its ISR, if the model's order differs only by a race."""
    recorded = point.partitions.get(partition.tp)
    if recorded is None or not same_order(recorded.isr, partition.isr, since):
        return partition
    return attrs.evolve(partition, isr=recorded.isr)


def _partition(where: str, recorded: RecordedPartition, model: PartitionView, *, elr: bool) -> Iterator[Comparison]:
    yield Comparison("leader", where, recorded.leader, model.leader)
    yield Comparison("leader epoch", where, recorded.epoch, model.leader_epoch)
    yield Comparison("replicas", where, recorded.replicas, model.replicas)
    yield Comparison("ISR", where, set(recorded.isr), set(model.isr))
    if elr:
        yield Comparison("ELR", where, recorded.elr, model.elr)
        yield Comparison("LastKnownElr", where, recorded.last_known_elr, model.last_known_elr)


def _of_leader(partition: PartitionView, what: str) -> int | None:
    leader = next((copy for copy in partition.replica_views if copy.broker == partition.leader), None)
    return None if leader is None else getattr(leader, what)


def by_topic(text: str) -> list[str]:
    """Return the lines of a describe text with its topics sorted by name, because their order does not count."""
    return sorted(text.splitlines(), key=lambda line: line.strip().split("\t")[0].removeprefix("Topic: "))
