"""Compares the behavior of the model with a recording, value by value. Values that say nothing about Kafka's behavior are excluded by
name."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Hashable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import attrs

from core.kafka.ids import NO_EPOCH, TopicPartition, broker_address
from core.lab.views.partition_view import PartitionView
from core.sim.units import SECOND
from scenarios.describe.render import from_view, render_describe
from tests.fidelity.aligning import aligned
from tests.fidelity.explained import EXPLAINED
from tests.fidelity.recording import Point, RecordedReplica, Recording
from tests.fidelity.rejoining import Timed, entered, forget_times, same_order, without_races
from tests.fidelity.replay import ModelPoint, OtherController, Replayed, replay

SEEDS: Final = 24
"""The number of replays of a drill that are compared at most."""

CONTROLLER_SEEDS: Final = 64
"""The number of seeds that are tried at most for a drill under ZooKeeper, until `SEEDS` replays have the recorded controllers."""

PHASE: Final = 0.23
"""The time in seconds by which a drill under ZooKeeper begins later with each seed. Whether the session of a dead broker expires before its
leaders notice, and whether two sessions expire at once, depends on the phases of pings and of the periodic checks."""

TOOLS: Final = ("config", "elect", "reassign", "delete", "delete-topic", "create-topic")
"""Acts that a tool executes, which can print an error."""

MEASURES: Final = (
    "acts",
    "leader",
    "leader epoch",
    "znode version",
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
    def difference(self) -> str:
        """Both values; of two texts, only the lines that differ."""
        recorded, model = self.recorded, self.model
        if isinstance(recorded, list) and isinstance(model, list):
            recorded, model = [line for line in recorded if line not in model], [line for line in model if line not in recorded]
        return f"{self.name}: recorded {recorded}, model {model}"

    @property
    def agrees(self) -> bool:
        """Whether the values are the same, or the recorded value is in the model's range."""
        return bool(self.recorded in self.model if isinstance(self.model, range) else self.recorded == self.model)


@attrs.frozen
class Best:
    """The replay that agrees best with a recording.

    Attributes:
        comparisons: every recorded value together with the value of the model.
        replays: the number of replays that were tried.
        of: the number of replays that are tried if none agrees in every value.
    """

    comparisons: list[Comparison]
    replays: int
    of: int

    @property
    def differing(self) -> int:
        """The number of values that differ."""
        return sum(not one.agrees for one in self.comparisons)

    @property
    def line(self) -> str:
        """The agreement in one line, and how many replays were tried."""
        agree = len(self.comparisons) - self.differing
        return f"{agree:7,} of {len(self.comparisons):7,}{self.replays:4} of {self.of} replays tried"


def best_of(courses: Sequence[Callable[[], list[Comparison]]], known: Container[str] = (), most: int | None = None) -> Best:
    """Play courses of a drill until only known values differ. Return the best one. A course in which another broker becomes controller
    than in the recording does not count; if there is no other course, one difference says so."""
    best: list[Comparison] = []
    tried = 0
    most = len(courses) if most is None else most
    other = ""
    for course in courses:
        try:
            found = course()
        except OtherController as wrong:
            other = str(wrong)
            continue
        tried += 1
        if tried == 1 or _differing(found) < _differing(best):
            best = found
        if tried == most or all(one.agrees or one.name in known for one in best):
            break
    return Best(best or [Comparison("acts", "controllers", "", other)], tried, most)


def best_replay(recording: Recording) -> Best:
    """Return the replay that agrees best with the recording.

    The phases of heartbeats and fetches are not recorded, so several seeds are tried. Under ZooKeeper, the seed also decides which broker
    replaces a dead controller (the first to write `/controller`). If the first controller is not recorded, each broker is tried.
    """
    controllers = [""]
    if recording.control_plane != "kraft":
        brokers = recording.points[0].live if recording.controller is None else (recording.controller,)
        controllers = [broker_address(broker) for broker in brokers]
    most = SEEDS * len(controllers)
    seeds = range(SEEDS if recording.control_plane == "kraft" else CONTROLLER_SEEDS)
    courses = [partial(_course, recording, seed, controller) for seed in seeds for controller in controllers]
    return best_of(courses, EXPLAINED, most)


def _course(recording: Recording, seed: int, controller: str) -> list[Comparison]:
    if recording.control_plane != "kraft":
        recording = recording.later(seed * PHASE)
    return list(compare(recording, replay(recording, seed=seed, controller=controller, same_controllers=True)))


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
        yield from _committed(f"{recording.name} {tp}", states, replayed.metadata[tp])


def _committed(where: str, recorded: Sequence[Timed], model: Sequence[Timed]) -> Iterator[Comparison]:
    """Compare both courses step by step, without those races of followers in which they differ. After a step that differs, the courses are
    compared from the next state that both have."""
    one, other = forget_times(recorded), forget_times(model)
    if one == other:
        yield from _steps(where, one, other, race=False)
    else:
        yield from _steps(where, without_races(recorded), without_races(model), race=True)


def _steps(where: str, recorded: Sequence[Hashable], model: Sequence[Hashable], *, race: bool) -> Iterator[Comparison]:
    for number, (one, other) in enumerate(aligned(recorded, model)):
        yield Comparison("committed states", f"{where} step {number}", one, other, race=race)


def _until(states: Sequence[Timed], seconds: float) -> list[Timed]:
    return [(time, state) for time, state in states if time <= seconds * SECOND]


def _point(
    where: str, recording: Recording, point: Point, model: ModelPoint, since: dict[TopicPartition, dict[int, int]]
) -> Iterator[Comparison]:
    view = attrs.evolve(model.view, partitions=tuple(_as_recorded(each, point, since[each.tp]) for each in model.view.partitions))
    partitions = {partition.tp: partition for partition in view.partitions}
    for tp, recorded in point.partitions.items():
        if tp not in partitions:
            yield Comparison("leader", f"{where} {tp}", recorded.leader, None)
            continue
        znode = point.znodes.get(tp)
        yield from _partition(f"{where} {tp}", recording, point, tp, partitions[tp])
        raced = partitions[tp].isr != model.view.partition(tp).isr
        yield Comparison("ISR in order", f"{where} {tp}", recorded.isr if znode is None else znode.isr, partitions[tp].isr, race=raced)
    for broker, replicas in point.disks.items():
        for tp in sorted(replicas.keys() | model.disks[broker].keys()):
            yield from _replica(f"{where} b{broker} {tp}", replicas.get(tp), model, broker, tp)
    for tp, offset in point.latest.items():
        yield Comparison("high watermark", f"{where} {tp}", offset, _of_leader(partitions.get(tp), "hw"))
    for tp, offset in point.earliest.items():
        yield Comparison("log start", f"{where} {tp}", offset, _of_leader(partitions.get(tp), "log_start"))
    if point.text is None:
        return
    topics = from_view(attrs.evolve(view, partitions=tuple(_as_told(each, point) for each in view.partitions)))
    release = recording.release
    live = frozenset(broker.id for broker in view.brokers if not broker.fenced)
    yield Comparison("describe text", where, by_topic(point.text), by_topic(render_describe(topics, release)))
    for name, text in point.filters.items():
        filtered = render_describe(topics, release, live_brokers=live, **{name.replace("-", "_"): True})
        yield Comparison("filtered describe text", f"{where} {name}", by_topic(text), by_topic(filtered))


def _as_recorded(partition: PartitionView, point: Point, since: dict[int, int]) -> PartitionView:
    """Return a partition with the recorded order of its ISR, if the model's order differs only by a race."""
    recorded = point.znodes.get(partition.tp) or point.partitions.get(partition.tp)
    if recorded is None or not same_order(recorded.isr, partition.isr, since):
        return partition
    return attrs.evolve(partition, isr=recorded.isr)


def _as_told(partition: PartitionView, point: Point) -> PartitionView:
    """Return a partition with the ISR in the metadata of the broker that was asked, if this ISR was older than the znode, and the model
    agrees with the znode. Up to 2.6, a leader announces its changes of an ISR only every few seconds."""
    znode, recorded = point.znodes.get(partition.tp), point.partitions.get(partition.tp)
    if znode is None or recorded is None or partition.isr != znode.isr or not _lists_isr(point, recorded.isr, partition.tp):
        return partition
    return attrs.evolve(partition, isr=recorded.isr)


def _lists_isr(point: Point, isr: tuple[int, ...], tp: TopicPartition) -> bool:
    """Return whether the text contains an ISR for a partition."""
    row = f"Topic: {tp.topic}\tPartition: {tp.partition}\t"
    listed = f"\tIsr: {','.join(map(str, isr))}"
    return any(row in line and f"{line}\t".find(f"{listed}\t") >= 0 for line in (point.text or "").splitlines())


def _partition(where: str, recording: Recording, point: Point, tp: TopicPartition, model: PartitionView) -> Iterator[Comparison]:
    """Compare a partition with its znode or, if the znode was not recorded, with the metadata that a broker returned."""
    recorded, znode = point.partitions[tp], point.znodes.get(tp)
    yield Comparison("leader", where, recorded.leader if znode is None else znode.leader, model.leader)
    if znode is not None:
        stopped = _stopped(recording, point, tp)
        epochs = range(model.leader_epoch, model.leader_epoch + stopped + 1)
        versions = range(model.partition_epoch, model.partition_epoch + 2 * stopped + 1, 2)
        yield Comparison("leader epoch", where, znode.epoch, epochs, race=znode.epoch != model.leader_epoch)
        yield Comparison("znode version", where, znode.version, versions, race=znode.version != model.partition_epoch)
    elif recorded.epoch != NO_EPOCH:
        yield Comparison("leader epoch", where, recorded.epoch, model.leader_epoch)
    if recording.lists_replicas_in_order:
        yield Comparison("replicas", where, recorded.replicas, model.replicas)
    elif recording.lists_dead_replicas:
        yield Comparison("replicas", where, set(recorded.replicas), set(model.replicas))
    yield Comparison("ISR", where, set(recorded.isr if znode is None else znode.isr), set(model.isr))
    if recording.release.elr_feature:
        yield Comparison("ELR", where, recorded.elr, model.elr)
        yield Comparison("LastKnownElr", where, recorded.last_known_elr, model.last_known_elr)


def _stopped(recording: Recording, point: Point, tp: TopicPartition) -> int:
    """Return how often a broker with a replica was stopped before a point, as long as leaders write their ISRs themselves.

    The controller removes the follower from the ISR while its fetcher is still being stopped. If one more fetch arrives in between, the
    leader adds the follower again. It is then removed once more: by the leader after replica.lag.time.max.ms, or by the controller, which
    raises the leader epoch. Which partitions this happens to is a race of milliseconds.
    """
    if not recording.release.leader_writes_isr:
        return 0
    known = [each.partitions[tp] for each in recording.points if each.after <= point.after and tp in each.partitions]
    replicas = {replica for partition in known for replica in partition.replicas}
    acts = recording.acts[: point.after + 1]
    return sum(act.op == "stop" and act.fields["broker"] in replicas for act in acts)


def _replica(where: str, recorded: RecordedReplica | None, model: ModelPoint, broker: int, tp: TopicPartition) -> Iterator[Comparison]:
    """Compare a log on a disk. A log that only one of the two has is one difference."""
    log = model.disks[broker].get(tp)
    if recorded is None or log is None:
        yield Comparison("log end offset", where, None if recorded is None else recorded.leo, None if log is None else log.leo)
        return
    yield Comparison("log end offset", where, recorded.leo, log.leo)
    if recorded.epochs is not None:
        yield Comparison("epoch entries", where, recorded.epochs, log.epochs)
    yield Comparison("checkpointed high watermark", where, recorded.checkpointed, model.checkpointed[broker].get(tp, range(1)))


def _of_leader(partition: PartitionView | None, what: str) -> int | None:
    leader = None if partition is None else next((copy for copy in partition.replica_views if copy.broker == partition.leader), None)
    return None if leader is None else getattr(leader, what)


def by_topic(text: str) -> list[str]:
    """Return the lines of a describe text with its topics sorted by name and without their IDs, which say nothing about Kafka's behavior."""
    lines = (re.sub(r"\tTopicId: [^\t]*", "", line) for line in text.splitlines())
    return sorted(lines, key=lambda line: line.strip().split("\t")[0].removeprefix("Topic: "))
