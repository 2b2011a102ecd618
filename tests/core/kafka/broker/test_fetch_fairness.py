"""Many partitions under one response size limit: a fetch session serves the partitions in turn (`FetchSession`: a partition whose data was
sent moves to the end).
"""

from __future__ import annotations

from core.kafka.ids import TopicPartition, broker_address
from core.kafka.messages import FetchPartition, FetchRequest, FetchResponse
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND, US_PER_MS
from tests.core.node_bench import BrokerBench

PARTITIONS = 6
EACH = 400


def test_no_partition_starves_while_a_follower_catches_up() -> None:
    """A response has room for two of six partitions. No partition gets ahead of another by more than two turns."""
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


def test_partitions_keep_their_order_and_those_with_records_move_to_the_end() -> None:
    """This also holds if a partition without records precedes the partition whose records complete the fetch (`IncrementalFetchContext`)."""
    bench = BrokerBench()
    tps = [TopicPartition("t", number) for number in range(4)]

    def fetched(*offsets: int) -> list[tuple[int, int, int]]:
        """Fetch from the given offsets, or from no partition if none are given. Return (partition, records, high watermark) in the order of
        the response.
        """
        asked = tuple(FetchPartition(tp, offset, 5, -1, 0) for tp, offset in zip(tps, offsets, strict=False))
        request = FetchRequest(0, 2, 0, bench.epochs[2], offsets == (0,) * 4, asked, (), 0 if not offsets else 10**6, 1, 10**7, 10**6, 0)
        bench.broker.handle(request, broker_address(2))
        parts = bench.one_sent(FetchResponse, broker_address(2)).parts()
        return [(part.tp.partition, sum(each.end - each.start for each in part.records), part.high_watermark) for part in parts]

    for tp in tps:
        bench.partition_is((1, 2), (1, 2), tp=tp)
        bench.produce(2, tp=tp)
    assert fetched(0, 0, 0, 0) == [(0, 2, 0), (1, 2, 0), (2, 2, 0), (3, 2, 0)]
    assert fetched(2, 1, 2, 1) == [(1, 1, 0), (3, 1, 0)]
    assert fetched() == [(0, 0, 2), (2, 0, 2), (1, 1, 1), (3, 1, 1)]
