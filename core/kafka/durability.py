"""What the nodes report to whoever keeps account of every record; nothing comes back into the protocol.

The laboratory's own account is `core.lab.durability_account`.
"""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING, Protocol

from core.kafka.ids import TopicPartition

if TYPE_CHECKING:
    from core.kafka.log.replica_log import ReplicaLog
    from core.kafka.log.term import Run, Stretch, Term
    from core.kafka.messages import ProduceRequest
    from core.kafka.registration import PartitionRegistration


class PartitionObserver(Protocol):
    """Keeps account of one partition; `accepted` counts the records that its leaders appended."""

    accepted: int


class DurabilityObserver(Protocol):
    """Keeps account of a cluster's records."""

    @property
    def exposed(self) -> Container[TopicPartition]:
        """Partitions with a broker that may be elected and lacks committed records."""

    @property
    def repeats(self) -> bool:
        """Whether a proxy may repeat requests, so that each append has to be told."""

    def of(self, tp: TopicPartition) -> PartitionObserver:
        """One partition's account."""

    def look(self, tp: TopicPartition, /) -> None:
        """A partition's committed records may have become exposed, or safe."""

    def electable_changed(self) -> None:
        """Other brokers than before may be elected."""

    def appended(self, tp: TopicPartition, broker: int, term: Term, base: int, request: ProduceRequest, log: ReplicaLog) -> None:
        """A leader appended a batch whose producer waits for an answer."""

    def acknowledged(self, tp: TopicPartition, acks: int, term: Term, base: int, count: int, latency: int) -> None:
        """A producer was told that a batch is in."""

    def settled(self, producer: str, batch_id: int) -> None:
        """A producer will not send a batch again."""

    def consumed(self, tp: TopicPartition, stretches: tuple[Stretch, ...]) -> None:
        """A consumer was given records."""

    def cut(self, tp: TopicPartition, broker: int, before: tuple[Run, ...], old: int, leo: int, event: int) -> None:
        """A broker's log was cut from an old end to a new one by truncation or power loss; `before` is what it held."""

    def out_of_reach(self, tp: TopicPartition, broker: int, log: ReplicaLog) -> None:
        """A broker's log is gone: its directory failed, or the replica was deleted."""

    def became_leader(self, tp: TopicPartition, broker: int, leader_epoch: int, log: ReplicaLog) -> None:
        """A broker leads."""

    def leadership_ends(self, tp: TopicPartition, log: ReplicaLog) -> None:
        """A leader steps down or dies."""

    def following(self, tp: TopicPartition, broker: int, log: ReplicaLog, leader: int) -> None:
        """A follower took its first answer from a leader."""

    def leader_elected(self, election: str) -> None:
        """The controller elected a leader."""

    def isr_changed(self, broker: int, old: tuple[int, ...], new: tuple[int, ...]) -> None:
        """A leader's ISR proposal was committed."""

    def partition_changed(self, tp: TopicPartition, registration: PartitionRegistration) -> None:
        """The controller committed a partition's state."""
