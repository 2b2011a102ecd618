"""How a leader changes an ISR before 2.7. The leader writes the ISR to ZooKeeper itself and, since 0.9, publishes the change.

The write succeeds only if the partition's znode has not changed since the leader last read it. The znode's version is the partition epoch.
A broker collects the changed partitions, and publishes them in a sequential znode, which the controller reads. The broker publishes the
changes when there has been no further change for `LINGER`, or after `MAX_DELAY`.
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
from core.kafka.zookeeper_mode.client import ZooKeeperClient
from core.kafka.zookeeper_server.paths import ISR_CHANGES, PartitionState, state_path
from core.kafka.zookeeper_server.protocol import OK, Create, Result, SetData
from core.sim.units import SECOND, US_PER_MS

CHECK_INTERVAL: Final = 2_500 * US_PER_MS
"""The time between two checks for changes to publish, in µs (the task `isr-change-propagation`)."""

LINGER: Final = 5 * SECOND
"""The time without a further change after which changes are published, in µs (`IsrChangePropagationBlackOut`)."""

MAX_DELAY: Final = 60 * SECOND
"""The time since the last publication after which changes are published even if further changes keep arriving, in µs
(`IsrChangePropagationInterval`)."""


class ZooKeeperIsrManager:
    """A broker's pending ISR writes and unpublished changes (Kafka: `ZkIsrManager`, `ReplicaManager#recordIsrChange`).

    Attributes:
        unsent: the writes that ZooKeeper has not responded to, by partition.
        changes: the unpublished changes (ordered set; Kafka: `isrChangeSet`).
        changed_by: the event that recorded the last change.
        last_change: the time of the last change, in µs.
        last_publish: the time of the last publication, in µs.
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
        self.changed_by = 0
        self.last_change = 0
        self.last_publish = 0
        broker.node.timers["isr-change-propagation"] = self._due

    def arm(self) -> None:
        """Schedule the periodic check for changes to publish."""
        self.last_change = self.last_publish = self._broker.journal.now
        self._broker.node.timer(CHECK_INTERVAL, "isr-change-propagation")

    def submit(self, item: AlterPartitionItem) -> bool:
        """Write a partition's new ISR to ZooKeeper. Return False if another write for the partition is pending."""
        if item.tp in self.unsent:
            return False
        broker = self._broker
        self.unsent[item.tp] = item
        reason = f"b{broker.id} wrote it"
        state = PartitionState(broker.id, item.leader_epoch, item.isr, self._channel.epoch, reason)
        self._zk.submit((SetData(state_path(item.tp), state, item.partition_epoch),), self._written, item)
        return True

    def reset(self) -> None:
        """Drop all pending writes and changes, because the process has ended."""
        self.unsent.clear()
        self.changes.clear()

    def disconnected(self) -> None:
        """Do nothing, because ISR writes to ZooKeeper do not go through the controller."""

    def session_expired(self) -> None:
        """If a partition has a pending write, revert the partition to its last known ISR, because the response to the write might never
        arrive."""
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
        self.changed_by = result.cause
        self.last_change = journal.now
        if broker.by_hand:
            self.publish()

    def _due(self, _: object) -> None:
        self._broker.node.timer(CHECK_INTERVAL, "isr-change-propagation")
        if self.changes and must_publish(self._broker.journal.now, self.last_change, self.last_publish):
            self.publish()

    def publish(self) -> None:
        """Publish the names of the partitions whose ISR has changed, so that the controller can read them
        (`ReplicaManager#maybePropagateIsrChanges`).
        """
        broker, journal = self._broker, self._broker.journal
        changed = tuple(self.changes)
        self.changes.clear()
        now = journal.now
        before, journal.cause = journal.cause, self.changed_by
        journal.cause = journal.emit(
            events.IsrChangesPublished.kind, broker.id, len(changed), now - self.last_change, now - self.last_publish
        )
        self.last_publish = now
        self._zk.submit((Create(f"{ISR_CHANGES}/isr_change_", changed, sequential=True),), _ignore_results)
        journal.cause = before


def must_publish(now: int, last_change: int, last_publish: int) -> bool:
    """Return whether changes must be published (`ReplicaManager#maybePropagateIsrChanges`).

    Changes must be published 5 s after the last change, or 60 s after the last publication.
    """
    return last_change + LINGER < now or last_publish + MAX_DELAY < now


def _ignore_results(_results: tuple[Result, ...]) -> None:
    """Ignore the results of creating a znode in /isr_change_notification. The controller learns about the new znode from its watch on the
    parent."""
