"""Observations of the model as a client, a tool, or a dump would make them, in the form of the recordings."""

from __future__ import annotations

from typing import Any

from core.kafka.events import BatchCompleted
from core.kafka.ids import NO_LEADER, NO_OFFSET, TopicPartition
from core.kafka.log.cleaner.cleaner import held_batches
from core.kafka.log.producer_state import EXPIRATION_CHECK_SETTING
from core.kafka.transaction.transaction_log import partition_for
from core.kafka.transaction.transaction_metadata import TransactionTransit
from core.sim.units import US_PER_MS
from tests.fidelity.transactions.player import STATE_PARTITIONS, Player
from tests.fidelity.transactions.reading import read_all
from tests.fidelity.transactions.recording import STATE_TOPIC


def offsets(player: Player, name: str) -> dict[str, int] | None:
    """Return the high watermark, last stable offset, and log start of a partition, or None without a leader."""
    if player.cluster.partition_view(player.partition(name)).leader == NO_LEADER:
        return None
    log = player.leader_log(name)
    return {"hw": log.high_watermark, "lso": log.last_stable_offset(), "start": log.log_start}


def producers(player: Player, name: str) -> list[dict[str, Any]]:
    """Return the producers of a partition as DescribeProducers shows them."""
    cluster, log = player.cluster, player.leader_log(name)
    settings, state = cluster.settings, log.producer_state()
    expiration, check = settings.us(cluster.release.producer_expiration_setting), settings.us(EXPIRATION_CHECK_SETTING)
    return [
        {
            "pid": each.producer_id,
            "epoch": each.producer_epoch,
            "ce": each.coordinator_epoch,
            "lastSeq": each.last_sequence,
            "openFrom": None if each.open_from == NO_OFFSET else each.open_from,
        }
        for each in (() if state is None else state.active_producers(cluster.now, expiration, check))
    ]


def described(player: Player, transactional_id: str) -> dict[str, Any] | None:
    """Return the coordinator's state of an ID, or None if no broker knows the ID."""
    for each in player.cluster.transaction_report().transactions:
        if each.transactional_id == transactional_id:
            return {
                "pid": each.producer_id,
                "epoch": each.producer_epoch,
                "state": each.state,
                "timeout": each.timeout_us // US_PER_MS,
                "parts": {player.recorded_name(tp) for tp in each.partitions},
            }
    return None


def state_records(player: Player, transactional_id: str) -> list[dict[str, Any] | None]:
    """Return the records of an ID in `__transaction_state`, in order. None is a tombstone."""
    tp = TopicPartition(STATE_TOPIC, partition_for(transactional_id, STATE_PARTITIONS))
    leader = player.cluster.partition_view(tp).leader
    found: list[dict[str, Any] | None] = []
    for key, value in player.cluster.brokers[leader].replicas.contents(tp):
        if key == transactional_id:
            found.append(_state_record(player, value) if isinstance(value, TransactionTransit) else None)
    return found


def _state_record(player: Player, value: TransactionTransit) -> dict[str, Any]:
    return {
        "pid": value.producer_id,
        "epoch": value.producer_epoch,
        "state": value.state.value,
        "parts": {player.recorded_name(tp) for tp in value.partitions},
        "timeout": value.timeout_us // US_PER_MS,
    }


def log_records(player: Player, name: str, broker: int) -> list[tuple[Any, ...]]:
    """Return the records of a replica: offset, leader epoch, producer ID and epoch, sequence, whether transactional, and the marker."""
    log = player.cluster.brokers[broker].disk.logs[player.partition(name)]
    found: list[tuple[Any, ...]] = []
    for run in log.records.runs_from(0, log.leo):  # a dump also shows what is below the log start
        for batch in run.term.batches_within(run.start, run.end):
            for place in range(batch.records):
                sequence = -1 if batch.first_sequence < 0 else batch.first_sequence + place
                marker = None if batch.marker is None else batch.marker.name
                found.append(
                    (batch.base + place, run.term.epoch, batch.producer_id, batch.producer_epoch, sequence, batch.transactional, marker)
                )
    return found


def transaction_index(player: Player, name: str, broker: int) -> list[tuple[int, int, int, int]]:
    """Return the aborted transactions of a replica: producer ID, first and last offset, last stable offset."""
    state = player.cluster.brokers[broker].disk.logs[player.partition(name)].producer_state()
    return [] if state is None else [tuple(each) for each in state.aborted]


def read(player: Player, isolation: str) -> dict[str, tuple[list[int], int]]:
    """Return the records that a new consumer reads from the beginning, and its final position, by recorded partition."""
    return read_all(player.cluster, {name: player.partition(name) for name in player.recording.partitions}, isolation)


def segments(player: Player, name: str, broker: int) -> dict[int, list[tuple[int, bool]]]:
    """Return the base offset of each batch of a replica, and whether it carries a delete horizon, by the base offset of its segment."""
    log = player.cluster.brokers[broker].disk.logs[player.partition(name)]
    bases, _ = log.known_segments()
    found: dict[int, list[tuple[int, bool]]] = {base: [] for base in bases}
    for _, each in held_batches(log, 0, log.leo):
        found[max(base for base in bases if base <= each.batch.base)].append((each.batch.base, each.horizon >= 0))
    return found


def completed_batches(player: Player, name: str) -> list[tuple[int, int, int]]:
    """Return the first offset, the number of records, and the size in bytes of each batch that producers have collected for a partition."""
    tp, end, found = player.partition(name), 0, []
    for event in player.events:
        if event[3] == BatchCompleted.kind and TopicPartition(event[5], event[6]) == tp:
            found.append((end, event[7], event[8]))
            end += event[7]
    return found
