"""A client that sends single requests to coordinators, and keeps the responses."""

from __future__ import annotations

from typing import Any

from core.kafka import errors
from core.kafka.group_coordinator.group_requests import (
    NOT_A_MEMBER,
    GroupMembership,
    OffsetCommitRequest,
    OffsetFetchRequest,
    TxnOffsetCommitRequest,
)
from core.kafka.ids import TopicPartition, broker_address
from core.kafka.messages import ProduceRequest
from core.kafka.release import RELEASES
from core.kafka.topic_spec import TopicSpec
from core.kafka.transaction.transaction_messages import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    FindCoordinatorRequest,
    InitTransactionalIdRequest,
)
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.kernel_messages import Disconnected
from core.sim.node import Node
from core.sim.units import SECOND, US_PER_MS

TP = TopicPartition("in", 0)


def cluster(release: str, told: list[tuple] | None = None, offsets_config: tuple[tuple[str, str], ...] = ()) -> Cluster:
    """Build a cluster of three brokers in which each internal topic has one partition."""
    topics = (
        TopicSpec("in", 1, 3),
        TopicSpec("out", 1, 3),
        TopicSpec("__transaction_state", 1, 3),
        TopicSpec("__consumer_offsets", 1, 3, config=offsets_config),
    )
    spec = ClusterSpec(tuple(BrokerSpec(broker) for broker in (1, 2, 3)), topics)
    return Cluster(spec, RELEASES[release], sink=None if told is None else told.append)


class RawClient(Node):
    def __init__(self, run: Cluster, name: str = "raw") -> None:
        super().__init__(name, run.network, run.journal)
        run.nodes[name] = self
        self.run = run
        self.number = 0
        self.responses: dict[int, Any] = {}

    def handle(self, message: object, sender: str) -> None:
        if not isinstance(message, Disconnected):
            self.responses[message.correlation] = message  # type: ignore[attr-defined]

    def start(self, broker: int, kind: type, *fields: object) -> int:
        """Send a request."""
        self.number += 1
        self.send(broker_address(broker), kind(self.number, *fields))
        return self.number

    def ask(self, broker: int, kind: type, *fields: object, within: int = 10 * SECOND) -> Any:
        """Send a request and return the response."""
        number = self.start(broker, kind, *fields)
        end = self.run.now + within
        while number not in self.responses and self.run.now < end:
            self.run.run_until(self.run.now + US_PER_MS)
        return self.responses.get(number)

    # --- requests ------------------------------------------------------------------------------------------------------

    def coordinator(self, key: str, *, group: bool) -> int:
        for _ in range(200):
            live = next(broker for broker in (2, 3, 1) if self.network.alive[broker_address(broker)])
            response = self.ask(live, FindCoordinatorRequest, key, group)
            if response is not None and response.error == errors.NONE:
                return response.broker
            self.run.run_until(self.run.now + 100 * US_PER_MS)
        raise AssertionError(f"no coordinator for {key}")

    def group_coordinator(self) -> int:
        return self.coordinator("g", group=True)

    def commit(self, offset: int, membership: GroupMembership = NOT_A_MEMBER, tp: TopicPartition = TP) -> str:
        return self.ask(self.group_coordinator(), OffsetCommitRequest, self.address, "g", membership, ((tp, offset, -1),)).error

    def committed(self, *, stable: bool = False, tp: TopicPartition = TP) -> int | str:
        response = self.ask(self.group_coordinator(), OffsetFetchRequest, "g", (tp,), stable)
        if response.error != errors.NONE:
            return response.error
        ((_, offset, _, error),) = response.offsets
        return offset if error == errors.NONE else error

    def init(self, transactional_id: str = "app") -> tuple[int, int]:
        for _ in range(100):
            broker = self.coordinator(transactional_id, group=False)
            response = self.ask(broker, InitTransactionalIdRequest, self.address, transactional_id, 60 * SECOND, -1, -1, self.version)
            if response is not None and response.error == errors.NONE:
                return response.producer_id, response.producer_epoch
            self.run.run_until(self.run.now + 20 * US_PER_MS)
        raise AssertionError("no producer ID")

    @property
    def version(self) -> int:
        return self.run.release.transaction_version

    def add_offsets(self, producer: tuple[int, int], transactional_id: str = "app") -> str:
        broker = self.coordinator(transactional_id, group=False)
        return self.ask(broker, AddOffsetsToTxnRequest, transactional_id, *producer, "g").error

    def add_partition(self, producer: tuple[int, int], tp: TopicPartition, transactional_id: str = "app") -> str:
        broker = self.coordinator(transactional_id, group=False)
        return self.ask(broker, AddPartitionsToTxnRequest, transactional_id, *producer, (tp,)).results[0][1]

    def commit_in_transaction(
        self,
        producer: tuple[int, int],
        offset: int,
        membership: GroupMembership = NOT_A_MEMBER,
        *,
        add: bool = True,
        transactional_id: str = "app",
    ) -> str:
        if add and self.version < 2:
            assert self.add_offsets(producer, transactional_id) == errors.NONE
        return self.ask(
            self.group_coordinator(),
            TxnOffsetCommitRequest,
            transactional_id,
            *producer,
            "g",
            membership,
            ((TP, offset, -1),),
            self.version,
        ).error

    def end(self, producer: tuple[int, int], *, commit: bool, transactional_id: str = "app", settle: bool = True) -> str:
        broker = self.coordinator(transactional_id, group=False)
        response = self.ask(broker, EndTxnRequest, transactional_id, *producer, commit, self.version)
        if settle:
            self.run.run_until(self.run.now + SECOND)
        return response.error

    def produce(self, producer: tuple[int, int], tp: TopicPartition, records: int, sequence: int) -> str:
        leader = self.run.partition_view(tp).leader
        return self.ask(
            leader,
            ProduceRequest,
            self.address,
            tp,
            records,
            100 * records,
            -1,
            30 * SECOND,
            1,
            1,
            *producer,
            sequence,
            -1,
            "app",
            self.version >= 2,
        ).error
