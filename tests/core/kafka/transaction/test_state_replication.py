"""A record that a coordinator appends while a follower's fetch is handled reaches that follower immediately (`DelayedFetch#tryComplete`)."""

from __future__ import annotations

import pytest

from core.kafka import events
from core.kafka.topic_spec import TopicSpec
from core.kafka.transaction.transaction_log import TRANSACTION_STATE_TOPIC
from core.kafka.transaction.transaction_messages import EndTxnRequest
from core.kafka.transaction.transaction_state import TransactionState
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec, NetworkSpec
from core.sim.units import SECOND, US_PER_MS
from tests.fidelity.transactions.raw_client import RawClient

PROMPT = 20 * US_PER_MS
"""Much less than the 500 ms that a fetch waits."""


@pytest.mark.parametrize("seed", range(3))
def test_states_written_by_a_callback_are_replicated_at_once(seed: int) -> None:
    """EndTxn of an ID without a transaction: CompleteAbort is appended in the callback of PrepareAbort, which a fetch made possible."""
    recorded: list[tuple] = []
    spec = ClusterSpec(
        tuple(BrokerSpec(broker) for broker in (1, 2, 3)),
        (TopicSpec("t", 1, 3),),
        settings=(("transaction.state.log.num.partitions", 1),),
        network=NetworkSpec(latency=300, jitter=100),
    )
    cluster = Cluster(spec, seed=seed, sink=recorded.append)
    cluster.run_until(10 * SECOND)
    cluster.do(acts.InitTransactions("t", "a", "p"))
    cluster.run_until(15 * SECOND)
    client = RawClient(cluster.network, cluster.journal)
    cluster.nodes[client.address] = client
    ((broker, metadata),) = [
        (each.id, found) for each in cluster.brokers.values() if (found := each.transactions.states.get("a")) is not None
    ]
    client.ask(broker, EndTxnRequest(1, "a", metadata.producer_id, metadata.producer_epoch, False, 2))
    cluster.run_until(20 * SECOND)
    assert metadata.state is TransactionState.COMPLETE_ABORT
    appended = [event for event in recorded if event[3] == events.Appended.kind and event[5] == TRANSACTION_STATE_TOPIC]
    assert len(appended) == 3
    for append in appended:
        copies = [
            event[1]
            for event in recorded
            if event[3] == events.FollowerAppended.kind and event[5] == TRANSACTION_STATE_TOPIC and event[8] == append[8]
        ]
        assert len(copies) == 2
        assert all(time - append[1] < PROMPT for time in copies)
