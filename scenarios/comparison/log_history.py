"""Reads from an event log what a comparison needs: the leaders and ISRs of each partition, and which brokers were up, with their times."""

from __future__ import annotations

from typing import Final, NamedTuple

import attrs

from core.kafka.events import Acted, ClusterObserved, PartitionChanged, TopicDeleted
from core.kafka.ids import NO_EPOCH, TopicPartition
from core.lab.acts import Kill, Pause, PowerLoss, Resume, Shutdown, Start
from core.lab.recorded_acts import act_of
from core.sim.events import first_cause, kind_of, seq_of, time_of
from scenarios.errors import LogError
from scenarios.logs.log_reader import LogReader
from scenarios.logs.metadata_state import BROKER_EVENTS

BROKER_ACTS: Final = Kill | PowerLoss | Shutdown | Start | Pause | Resume
"""The acts that stop and start brokers."""


class Leadership(NamedTuple):
    """The leader of a partition, or -1, and its ISR in the order of IDs, because an ISR is a set."""

    leader: int
    isr: tuple[int, ...]


State = Leadership | bool | None
"""The state of a partition, or whether a broker is up (registered and not fenced); None if the partition does not exist."""


@attrs.frozen
class Change:
    """A change to a new state.

    Attributes:
        since, time: the change happened after `since` and not after `time`, in µs. In a simulated log, both are its time.
        state: the new state.
        epoch: the leader epoch that was the last one in this state; -1 if it is unknown.
        first: whether this is the state at the beginning, whose time says nothing.
    """

    since: int
    time: int
    state: State
    epoch: int = NO_EPOCH
    first: bool = False


Changes = list[Change]


class BrokerAct(NamedTuple):
    """An act that stops or starts a broker, such as `kill b2`, and its time in µs."""

    time: int
    what: str


@attrs.define
class LogHistory:
    """What a log tells about leaders, ISRs, and brokers.

    Attributes:
        source: the name of the log.
        release: the name of the release.
        resolution: the interval in µs at which a watched cluster was read; 0 if the log was simulated.
        observed: whether a running cluster was watched.
        end: the time in µs at which the log ends.
        brokers, partitions: the changes of each, in order. The first one is the state at the beginning.
        acts: the acts that stop and start brokers.
        unknown: the number of events of each unknown kind, and of events with each unknown column.
    """

    source: str
    release: str
    resolution: int
    observed: bool
    end: int = 0
    brokers: dict[int, Changes] = attrs.field(factory=dict)
    partitions: dict[TopicPartition, Changes] = attrs.field(factory=dict)
    acts: list[BrokerAct] = attrs.field(factory=list)
    unknown: dict[str, int] = attrs.field(factory=dict)


def read_history(reader: LogReader) -> LogHistory:
    """Read a log to its end.

    Raises:
        LogError: a line of the log is invalid.
    """
    observed = reader.header.observed
    history = LogHistory(reader.source, reader.release.name, 0 if observed is None else observed.every_us, observed is not None)
    brokers, partitions = history.brokers, history.partitions
    for broker in reader.spec.brokers:
        brokers[broker.id] = [Change(0, 0, broker.up, first=True)]
    reading, asked = 0, 0
    for event in reader:
        kind, time = kind_of(event), time_of(event)
        history.end = time
        since = asked if reading and first_cause(event) == reading else time
        if kind == PartitionChanged.kind:
            changed = PartitionChanged(event)
            tp = TopicPartition(changed.topic, changed.partition)
            state = Leadership(changed.leader, tuple(sorted(changed.isr)))
            _note(partitions.setdefault(tp, [Change(0, 0, None, first=True)]), Change(since, time, state, changed.leader_epoch))
        elif kind == ClusterObserved.kind:
            reading, asked = seq_of(event), ClusterObserved(event).since_us
        elif kind in BROKER_EVENTS:
            up, broker_of = BROKER_EVENTS[kind]
            _note(brokers[broker_of(event)], Change(since, time, up))
        elif kind == TopicDeleted.kind:
            deleted = TopicDeleted(event)
            for number in range(deleted.partitions):
                if there := partitions.get(TopicPartition(deleted.topic, number)):
                    _note(there, Change(since, time, None))
        elif kind == Acted.kind:
            try:
                act = act_of(event)
            except ValueError as wrong:
                raise LogError(reader.source, seq_of(event) + 1, str(wrong)) from None
            if isinstance(act, BROKER_ACTS):
                history.acts.append(BrokerAct(time, f"{act.word} b{act.broker}"))
    if reader.end is not None:
        history.end = reader.end.t
    history.unknown = dict(reader.unknown)
    return history


def _note(changes: Changes, change: Change) -> None:
    """Add a change, unless only the epoch is new."""
    last = changes[-1]
    if last.state == change.state:
        changes[-1] = attrs.evolve(last, epoch=change.epoch)
    else:
        changes.append(change)
