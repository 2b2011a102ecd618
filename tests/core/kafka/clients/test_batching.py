"""Producers that collect records in batches: sizes, linger.ms, the memory, and the choice of partitions."""

from __future__ import annotations

from collections import Counter

import pytest

from core.kafka.clients.accumulator.batching import Batching, record_size_in
from core.kafka.clients.accumulator.buffered_batch import BufferedBatch
from core.kafka.clients.accumulator.partitioners import BuiltInPartitioner, RoundRobinPartitioner, StickyPartitioner
from core.kafka.clients.client_config import client_config
from core.kafka.clients.client_settings import PRODUCER
from core.kafka.events import EventTuple
from core.kafka.ids import NO_LEADER, TopicPartition
from core.kafka.log.wire.record_format import RecordShape, batch_size
from core.kafka.release import Release
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.errors import ActRefused
from core.sim.random_stream import RandomStream
from core.sim.state.snapshot import Snapshots
from core.sim.units import SECOND

TP = TopicPartition("orders", 0)
HUNDRED = RecordShape(value=100)
LEADERS = [(1, 0), (2, 0), (3, 0)]


def filled(buffer: int, shape: RecordShape, ratio: float = 1.0) -> BufferedBatch:
    """Return a batch to which records of a given shape were appended until one did not fit."""
    batch = BufferedBatch(1, TP, -1, 0, 0, buffer, ratio)
    while batch.has_room_for(size := record_size_in(batch, shape, 0)):
        batch.append(size, shape.value or 0, 0)
    return batch


def test_148_records_of_100_bytes_fill_a_batch_of_16384_bytes() -> None:
    batch = filled(16_384, HUNDRED)
    assert batch.count == 148
    assert batch.estimated_size == batch_size(148, HUNDRED) == 16_277
    assert not batch.full, "another record could be smaller"
    assert batch.close(1) == 16_277
    assert batch.full


def test_the_first_record_always_fits() -> None:
    batch = filled(100, RecordShape(value=5_000))
    assert batch.count == 1
    assert batch.full


def test_a_producer_that_expects_compression_puts_more_records_into_a_batch() -> None:
    batch = filled(16_384, HUNDRED, 0.5)
    assert batch.count > 2 * 148 - 20
    assert batch.close(0.5) < 16_384


def test_the_expected_ratio_follows_the_observed_one() -> None:
    batching = Batching(0, 1_000, 10_000, 0.4)
    for _ in range(2):
        batching.sent(filled(1_000, HUNDRED), 0)
    assert batching.estimated_ratio == pytest.approx(0.99)
    batching.estimated_ratio = 0.1
    batching.sent(filled(1_000, HUNDRED), 0)
    assert batching.estimated_ratio == pytest.approx(0.4), "it gets worse at once"


def test_memory_is_taken_by_batches_and_given_back() -> None:
    batching = Batching(0, 1_000, 2_500, 1)
    assert [batching.allocate(HUNDRED) for _ in range(3)] == [1_000, 1_000, 0]
    batching.release(BufferedBatch(1, TP, -1, 0, 0, 1_000, 1))
    assert batching.allocate(RecordShape(value=2_000)) == 0
    assert batching.available == 1_500


def test_round_robin_leaves_out_partitions_without_leader() -> None:
    partitioner = RoundRobinPartitioner()
    assert [partitioner.partition([(1, 0), (NO_LEADER, 0), (3, 0)], [0, 0, 0]) for _ in range(4)] == [0, 2, 0, 2]
    assert [partitioner.partition(LEADERS, [0, 0, 0]) for _ in range(4)] == [1, 2, 0, 1]


def test_a_sticky_partitioner_changes_with_each_new_batch() -> None:
    partitioner = StickyPartitioner(RandomStream("sticky"))
    for _ in range(50):
        before = partitioner.partition(LEADERS, [0, 0, 0])
        assert partitioner.partition(LEADERS, [0, 0, 0]) == before
        assert partitioner.batch_needed()
        assert partitioner.partition(LEADERS, [0, 0, 0]) != before


def test_the_built_in_partitioner_changes_after_a_full_batch_or_two_batch_sizes() -> None:
    """KIP-794: not before batch.size bytes; then as soon as the batch is full or sent; at the latest after twice that size."""
    partitioner = BuiltInPartitioner(RandomStream("built-in"), 1_000, adapts=True)
    for full, switch_at in ((True, 1_000), (False, 2_000)):
        before, produced = partitioner.partition(LEADERS, [1, 1, 1]), 0
        while True:
            partitioner.appended(100, full=full)
            produced += 100
            if partitioner._produced >= switch_at:
                break
            assert partitioner.partition(LEADERS, [1, 1, 1]) == before
        partitioner.partition(LEADERS, [1, 1, 1])
        assert partitioner._produced == 0
        assert produced == switch_at


def test_the_built_in_partitioner_prefers_short_queues() -> None:
    partitioner, chosen = BuiltInPartitioner(RandomStream("built-in"), 1, adapts=True), Counter[int]()
    for _ in range(800):
        chosen[partitioner.partition(LEADERS, [0, 3, 1])] += 1
        partitioner.appended(1, full=True)
    assert chosen[0] == pytest.approx(400, abs=60)
    assert chosen[1] == pytest.approx(100, abs=40)
    assert chosen[2] == pytest.approx(300, abs=60)


# --- in a cluster ----------------------------------------------------------------------------------------------------


def cluster(release: str, events: list[EventTuple] | None = None) -> Cluster:
    spec = ClusterSpec(brokers=tuple(BrokerSpec(i) for i in (1, 2, 3)), topics=(TopicSpec("orders", partitions=3, replication_factor=3),))
    return Cluster(spec, Release.named(release), 0, None if events is None else events.append)


def completed(events: list[EventTuple]) -> list[EventTuple]:
    return [event for event in events if event[3] == "batch-completed"]


def test_a_broker_that_gets_one_batch_gets_the_others_too() -> None:
    """Kafka drains all partitions of a ready node (`RecordAccumulator#drainBatchesForOneNode`)."""
    events: list[EventTuple] = []
    made = cluster("2.1", events)
    for broker in (2, 3):
        made.do(acts.Kill(broker))
    made.run_until(30 * SECOND)
    made.do(acts.Produce("orders", 5, acks="1", config=(("linger.ms", "100"),)))
    made.run_until(31 * SECOND)
    assert len({event[1] for event in completed(events)}) == 1
    assert sorted(event[7] for event in completed(events)) == [1, 2, 2]


def test_the_batch_that_has_waited_for_linger_takes_the_younger_ones_with_it() -> None:
    events: list[EventTuple] = []
    made = cluster("4.3", events)
    for broker in (2, 3):
        made.do(acts.Kill(broker))
    made.run_until(30 * SECOND)
    for partition in (0, 1):
        made.do(acts.Produce("orders", 1, partition, acks="1", config=(("linger.ms", "100"),) if partition == 0 else ()))
        made.run_until(made.now + 50_000)
    made.run_until(31 * SECOND)
    (first, waited), (second, younger) = [(event[6], event[9]) for event in completed(events)]
    assert (first, second, waited) == (0, 1, 100_000)
    assert younger < 60_000


@pytest.mark.parametrize(("release", "batches"), [("2.1", 3), ("2.4", 1), ("4.3", 1)])
def test_records_of_one_call_stick_to_one_partition_since_2_4(release: str, batches: int) -> None:
    events: list[EventTuple] = []
    made = cluster(release, events)
    made.do(acts.Produce("orders", 90, config=(("linger.ms", "20"),)))
    made.run_until(SECOND)
    assert len(completed(events)) == batches
    assert sum(event[7] for event in completed(events)) == 90


@pytest.mark.parametrize("release", ["2.1", "2.8", "4.1"])
def test_a_session_whose_partitioner_has_chosen_no_partition_can_be_copied(release: str) -> None:
    run = cluster(release)
    run.do(acts.Produce("orders", 3, partition=0, config=(("linger.ms", "5"),)))
    run.run_until(run.now + SECOND)
    copy = Snapshots().take(run).copy()
    for each in (run, copy):
        each.do(acts.Produce("orders", 1))
        each.run_until(each.now + SECOND)
    assert copy.view() == run.view()
    assert sum(log.leo for log in copy.account.leader_logs().values()) == 4


def test_keys_decide_the_partition() -> None:
    made = cluster("4.3")
    made.do(acts.Produce("orders", 30, keys="a,b,c", config=(("batch.size", "200"),)))
    made.run_until(SECOND)
    plain = cluster("4.3")
    plain.do(acts.Produce("orders", 30, keys="a,b,c"))
    plain.run_until(SECOND)
    assert [p.committed for p in made.view().partitions] == [p.committed for p in plain.view().partitions]


def test_the_end_of_a_transaction_does_not_wait_for_linger() -> None:
    made = cluster("4.3")
    made.do(acts.InitTransactions("orders", "app", config=(("linger.ms", "10000"),)))
    made.run_until(2 * SECOND)
    made.do(acts.BeginTransaction())
    made.do(acts.Produce("orders", 10))
    made.run_until(3 * SECOND)
    assert made.view().producers[0].acked == 0
    made.do(acts.CommitTransaction())
    made.run_until(4 * SECOND)
    assert made.view().producers[0].acked == 10


@pytest.mark.parametrize("transactional", [False, True])
def test_a_full_memory_does_not_wait_for_linger(transactional: bool) -> None:
    """Kafka sends all batches while the buffer pool has waiters (`RecordAccumulator#batchReady`)."""
    made = cluster("4.3")
    config = (("linger.ms", "20000"), ("batch.size", "1000"), ("buffer.memory", "2000"))
    if transactional:
        made.do(acts.InitTransactions("orders", "app", config=config))
        made.run_until(2 * SECOND)
        made.do(acts.BeginTransaction())
    made.do(acts.Produce("orders", 1, config=() if transactional else config))
    made.run_until(30 * SECOND)  # the producer knows the leaders, and linger.ms has passed
    assert made.view().producers[0].acked == 1
    made.do(acts.Produce("orders", 12, keys="6"))  # the keys belong to three partitions, and the memory holds two batches
    made.run_until(33 * SECOND)
    producer = made.view().producers[0]
    assert producer.batching is not None
    assert producer.batching.waiting == 0
    assert producer.acked > 1


def test_memory_is_whole_again_when_all_is_answered() -> None:
    made = cluster("4.3")
    made.do(
        acts.Load(
            "orders",
            500,
            every=2_000,
            idempotence=False,
            config=(("batch.size", "500"), ("buffer.memory", "5000"), ("delivery.timeout.ms", "3000"), ("request.timeout.ms", "1000")),
        )
    )
    made.run_until(SECOND)
    made.do(acts.Isolate("b1"))
    made.run_until(20 * SECOND)
    made.do(acts.Heal())
    made.do(acts.StopLoad())
    made.run_until(40 * SECOND)
    producer = made.view().producers[0]
    assert producer.batching is not None
    assert producer.failed > 0
    assert producer.sent == producer.acked + producer.failed
    assert (producer.batching.available, producer.batching.waiting) == (5_000, 0)
    assert 0 < producer.batching.queue_time_us < producer.batching.record_latency_us < 3 * SECOND


def test_compression_needs_batching() -> None:
    with pytest.raises(ActRefused, match=r"add linger\.ms or batch\.size"):
        cluster("4.3").do(acts.Produce("orders", 1, compression=50))
    with pytest.raises(ActRefused, match="from 1 to 100 percent"):
        cluster("4.3").do(acts.Load("orders", 1, compression=0, config=(("linger.ms", "1"),)))


def test_linger_counts_for_the_delivery_timeout() -> None:
    with pytest.raises(ValueError, match=r"linger\.ms \+ request\.timeout\.ms"):
        client_config(PRODUCER, (("linger.ms", "1000"), ("delivery.timeout.ms", "30000")), Release.named("4.3"))
    assert client_config(PRODUCER, (("batch.size", "1"),), Release.named("4.3")).linger == 5_000
    assert client_config(PRODUCER, (("batch.size", "1"),), Release.named("3.9")).linger == 0
    assert not client_config(PRODUCER, (), Release.named("4.3")).batches


def test_a_send_that_timed_out_does_not_block_later_ones() -> None:
    """`KafkaProducer#waitOnMetadata` throws a TimeoutException after max.block.ms; the next call to send() is independent of that."""
    made = cluster("4.3")
    for broker in (1, 2, 3):
        made.do(acts.Kill(broker))
    made.do(acts.Produce("orders", 1, config=(("linger.ms", "10"), ("max.block.ms", "5000"))))
    made.run_until(10 * SECOND)
    assert made.view().producers[0].failed == 1
    made.do(acts.Produce("orders", 1))
    made.run_until(14 * SECOND)
    assert made.view().producers[0].failed == 1
    made.run_until(16 * SECOND)
    assert made.view().producers[0].failed == 2, "a later call blocks for max.block.ms of its own"
    for broker in (1, 2, 3):
        made.do(acts.Start(broker))
    made.run_until(60 * SECOND)
    made.do(acts.Produce("orders", 1))
    made.run_until(70 * SECOND)
    producer = made.view().producers[0]
    assert (producer.sent, producer.acked, producer.failed) == (3, 1, 2)


def test_a_call_that_waits_for_memory_fails_after_max_block_ms_although_some_memory_was_freed() -> None:
    """`BufferPool#allocate` waits again with the rest of the time if what was freed is not enough. The next call has its own time."""
    made = Cluster(
        ClusterSpec(
            brokers=tuple(BrokerSpec(i) for i in (1, 2)),
            topics=(TopicSpec("orders", assignment=(PartitionSpec((1,)), PartitionSpec((2,)))),),
        ),
        Release.named("4.3"),
    )
    config = (("linger.ms", "0"), ("batch.size", "1000"), ("buffer.memory", "2000"), ("max.block.ms", "5000"))
    made.do(acts.Produce("orders", 1, 0, config=config))
    made.run_until(2 * SECOND)
    made.do(acts.Pause(1))
    made.do(acts.Pause(2))
    for partition, size in ((0, 100), (1, 100), (0, 1_800), (1, 1_800)):
        made.do(acts.Produce("orders", 1, partition, bytes=size))
    made.run_until(5 * SECOND)
    made.do(acts.Resume(1))
    made.run_until(7 * SECOND - 1)
    producer = made.view().producers[0]
    assert producer.batching is not None
    assert (producer.acked, producer.failed, producer.batching.available) == (2, 0, 1_000)
    made.run_until(7 * SECOND + 1)
    assert made.view().producers[0].failed == 1
    made.run_until(12 * SECOND - 1)
    assert made.view().producers[0].failed == 1
    made.run_until(12 * SECOND + 1)
    assert made.view().producers[0].failed == 2
