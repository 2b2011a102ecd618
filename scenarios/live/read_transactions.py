"""Reads the transactional IDs that the coordinators know, and the producers of partitions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from core.kafka.ids import TopicPartition
from scenarios.live.facts import LiveProducer, LiveTransaction
from scenarios.live.network.cluster_client import ClusterClient
from scenarios.live.network.errors import Refused
from scenarios.live.network.messages import error_name
from scenarios.live.network.reading_apis import Api
from scenarios.live.unknowns import Unknowns

IDS_AT_ONCE: Final = 200
"""The most transactional IDs that are described in one request."""


def read_transactions(client: ClusterClient, unknown: Unknowns, alive: Iterable[int]) -> tuple[LiveTransaction, ...]:
    """Return the transactional IDs in the order in which the brokers list them."""
    if client.version(Api.LIST_TRANSACTIONS) is None:
        unknown.add("transactions", Api.LIST_TRANSACTIONS, "the release does not have this API")
        return ()
    found: list[LiveTransaction] = []
    for broker in alive:
        answer = unknown.ask("transactions", Api.LIST_TRANSACTIONS, {"state_filters": [], "producer_id_filters": []}, broker)
        listed = [
            LiveTransaction(str(each.transactional_id), broker, int(each.producer_id), str(each.transaction_state))
            for each in (() if answer is None else answer.transaction_states or ())
        ]
        described: dict[str, Any] = {}
        ids = [each.transactional_id for each in listed]
        for some in (ids[start : start + IDS_AT_ONCE] for start in range(0, len(ids), IDS_AT_ONCE)):
            more = unknown.ask("transactions", Api.DESCRIBE_TRANSACTIONS, {"transactional_ids": list(some)}, broker)
            for each in () if more is None else more.transaction_states or ():
                if not unknown.code("transaction", Api.DESCRIBE_TRANSACTIONS, each.error_code, str(each.transactional_id)):
                    described[str(each.transactional_id)] = each
        found += [_described(each, described.get(each.transactional_id)) for each in listed]
    return tuple(found)


def read_producers(client: ClusterClient, tp: TopicPartition, broker: int) -> list[LiveProducer]:
    """Return the producers of a partition in the order in which a broker lists them.

    Raises:
        BrokerError: the broker does not answer.
        Refused: the broker has no replica of the partition, or refuses the request.
    """
    topics = [{"name": tp.topic, "partition_indexes": [tp.partition]}]
    answer = client.ask(Api.DESCRIBE_PRODUCERS, {"topics": topics}, broker)
    for topic in answer.topics or ():
        for each in topic.partitions or ():
            if each.error_code:
                raise Refused(error_name(each.error_code))
            return [
                LiveProducer(
                    int(one.producer_id),
                    int(one.producer_epoch),
                    int(one.coordinator_epoch),
                    int(one.last_sequence),
                    int(one.last_timestamp),
                    int(one.current_txn_start_offset),
                )
                for one in each.active_producers or ()
            ]
    return []


def _described(listed: LiveTransaction, each: Any) -> LiveTransaction:
    if each is None:
        return listed
    return LiveTransaction(
        listed.transactional_id,
        listed.coordinator,
        int(each.producer_id),
        str(each.transaction_state),
        True,
        int(each.producer_epoch),
        int(each.transaction_timeout_ms),
        int(each.transaction_start_time_ms),
        tuple(TopicPartition(str(topic.topic), int(number)) for topic in each.topics or () for number in topic.partitions or ()),
    )
