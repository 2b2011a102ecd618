"""Acts on the transactions of producers."""

from __future__ import annotations

from typing import Final

from core.kafka.broker.broker_state import BrokerState
from core.kafka.clients.client_settings import PRODUCER
from core.kafka.clients.producer.producer import Producer
from core.kafka.clients.producer.producer_transaction_state import ABORT, BEGIN, COMMIT, INIT
from core.kafka.clients.producer.transaction_manager import TransactionManager
from core.kafka.log.control_record import ABORT as ABORT_MARKER
from core.kafka.log.control_record import EndTransactionMarker
from core.kafka.transaction.transaction_messages import TxnMarkerEntry, WriteTxnMarkersRequest
from core.lab import acts
from core.lab.act_handlers import find
from core.lab.act_handlers.clients import check_client, config_of, existing_producer, producer_named
from core.lab.act_handlers.internal_topics import check_transaction_state_topic
from core.lab.cluster_nodes import ClusterNodes
from core.sim.errors import ActRefused


def _init_transactions(cluster: ClusterNodes, act: acts.InitTransactions) -> find.CheckThenDo:
    release = cluster.release
    if not release.transactions:
        raise ActRefused(f"release {release.name} has no transactions; use 0.11 or later (KIP-98)")
    check_client(cluster, act.producer, act.topic, Producer, "producer")
    if not act.transactional_id:
        raise ActRefused("the transactional.id must not be empty")
    config = config_of(cluster, PRODUCER, act.config, transactional=True)
    known = cluster.clients.producer(act.producer)
    if known is not None:
        if known.transactions is None or known.transactions.transactional_id != act.transactional_id:
            raise ActRefused(
                f"producer {act.producer} already exists without transactional.id {act.transactional_id}; give the transactional producer another name"
            )
        if refusal := known.transactions.refusal(INIT):
            raise ActRefused(refusal)
        if act.config and config != known.config:
            raise ActRefused(f"producer {act.producer} already exists with other settings; give the new producer another name")
    check_transaction_state_topic(cluster)
    yield
    if known is None:
        known = producer_named(cluster, act.producer, act.topic, config, transactional_id=act.transactional_id)
        known.refresh_metadata()
    assert known.transactions is not None
    known.transactions.init()


def _transactions(cluster: ClusterNodes, name: str, call: str) -> TransactionManager:
    """Return a producer's transaction manager if the application can make the given call now.

    Raises:
        ActRefused: there is no such producer, it has no transactional.id, or the call is impossible now.
    """
    producer = existing_producer(cluster, name)
    if producer.transactions is None:
        raise ActRefused(f"producer {name} has no transactional.id; start another producer with init-transactions")
    if refusal := producer.transactions.refusal(call):
        raise ActRefused(refusal)
    return producer.transactions


def _begin(cluster: ClusterNodes, act: acts.BeginTransaction) -> find.CheckThenDo:
    transactions = _transactions(cluster, act.producer, BEGIN)
    yield
    transactions.begin()


def _commit(cluster: ClusterNodes, act: acts.CommitTransaction) -> find.CheckThenDo:
    transactions = _transactions(cluster, act.producer, COMMIT)
    yield
    transactions.commit()


def _abort(cluster: ClusterNodes, act: acts.AbortTransaction) -> find.CheckThenDo:
    transactions = _transactions(cluster, act.producer, ABORT)
    yield
    transactions.abort()


def _abort_hanging(cluster: ClusterNodes, act: acts.AbortHanging) -> find.CheckThenDo:
    """Write an ABORT marker to the leader of a partition (`TransactionsCommand.AbortTransactionCommand`)."""
    if act.partition not in cluster.controller.registry.partitions:
        raise ActRefused(f"there is no partition {act.partition}")
    leader = cluster.brokers.get(cluster.controller.registry.partitions[act.partition].leader)
    partition = None if leader is None or leader.context.state is BrokerState.STOPPED else leader.partitions.get(act.partition)
    if leader is None or partition is None or not partition.is_leader:
        raise ActRefused(f"{act.partition} currently has no leader")
    producers = partition.log.producer_state()
    producer_id = None if producers is None else producers.ongoing.get(act.start_offset)
    if producers is None or producer_id is None:
        raise ActRefused(
            f"Could not find any open transactions starting at offset {act.start_offset} on partition {act.partition}; `isrlab transactions "
            "find-hanging` lists the open transactions"
        )
    entry = producers.entries[producer_id]
    yield
    marker = EndTransactionMarker(ABORT_MARKER, max(entry.coordinator_epoch, 0))
    markers = TxnMarkerEntry("", producer_id, entry.epoch, marker, (act.partition,), 0)
    leader.send(leader.address, WriteTxnMarkersRequest(-1, (markers,)))  # the tool is not a node; its request takes as long as any other


HANDLERS: Final[find.Handlers] = {
    acts.InitTransactions: _init_transactions,
    acts.BeginTransaction: _begin,
    acts.CommitTransaction: _commit,
    acts.AbortTransaction: _abort,
    acts.AbortHanging: _abort_hanging,
}
