"""Makes a cluster specification from the log of a watched cluster: the cluster as it stood at one moment of the watch.

The events of the log say which topics and brokers there were, and the state of every partition. The header says what the watch read once, when it began:
racks, settings, controllers, and offsets. What was not read since is told in notes.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import attrs

from core.kafka.ids import TopicPartition, broker_at
from core.kafka.release import Release
from core.kafka.topic_spec import PartitionSpec
from core.lab.spec import ClusterSpec
from core.sim.units import format_duration
from scenarios.describe.described import DescribedPartition, DescribedTopic, DescribeImport
from scenarios.errors import InputError
from scenarios.live.facts import LivePartition, LiveTopic
from scenarios.live.imported import down_note, with_logs
from scenarios.logs.log_header import Observation
from scenarios.logs.log_reader import LogReader
from scenarios.logs.metadata_state import MetadataState, read_metadata_state
from scenarios.running.imported_cluster import ImportedCluster, imported_scenario

_NAMED: Final = 8


def import_watched(source: str, at: int | None, release: Release | None = None) -> ImportedCluster:
    """Return a copy of a watched cluster as it was at one moment.

    Args:
        source: the path of the log.
        at: the moment, in µs since the watch began; None for the end of the log.
        release: the release under which the copy runs; None for that of the cluster.

    Raises:
        InputError: the log cannot be read or is not of a watched cluster, the moment is outside of it, or no cluster can be in its state.
    """
    reader = LogReader(source)
    seen = reader.header.observed
    if seen is None:
        reader.close()
        raise InputError(
            f"{source}: this log is of a simulated session, not of a watched cluster; 'isrlab play LOG --at TIME' opens a session at a moment"
        )
    state, moment = _state_at(reader, at)
    spec = reader.spec
    brokers = tuple(attrs.evolve(broker, up=broker.id in state.live_brokers) for broker in spec.brokers)
    began_as = {(topic.name, topic.topic_id): topic.assignment for topic in spec.topics}
    sources = tuple(_source(topic, began_as.get((topic.name, topic.topic_id), ()), state) for topic in state.topics)
    active = broker_at(spec.controller)

    def complete(described: ClusterSpec) -> ClusterSpec:
        """Add what the watch read when it began."""
        gone = active is not None and active not in state.live_brokers
        found = attrs.evolve(spec, brokers=brokers, topics=described.topics, groups=(), controller="" if gone else spec.controller)
        return with_logs(found, sources)[0]

    imported = imported_scenario(
        DescribeImport(state.topics, (), source), None, release or reader.release, brokers=brokers, complete=complete
    )
    about = _about(seen, moment, source)
    problem = reader.problem()
    down = [broker.id for broker in brokers if not broker.up]
    notes = (about, *([problem] if problem else []), *([down_note(down)] if down else []), *imported.notes, *_unknown(began_as, sources))
    return ImportedCluster(attrs.evolve(imported.scenario, about=about), notes)


def _state_at(reader: LogReader, at: int | None) -> tuple[MetadataState, int]:
    """Return the state at a moment that is inside the log, and the moment.

    Raises:
        InputError: the moment is outside of the log.
    """
    state = read_metadata_state(reader, at)
    if at is not None and at > state.end:
        raise InputError(f"{reader.source}: {format_duration(at)} is past the end of this log, which is {format_duration(state.end)} long")
    return state, state.end if at is None else at


def _about(seen: Observation, moment: int, source: str) -> str:
    """Say which moment of which watch it is. The time at which the watch began is text of the log, and need not be a time."""
    clock = ""
    try:
        began = datetime.strptime(seen.began, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
        clock = f" ({began + timedelta(microseconds=moment):%Y-%m-%dT%H:%M:%SZ})"
    except (ValueError, OverflowError):
        pass
    return (
        f"The cluster {seen.servers} as it was seen {format_duration(moment)} after the watch began{clock}, from {os.path.basename(source)}. "
        f"It was read every {format_duration(seen.every_us)}."
    )


# --- offsets ---------------------------------------------------------------------------------------------------------


def _source(topic: DescribedTopic, before: tuple[PartitionSpec, ...], state: MetadataState) -> LiveTopic:
    """Return a topic with its leader epochs, and with the offsets of the partitions that it had when the watch began."""
    partitions = {}
    for row in topic.rows:
        epoch = state.leader_epochs.get(TopicPartition(topic.name, row.partition), -1)
        each = LivePartition(row.leader, None if epoch < 0 else epoch, row.replicas, row.isr, row.elr, row.last_known_elr)
        old = before[row.partition] if row.partition < len(before) else None
        partitions[row.partition] = each if old is None or not old.logs else _with_offsets(each, row, old)
    return LiveTopic(topic.name, topic.topic_id, partitions)


def _with_offsets(each: LivePartition, row: DescribedPartition, old: PartitionSpec) -> LivePartition:
    """Return a partition with the records that were committed when the watch began.

    A replica that was behind then, and is outside the ISR, keeps its log end. All other log ends have changed since, and are left unknown.
    """
    committed = max(log.hw for log in old.logs)
    leader = next((log for log in old.logs if log.broker == old.leader), max(old.logs, key=lambda log: log.leo))
    in_sync = {*row.isr, *(row.elr or ())}
    ends = {log.broker: log.leo for log in old.logs}
    behind = {broker: end for broker in old.replicas if broker not in in_sync and (end := ends.get(broker, 0)) < committed}
    starts = {log.broker: log.log_start for log in old.logs}
    return attrs.evolve(
        each, high_watermark=committed, log_start=leader.log_start, log_ends=behind, log_starts=starts, epochs=leader.epochs
    )


# --- notes -----------------------------------------------------------------------------------------------------------


def _unknown(began_as: Container[tuple[str, str]], topics: Sequence[LiveTopic]) -> Iterable[str]:
    """Say what the watch did not read, and what the copy has instead."""
    yield (
        "unknown: offsets since the watch began; each log has the records that were committed then, and a replica outside the ISR and the ELR has at "
        "least one fewer"
    )
    yield "unknown: settings and the active controller since the watch began; the copy has those of that time"
    yield "unknown: groups, transactions, and clients; the copy has none"
    new = [topic.name for topic in topics if (topic.name, topic.topic_id) not in began_as]
    if new:
        yield f"unknown: settings and records of topics that the log's header does not have; the copy has none: {_some(new)}"
    silent = [f"{topic.name}-{n}" for topic in topics for n, each in topic.partitions.items() if each.leader_epoch is None]
    if silent:
        yield f"unknown: the leader epoch, which the brokers do not tell; it starts at 0: {_some(silent)}"


def _some(names: list[str]) -> str:
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
