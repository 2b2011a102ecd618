"""What nodes report to the durability account, which keeps track of every record; nothing flows back into the protocol.

The implementation is `core.lab.durability_account`.
"""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING, Protocol

from core.kafka.ids import TopicPartition

if TYPE_CHECKING:
    from core.kafka.log.leader_term import Run, Stretch, Term
    from core.kafka.log.replica_log import ReplicaLog
    from core.kafka.messages import ProduceRequest
    from core.kafka.partition_registration import PartitionRegistration


class PartitionObserver(Protocol):
    """Keeps track of the records of one partition; `accepted` counts the records that its leaders appended."""

    accepted: int


class DurabilityObserver(Protocol):
    """Keeps track of the records of a cluster."""

    @property
    def exposed(self) -> Container[TopicPartition]:
        """The partitions with a broker that can be elected and lacks committed records."""

    @property
    def requests_may_repeat(self) -> bool:
        """Whether a proxy can repeat requests, so that nodes report every append, not only those whose producer waits for an answer."""

    def of(self, tp: TopicPartition) -> PartitionObserver:
        """The observer of one partition."""

    def check_exposure(self, tp: TopicPartition, /) -> None:
        """Committed records of a partition may have become exposed, or safe."""

    def electable_brokers_changed(self) -> None:
        """The set of brokers that can be elected may have changed."""

    def appended(self, tp: TopicPartition, broker: int, term: Term, base: int, request: ProduceRequest, log: ReplicaLog) -> None:
        """A leader appended a batch whose producer waits for an answer."""

    def acknowledged(self, tp: TopicPartition, acks: int, term: Term, base: int, count: int, latency: int) -> None:
        """A producer received the acknowledgement of a batch."""

    def batch_completed(self, producer: str, batch_id: int) -> None:
        """A producer does not send a batch again."""

    def consumed(self, tp: TopicPartition, stretches: tuple[Stretch, ...]) -> None:
        """A consumer received records."""

    def log_truncated(self, tp: TopicPartition, broker: int, before: tuple[Run, ...], old: int, leo: int, event: int) -> None:
        """Truncation or a power loss cut a broker's log from the end `old` to `leo`; `before` is what the log held."""

    def log_unavailable(self, tp: TopicPartition, broker: int, log: ReplicaLog) -> None:
        """A broker's log is gone: its directory failed, or the replica was deleted."""

    def became_leader(self, tp: TopicPartition, broker: int, leader_epoch: int, log: ReplicaLog) -> None:
        """A broker became leader."""

    def leadership_ended(self, tp: TopicPartition, log: ReplicaLog) -> None:
        """A leader resigned or stopped."""

    def started_following(self, tp: TopicPartition, broker: int, log: ReplicaLog, leader: int) -> None:
        """A follower received its first response from a leader."""

    def leader_elected(self, election: str) -> None:
        """The controller elected a leader."""

    def isr_changed(self, broker: int, old: tuple[int, ...], new: tuple[int, ...]) -> None:
        """An ISR change that a leader proposed was committed."""

    def partition_changed(self, tp: TopicPartition, registration: PartitionRegistration) -> None:
        """The controller committed a new state of a partition."""
