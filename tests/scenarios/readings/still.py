"""A frozen moment: views and recorded events with which readings and conditions are tested."""

from __future__ import annotations

from typing import Any

from core.kafka.broker.broker_state import BrokerState
from core.kafka.health import PartitionStatus
from core.kafka.ids import TopicPartition
from core.kafka.log.leader_term import Batch, Run, Term
from core.lab.audit.audit_report import AccountComparison, AuditReport
from core.lab.views.broker_view import BrokerView, NetworkUse
from core.lab.views.client_view import BatchingView, ConsumerView, ProcessView, ProducerView
from core.lab.views.cluster_view import ClusterView
from core.lab.views.group_view import ConsumptionView, GroupMemberView, GroupView, MemberView
from core.lab.views.log_contents import LogContents
from core.lab.views.partition_view import PartitionView, ReplicaView
from core.lab.views.service_view import RetryView, ServiceView
from core.sim.units import SECOND
from scenarios.conditions.conditions import Names
from scenarios.readings.reading import STATISTICS

ORDERS = TopicPartition("orders", 0)
LONELY = TopicPartition("orders", 1)
NAMES = Names(
    {"orders": 2}, frozenset({1, 2, 3}), frozenset({"app", "reader", "copier", "member", "delay", "retrier"}), frozenset({"group"})
)


def replica(broker: int, role: str, leo: int, hw: int, *, in_isr: bool = True) -> ReplicaView:
    return ReplicaView(broker, role, leo, hw, 0, in_isr, True, "fetching", 0, ((0, 0), (1, 5)), 1, 1)


def partition(
    tp: TopicPartition, leader: int, isr: tuple[int, ...], replica_views: tuple[ReplicaView, ...], min_isr: int = 2
) -> PartitionView:
    return PartitionView(
        tp,
        leader,
        1,
        3,
        (1, 2, 3),
        isr,
        (3,),
        (),
        (),
        (),
        False,
        min_isr,
        PartitionStatus.UNDER_REPLICATED,
        replica_views,
        2,
        20,
        15,
        12,
        2,
        0,
        0,
    )


class Still:
    """One moment: a partition with a leader and ISR [2, 1], a partition without a leader, a stopped broker, and a few events."""

    def __init__(self) -> None:
        led = partition(
            ORDERS, 1, (2, 1), (replica(1, "leader", 20, 12), replica(2, "follower", 15, 12), replica(3, "offline", 9, 8, in_isr=False))
        )
        self.by_tp = {ORDERS: led, LONELY: partition(LONELY, -1, (3,), (replica(3, "offline", 9, 8),))}
        brokers = tuple(
            BrokerView(
                broker,
                None,
                BrokerState.STOPPED if broker == 3 else BrokerState.RUNNING,
                broker == 3,
                1,
                int(broker == 1),
                2,
                1,
                0,
                network=NetworkUse(1_000, 977, 400, 5, 0) if broker == 2 else None,
            )
            for broker in (1, 2, 3)
        )
        producer = ProducerView(
            "app", "orders", -1, 100, 20, 15, 1, 4, 2, 3_000, (3_000, 1_000), BatchingView(2, 20, 300, 1_000, 2_000, 500, 3)
        )
        consumer = ConsumerView("reader", "orders", 10, ((ORDERS, 10),))
        self.whole = ClusterView(
            9, 9, "4.1", "controller", brokers, (), tuple(self.by_tp.values()), (producer,), (consumer,), (), (), 20, 15, 2, 0, 0, 1, 3, 2,
            groups=(
                GroupView("group", 2, ((ORDERS, 8),), 1, "Stable", 3, "range", "m-1", (GroupMemberView("m-1", "", "member", (ORDERS,)),)),
            ),
            members=(
                MemberView(
                    "member", "group", ("orders",), True, False, "processing", "Stable", "m-1", 3, 2, (ORDERS,), ((ORDERS, 9),), 8, 1,
                ),
            ),
            consumption=(ConsumptionView("group", ORDERS, 8, 1, 1, 2),),
            services=(
                ServiceView(
                    "delay", "", "orders", True, 3, 1, 1, 12, 9, 2, 1, 2, 1, 0, 0, 0, 1,
                    dict.fromkeys(STATISTICS, 5), dict.fromkeys(STATISTICS, 7), dict.fromkeys(STATISTICS, 9),
                ),
            ),
            retries=(
                RetryView(
                    "retrier", "orders", True, 3, {1: 10, 2: 5}, {1: 5, 2: 1}, 9, 1, 0, 0, 0, 0, 2, dict.fromkeys(STATISTICS, 5)
                ),
            ),
            processes=(ProcessView("copier", "orders", "copies", "group", "at-least-once", 2, True, "produce", 12, 10, 3, 2, 1),),
        )  # fmt: skip
        acked = [(n, n, 0, "produce-acked", "app", "orders", 0, n, n + 1, 1, -1, n * 1_000, 1) for n in range(1, 101)]
        elected = [
            (200, 200, 0, "leader-elected", "orders", 0, 2, 1, 1, (2, 3), "clean", "b1 fenced"),
            (210, 210, 0, "leader-elected", "orders", 0, 1, 2, 2, (1,), "unclean", "b2 fenced"),
        ]
        self.recorded: dict[str, list[tuple[Any, ...]]] = {"produce-acked": acked, "leader-elected": elected, "records-lost": []}
        self.recorded["high-watermark"] = [(220, 220, 0, "high-watermark", 1, "orders", 0, 0, 0, 10, 1)]
        self.recorded["offset-committed"] = [(221, 221, 0, "offset-committed", 1, "group", "orders", 0, 8, -1)]
        self.recorded["transaction-state"] = [
            (222, 222, 0, "transaction-state", 2, "app", 7, 0, "Empty", "Ongoing", "orders-0"),
            (223, 223, 0, "transaction-state", 2, "other", 8, 0, "Ongoing", "PrepareCommit", ""),
        ]
        self.recorded["broker-fenced"] = [(205, 205, 0, "broker-fenced", 2, 9_100_000, 9_000_000)]

    def view(self) -> ClusterView:
        return self.whole

    def partition(self, tp: TopicPartition) -> PartitionView | None:
        return self.by_tp.get(tp)

    def contents(self, tp: TopicPartition, broker: int) -> LogContents | None:
        """Return the contents of a log with two versions of a and a tombstone of b on broker 1; the other brokers lack the second version
        and the tombstone.
        """
        term = Term(0, 1)
        records = (("a", "v1"), ("a", "v2"), ("b", None)) if broker == 1 else (("a", "v1"), ("b", "v1"))
        term.append(Batch(0, len(records), 100, "app", 1, 0, content=records))
        return LogContents((Run(0, len(records), term),), len(records), ())

    def events(self, kind: str) -> list[tuple[Any, ...]]:
        return self.recorded.get(kind, [])

    def audit(self) -> AuditReport:
        return AuditReport(9 * SECOND, 60 * SECOND, 60 * SECOND, (), (), (), (), AccountComparison(0, 0, equal=True))
