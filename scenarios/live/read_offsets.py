"""Reads the offsets of every replica, and the leader epochs of the leaders' logs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import attrs

from core.kafka.ids import TopicPartition
from scenarios.live.facts import LivePartition, LiveTopic
from scenarios.live.network.cluster_client import ClusterClient
from scenarios.live.network.errors import BrokerError, Refused
from scenarios.live.network.reading_apis import Api
from scenarios.live.unknowns import Unknowns

LATEST: Final = -1
"""The timestamp that stands for the end of a log in ListOffsets."""

EARLIEST: Final = -2
"""The timestamp that stands for the start of a log in ListOffsets."""

CONSUMER: Final = -1
"""The replica ID of a consumer, to which only the leader answers, with the high watermark as the end (`CONSUMER_REPLICA_ID`)."""

DEBUGGING: Final = -2
"""The replica ID of a tool, to which every replica answers, with its log end offset as the end (`DEBUGGING_REPLICA_ID`)."""

MOST_EPOCHS: Final = 20
"""The most leader epochs of a log that are read, from the current one back; one request for each."""

AT_ONCE: Final = 5_000
"""The most partitions in a request."""

_FENCED_CODES: Final = frozenset({3, 5, 6, 74, 75, 76, 78, 100})
"""The error codes for a leader that has just changed, or does not have the partition yet: the offset is unknown, and no fault."""


class _Asked(NamedTuple):
    what: str
    replica_id: int
    timestamp: int


def read_offsets(client: ClusterClient, unknown: Unknowns, topics: dict[str, LiveTopic], alive: Iterable[int]) -> dict[str, LiveTopic]:
    """Return the topics with the offsets that their brokers tell."""
    partitions = {
        TopicPartition(topic.name, number): partition for topic in topics.values() for number, partition in topic.partitions.items()
    }
    ends: dict[TopicPartition, dict[int, int]] = {}
    starts: dict[TopicPartition, dict[int, int]] = {}
    high_watermarks: dict[TopicPartition, int] = {}
    epochs: dict[TopicPartition, tuple[tuple[int, int], ...]] = {}
    for broker in alive:
        held = [tp for tp, each in partitions.items() if broker in each.replicas]
        led = [tp for tp in held if partitions[tp].leader == broker]
        high_watermarks |= _listed(client, unknown, broker, led, _Asked("high watermarks", CONSUMER, LATEST))
        for tp, offset in _listed(client, unknown, broker, held, _Asked("log end offsets", DEBUGGING, LATEST)).items():
            ends.setdefault(tp, {})[broker] = offset
        for tp, offset in _listed(client, unknown, broker, held, _Asked("log start offsets", DEBUGGING, EARLIEST)).items():
            starts.setdefault(tp, {})[broker] = offset
        epochs |= _epochs(
            client, unknown, broker, {tp: partitions[tp] for tp in led}, {tp: starts.get(tp, {}).get(broker, 0) for tp in led}
        )
    found = {
        tp: attrs.evolve(
            each,
            high_watermark=high_watermarks.get(tp),
            log_start=starts.get(tp, {}).get(each.leader),
            log_ends=ends.get(tp, {}),
            log_starts=starts.get(tp, {}),
            epochs=epochs.get(tp),
        )
        for tp, each in partitions.items()
    }
    return {
        topic.name: attrs.evolve(topic, partitions={number: found[TopicPartition(topic.name, number)] for number in topic.partitions})
        for topic in topics.values()
    }


def _in_parts(tps: Iterable[TopicPartition]) -> Iterable[list[TopicPartition]]:
    every = list(tps)
    return (every[start : start + AT_ONCE] for start in range(0, len(every), AT_ONCE))


def _by_topic(tps: Iterable[TopicPartition]) -> Mapping[str, list[int]]:
    found: dict[str, list[int]] = {}
    for tp in tps:
        found.setdefault(tp.topic, []).append(tp.partition)
    return found


def _listed(
    client: ClusterClient, unknown: Unknowns, broker: int, tps: Iterable[TopicPartition], asked: _Asked
) -> dict[TopicPartition, int]:
    """Return the offsets that a broker tells (ListOffsets)."""
    found = {}
    for some in _in_parts(tps):
        topics = [
            {"name": topic, "partitions": [{"partition_index": number, "timestamp": asked.timestamp} for number in numbers]}
            for topic, numbers in _by_topic(some).items()
        ]
        fields: dict[str, Any] = {"replica_id": asked.replica_id, "isolation_level": 0, "topics": topics, "timeout_ms": 10_000}
        try:
            answer = client.ask(Api.LIST_OFFSETS, fields, broker)
        except (BrokerError, Refused) as wrong:
            unknown.add(asked.what, Api.LIST_OFFSETS, str(wrong), f"broker {broker}")
            break
        for topic in answer.topics or ():
            for each in topic.partitions or ():
                tp = TopicPartition(str(topic.name), int(each.partition_index))
                if (
                    (
                        each.error_code in _FENCED_CODES
                        or not unknown.code(asked.what, Api.LIST_OFFSETS, each.error_code, f"{tp} on broker {broker}")
                    )
                    and not each.error_code
                    and each.offset >= 0
                ):
                    found[tp] = int(each.offset)
    return found


def _epochs(
    client: ClusterClient, unknown: Unknowns, broker: int, led: Mapping[TopicPartition, LivePartition], starts: Mapping[TopicPartition, int]
) -> dict[TopicPartition, tuple[tuple[int, int], ...]]:
    """Return the leader epochs of leaders' logs with their start offsets, as in leader-epoch-checkpoint.

    A leader answers OffsetForLeaderEpoch with the largest epoch up to the one asked for, and with the offset at which it ends. That offset is
    where the next epoch starts, so that the epochs are found from the last to the first.
    """
    found: dict[TopicPartition, list[tuple[int, int]]] = {}
    above: dict[TopicPartition, int] = {}
    asking = {tp: each.leader_epoch for tp, each in led.items() if each.leader_epoch is not None}
    for _ in range(MOST_EPOCHS):
        following: dict[TopicPartition, int] = {}
        for some in _in_parts(asking):
            topics = [
                {
                    "topic": topic,
                    "partitions": [{"partition": number, "leader_epoch": asking[TopicPartition(topic, number)]} for number in numbers],
                }
                for topic, numbers in _by_topic(some).items()
            ]
            try:
                answer = client.ask(Api.OFFSET_FOR_LEADER_EPOCH, {"replica_id": CONSUMER, "topics": topics}, broker)
            except (BrokerError, Refused) as wrong:
                unknown.add("leader epochs of records", Api.OFFSET_FOR_LEADER_EPOCH, str(wrong), f"broker {broker}")
                return {}
            for topic in answer.topics or ():
                for each in topic.partitions or ():
                    tp = TopicPartition(str(topic.topic), int(each.partition))
                    if tp not in asking or (each.error_code in _FENCED_CODES):
                        continue
                    if unknown.code("leader epochs of records", Api.OFFSET_FOR_LEADER_EPOCH, each.error_code, str(tp)):
                        continue
                    epoch, end = int(each.leader_epoch), int(each.end_offset)
                    entries = found.setdefault(tp, [])
                    if tp in above and end >= 0:
                        entries.append((above[tp], end))
                    if epoch < 0 or end < 0:
                        if tp in above:
                            entries.append((above.pop(tp), starts[tp]))
                        continue
                    above[tp] = epoch
                    if epoch > 0 and end > starts[tp]:
                        following[tp] = epoch - 1
                    else:
                        entries.append((above.pop(tp), starts[tp]))
        asking = following
        if not asking:
            break
    for tp, epoch in above.items():
        found[tp].append((epoch, starts[tp]))
    return {tp: _clean(entries) for tp, entries in found.items()}


def _clean(entries: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return entries in ascending order. An epoch without records is left out, unless it is the last one, as Kafka does.

    A leader that is asked for an epoch below its oldest one answers with the epoch that it was asked for, which has no records.
    """
    kept: list[tuple[int, int]] = []
    for epoch, start in sorted(entries):
        while kept and kept[-1][1] >= start:
            kept.pop()
        kept.append((epoch, start))
    return tuple(kept)
