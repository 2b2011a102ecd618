"""How a leader changes the ISR before 2.7: it writes ZooKeeper itself, and the controller hears of it later (C5), before 0.9 not at all.

The write counts only if nobody has changed the partition's znode since (its version is the partition epoch). Changed
partitions are collected and published in a sequential znode when they have rested, or waited long enough.
"""

from __future__ import annotations

from typing import Final

from core.kafka import errors, events
from core.kafka.broker.context import BrokerContext
from core.kafka.broker.controller_requests.controller_channel import ControllerChannel
from core.kafka.broker.partition import Partition
from core.kafka.ids import TopicPartition
from core.kafka.messages import AlterPartitionItem
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.zookeeper.paths import ISR_CHANGES, PartitionState, state_path
from core.kafka.zookeeper.protocol import OK, Create, Result, SetData
from core.kafka.zookeeper_mode.client import ZooKeeperClient
from core.sim.units import SECOND, US_PER_MS

CHECK_INTERVAL: Final = 2_500 * US_PER_MS
"""µs between two looks at the set of changes (`isr-change-propagation`)."""

LINGER: Final = 5 * SECOND
"""µs that the last change must have rested (`IsrChangePropagationBlackOut`)."""

MAX_DELAY: Final = 60 * SECOND
"""µs after which changes are published all the same (`IsrChangePropagationInterval`)."""


class ZooKeeperIsrManager:
    """Pending ISR writes of one broker, and what it has not published yet (Kafka: `ZkIsrManager`, `ReplicaManager#recordIsrChange`).

    Attributes:
        unsent: writes without an answer, by partition.
        changes: `isrChangeSet`, in order (ordered set).
        last_change, last_publish: when, µs.
    """

    def __init__(
        self, broker: BrokerContext, zk: ZooKeeperClient, channel: ControllerChannel, partitions: dict[TopicPartition, Partition]
    ) -> None:
        self._broker = broker
        self._zk = zk
        self._channel = channel
        self._partitions = partitions
        self.unsent: dict[TopicPartition, AlterPartitionItem] = {}
        self.changes: dict[TopicPartition, None] = {}
        self.last_change = 0
        self.last_publish = 0
        broker.timers["isr-change-propagation"] = self._due

    def arm(self) -> None:
        """Begin to look at the changes periodically."""
        self.last_change = self.last_publish = self._broker.journal.now
        self._broker.timer(CHECK_INTERVAL, "isr-change-propagation")

    def submit(self, item: AlterPartitionItem) -> bool:
        """Write a partition's new ISR; False if one is being written."""
        if item.tp in self.unsent:
            return False
        broker = self._broker
        self.unsent[item.tp] = item
        reason = f"b{broker.id} wrote it"
        state = PartitionState(broker.id, item.leader_epoch, item.isr, self._channel.epoch, reason)
        self._zk.submit((SetData(state_path(item.tp), state, item.partition_epoch),), self._written, item)
        return True

    def reset(self) -> None:
        """The process, or its session, ended."""
        self.unsent.clear()
        self.changes.clear()

    def disconnected(self) -> None:
        """The controller has no part in this."""

    def session_expired(self) -> None:
        """What was being written may never be answered: each leader goes back to the ISR it knows of."""
        unsent, self.unsent = self.unsent, {}
        for tp, item in unsent.items():
            partition = self._partitions.get(tp)
            if partition is not None:
                partition.handle_alter_partition_error(item, errors.OPERATION_NOT_ATTEMPTED)

    def _written(self, results: tuple[Result, ...], item: AlterPartitionItem) -> None:
        self.unsent.pop(item.tp, None)
        broker = self._broker
        partition = self._partitions.get(item.tp)
        result = results[0]
        if partition is None:
            return
        if result.error != OK:
            partition.handle_alter_partition_error(item, errors.INVALID_UPDATE_VERSION)
            return
        journal = broker.journal
        before, journal.cause = journal.cause, result.cause or journal.cause
        registration = PartitionRegistration(partition.replicas, item.isr, broker.id, item.leader_epoch, result.version)
        partition.handle_alter_partition_update(item, registration)
        journal.cause = before
        if not broker.release.publishes_isr_changes:
            return
        self.changes[item.tp] = None
        self.last_change = journal.now
        if broker.by_hand:
            self.publish()

    def _due(self, _: object) -> None:
        self._broker.timer(CHECK_INTERVAL, "isr-change-propagation")
        if self.changes and must_publish(self._broker.journal.now, self.last_change, self.last_publish):
            self.publish()

    def publish(self) -> None:
        """Tell the controller which partitions have another ISR (`ReplicaManager#maybePropagateIsrChanges`)."""
        broker, journal = self._broker, self._broker.journal
        changed = tuple(self.changes)
        self.changes.clear()
        now = journal.now
        before = journal.cause
        journal.cause = journal.emit(
            events.IsrChangesPublished.kind, broker.id, len(changed), now - self.last_change, now - self.last_publish
        )
        self.last_publish = now
        self._zk.submit((Create(f"{ISR_CHANGES}/isr_change_", changed, sequential=True),), _ignore_results)
        journal.cause = before


def must_publish(now: int, last_change: int, last_publish: int) -> bool:
    """Whether changes are due: the last one has rested for 5 s, or nothing was published for 60 s."""
    return last_change + LINGER < now or last_publish + MAX_DELAY < now


def _ignore_results(_results: tuple[Result, ...]) -> None:
    """Nothing more to do; the controller watches."""
