"""Consumers that read from followers (KIP-392), by Kafka's own vectors: CON-01, CON-02, CON-04 (ReplicaManagerTest,
RackAwareReplicaSelectorTest), and FOL-22.
"""

from __future__ import annotations

import pytest

from core.kafka import errors
from core.kafka.broker.replica_selector import ReplicaView, select_rack_aware
from core.kafka.ids import TopicPartition
from core.kafka.log.leader_term import Batch, Term
from core.kafka.messages import ConsumerFetchRequest, ConsumerFetchResponse, FetchRequest, FetchResponse
from core.sim.units import US_PER_MS
from tests.core.node_bench import CLIENT, TP, BrokerBench, log_of

RACKS: dict[int, str | None] = {1: "a", 2: "b", 3: "c"}
BY_RACK: dict[str, object] = {"replica.selector.class": "RackAwareReplicaSelector"}


def leading(settings: dict[str, object] = BY_RACK) -> BrokerBench:
    """Build a bench in which broker 1 leads ten records, and brokers 2 and 3 are in the ISR and have all records."""
    bench = BrokerBench(settings=settings, racks=RACKS)
    bench.partition_is((1, 2, 3), (1, 2, 3))
    bench.produce(10)
    for follower in (2, 3):
        bench.fetch(follower, 0)
        bench.fetch(follower, 10)
    assert bench.log.high_watermark == 10
    return bench


def following() -> BrokerBench:
    """Build a bench in which broker 1 follows broker 2 and has ten records, six of which it knows to be committed."""
    bench = BrokerBench(racks=RACKS, log=log_of((5, 0), leo=10, high_watermark=6))
    bench.partition_is((1, 2, 3), (1, 2, 3), leader=2)
    return bench


def test_con_01_a_follower_serves_those_who_tell_their_rack() -> None:
    bench = following()
    old = bench.ask(0, None)
    assert old is not None
    assert [part.error for part in old.partitions] == [errors.NOT_LEADER_OR_FOLLOWER]
    for rack in ("", "a", "far"):
        served = bench.ask(0, rack)
        assert served is not None
        (part,) = served.partitions
        assert (part.error, part.records[-1].end, part.high_watermark) == (errors.NONE, 6, 6)


def test_con_02_a_follower_that_is_asked_serves_and_sends_nobody_on() -> None:
    bench = BrokerBench(settings=BY_RACK, racks=RACKS, log=log_of((5, 0), leo=10, high_watermark=6))
    bench.partition_is((1, 2, 3), (1, 2, 3), leader=2)
    served = bench.ask(0, "b")
    assert served is not None
    assert (len(served.partitions), served.preferred) == (1, ())


@pytest.mark.parametrize(("rack", "sent_to"), [("a", ()), ("b", ((TP, 2),)), ("c", ((TP, 3),)), ("far", ()), ("", ()), (None, ())])
def test_con_02_a_leader_sends_a_consumer_to_its_rack_and_reads_nothing(rack: str | None, sent_to: tuple) -> None:
    bench = leading()
    answer = bench.ask(0, rack, max_wait_ms=500)
    assert answer is not None, "answered at once"
    assert answer.preferred == sent_to
    assert bool(answer.partitions) is not bool(sent_to)


def test_con_02_nobody_is_sent_on_without_a_selector() -> None:
    for settings in ({}, {"replica.selector.class": "org.apache.kafka.common.replica.LeaderSelector"}):
        answer = leading(settings).ask(0, "b")
        assert answer is not None
        assert (len(answer.partitions), answer.preferred) == (1, ())


def test_con_02_a_follower_that_fetches_is_never_sent_on() -> None:
    part = leading().fetch(2, 4)
    assert part.records[-1].end == 10


def test_only_live_members_of_the_isr_that_hold_the_position_are_named() -> None:
    bench = leading()

    def sent_to(position: int, rack: str) -> tuple:
        answer = bench.ask(position, rack)
        assert answer is not None
        return answer.preferred

    bench.produce(5)
    bench.fetch(2, 15)
    assert (sent_to(12, "b"), sent_to(12, "c"), sent_to(10, "c")) == (((TP, 2),), (), ((TP, 3),))
    bench.register(2, fenced=True, anew=False)
    assert sent_to(12, "b") == (), "the metadata have no rack of a broker that does not live"
    bench.register(2, anew=False)
    bench.partition_is((1, 2, 3), (1, 3), partition_epoch=2)
    assert sent_to(12, "b") == (), "it has left the ISR"


def test_con_04_the_rack_aware_choice() -> None:
    leader = ReplicaView(1, "a", 10, 0)
    others = [ReplicaView(2, "b", 8, 0), ReplicaView(3, "b", 9, 5), ReplicaView(4, "b", 9, 3), ReplicaView(5, "a", 10, 0)]
    assert select_rack_aware("a", leader, others) == leader
    assert select_rack_aware("b", leader, others).broker == 4, "the larger LEO, then the shorter time since it was caught up"
    assert select_rack_aware("b", leader, [*others, ReplicaView(6, "b", 9, 3)]).broker == 6
    assert select_rack_aware("c", leader, others) == leader
    assert select_rack_aware("", leader, [ReplicaView(2, None, 10, 0)]) == leader


def test_fol_22_a_follower_s_high_watermark_completes_what_waits_there_once_per_answer() -> None:
    bench = BrokerBench(racks=RACKS)
    tps = (TP, TopicPartition("t", 1), TopicPartition("t", 2))
    for tp in tps:
        bench.partition_is((1, 2), (1, 2), leader=2, tp=tp)
    term, watermarks = Term(5, 2), dict.fromkeys(tps, 0)
    term.append(Batch(0, 4, 400, CLIENT, 1, 0))

    def answer(**high_watermarks: int) -> list[ConsumerFetchResponse]:
        """Deliver the leader's next response, which contains all records the first time, and return the response that the consumer gets
        because of it.
        """
        request = bench.sent(FetchRequest, "b2")[-1]
        parts = []
        for tp in tps:
            leo = bench.broker.partitions[tp].log.leo
            watermarks[tp] = high_watermarks.get(f"p{tp.partition}", watermarks[tp])
            records = (0, 4, term, 400, None) if leo == 0 else None
            parts.append((tp, None, leo, records, watermarks[tp], 0, 0))
        bench.broker.handle(FetchResponse(request.correlation, 0, errors.NONE, tuple(parts)), "b2")
        return bench.sent(ConsumerFetchResponse, CLIENT)

    assert answer() == []
    asked = tuple((tp, 0, 5) for tp in tps)
    bench.broker.handle(ConsumerFetchRequest(1, CLIENT, asked, 500 * US_PER_MS, ""), CLIENT)
    assert bench.sent(ConsumerFetchResponse, CLIENT) == [], "nothing is known to be committed"
    assert answer() == [], "unchanged: none"
    (told,) = answer(p0=2, p2=3)
    assert [(part.tp, part.records[-1].end) for part in told.partitions] == [(tps[0], 2), (tps[2], 3)]
    assert answer(p0=4, p1=4, p2=4) == [], "nobody waits any more"


def test_a_consumer_waiting_at_a_follower_gets_an_error_for_a_new_leader_epoch() -> None:
    bench = following()
    assert bench.ask(6, "a", max_wait_ms=500, leader_epoch=5) is None
    bench.partition_is((1, 2, 3), (1, 2, 3), leader=3, leader_epoch=6, partition_epoch=2)
    told = bench.told_consumer()
    assert told is not None
    assert [part.error for part in told.partitions] == [errors.FENCED_LEADER_EPOCH]


def test_con_05_a_follower_refuses_what_it_does_not_hold() -> None:
    bench = following()
    for position, error in ((10, None), (11, errors.OFFSET_OUT_OF_RANGE)):
        answer = bench.ask(position, "a")
        assert answer is not None
        assert [part.error for part in answer.partitions] == ([] if error is None else [error])


def test_a_consumer_that_waits_at_a_follower_is_answered_when_the_replica_is_reassigned_away() -> None:
    bench = following()
    assert bench.ask(6, "a", max_wait_ms=500) is None
    bench.partition_is((2, 3), (2, 3), leader=2, partition_epoch=2)
    told = bench.told_consumer()
    assert told is not None
    assert [part.error for part in told.partitions] == [errors.NOT_LEADER_OR_FOLLOWER]
