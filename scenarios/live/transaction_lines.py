"""The lines of `kafka-transactions list` and `describe` for a cluster that was read over the network (`TransactionsCommand`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from scenarios.describe.java_hash_table import hash_order, partition_hash
from scenarios.errors import InputError, did_you_mean
from scenarios.live.facts import LiveCluster, LiveProducer
from scenarios.tools.transactions import DESCRIBE_HEADER, LIST_HEADER, NONE, PRODUCERS_HEADER, table

OPEN_STATES: Final = ("Ongoing", "PrepareCommit", "PrepareAbort")
"""The states of a transaction that has begun and not ended (`TransactionState`)."""


def list_lines(live: LiveCluster) -> list[str]:
    """Return the lines that `kafka-transactions list` prints."""
    brokers = hash_order(live.brokers, lambda broker: broker)
    rows = [
        (each.transactional_id, each.coordinator, each.producer_id, each.state)
        for broker in brokers
        for each in live.transactions
        if each.coordinator == broker
    ]
    return table(LIST_HEADER, rows)


def describe_lines(live: LiveCluster, transactional_id: str, now_ms: int) -> list[str]:
    """Return the lines that `kafka-transactions describe` prints.

    Args:
        live: the cluster.
        transactional_id: the transactional ID to describe.
        now_ms: the time in ms since 1970, from which the duration of the transaction follows.

    Raises:
        InputError: no coordinator knows the ID.
    """
    found = next((each for each in live.transactions if each.transactional_id == transactional_id and each.described), None)
    if found is None:
        near = did_you_mean(transactional_id, sorted(each.transactional_id for each in live.transactions))
        raise InputError(
            f"Failed to describe transaction state of transactional-id `{transactional_id}`: the ID could not be found; {near}".rstrip("; ")
        )
    started = found.start_ms >= 0
    row = (
        found.coordinator,
        found.transactional_id,
        found.producer_id,
        found.producer_epoch,
        found.state,
        found.timeout_ms,
        found.start_ms if started else NONE,
        now_ms - found.start_ms if started else NONE,
        ",".join(map(str, hash_order(found.partitions, partition_hash))),
    )
    return table(DESCRIBE_HEADER, [row])


def producers_lines(producers: Iterable[LiveProducer]) -> list[str]:
    """Return the lines that `kafka-transactions describe-producers` prints."""
    rows = [
        (
            each.producer_id,
            each.producer_epoch,
            each.coordinator_epoch,
            each.last_sequence,
            each.last_timestamp_ms,
            NONE if each.open_from < 0 else each.open_from,
        )
        for each in producers
    ]
    return table(PRODUCERS_HEADER, rows)
