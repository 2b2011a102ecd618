"""Many partitions behind one response limit: a fetch session hands out in turn (`FetchSession`: what was sent data moves to the end)."""

from __future__ import annotations

from core.kafka.ids import TopicPartition
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND, US_PER_MS

PARTITIONS = 6
EACH = 400


def test_no_partition_starves_while_a_follower_catches_up() -> None:
    """Two partitions fit into an answer, six are to be fetched: none gets ahead of another by more than two turns."""
    spec = ClusterSpec(
        (BrokerSpec(1), BrokerSpec(2)),
        (TopicSpec("t", assignment=(PartitionSpec((1, 2)),) * PARTITIONS),),
        settings=(("replica.fetch.max.bytes", 1_000), ("replica.fetch.response.max.bytes", 2_000)),
    )
    run = Cluster(spec)
    run.do(acts.Kill(2))
    run.run_until(20 * SECOND)
    for number in range(PARTITIONS):
        run.do(acts.Produce("t", EACH, partition=number, acks="1", bytes=100))
    run.do(acts.Start(2))
    spread = 0
    while True:
        run.run_until(run.now + US_PER_MS)
        logs = run.brokers[2].disk.logs
        ends = [logs[TopicPartition("t", number)].leo for number in range(PARTITIONS)]
        spread = max(spread, max(ends) - min(ends))
        if min(ends) == EACH:
            break
        assert run.now < 60 * SECOND
    assert 0 < spread <= 20
