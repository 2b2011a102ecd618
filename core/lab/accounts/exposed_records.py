"""Exposed records: committed records that the next election can lose, because a replica that can be elected lacks them.

An active member of the ISR or the ELR can be elected. If unclean election is enabled, any active replica can be elected.

Because the high watermark never passes the lowest LEO that the leader knows for any ISR member, the exposed records of most partitions
change only with an ISR change, an election, a truncation, or the start or stop of a broker. The durability account looks for exposed
records after each of these changes (`DurabilityAccount.check_exposure`). An advance of the high watermark can expose records only if a
replica outside the ISR can be elected, or if a log was cut, because the leader can then overestimate the length of that log. If an advance
can expose records of a partition, a `_HighWatermarkWatcher` waits at the leader for the high watermark to advance, as a consumer's fetch
does. Replicas that lack committed records are checked again when they receive records. Other partitions are checked only after one of the
changes listed above.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import attrs

from core.kafka import events
from core.kafka.admin_requests import ElectionMode
from core.kafka.broker.broker import Broker
from core.kafka.broker.partition import Partition
from core.kafka.controller.quorum_controller import QuorumController
from core.kafka.events.durability import CAUGHT_UP, LEADS, NOT_ELECTABLE
from core.kafka.ids import TopicPartition
from core.kafka.log.offset_set import OffsetSet
from core.kafka.log.replica_log import ReplicaLog
from core.lab.accounts.durability_account import DurabilityAccount
from core.sim.journal import Journal

if TYPE_CHECKING:
    from core.kafka.zookeeper_mode.control_plane import ZooKeeperControlPlane


class ExposureMonitor:
    """The monitor that finds the exposed records of a cluster for its durability account.

    Attributes:
        lacking_brokers: the brokers that can be elected and lack committed records, by partition (`DurabilityAccount.exposed`).
    """

    __slots__ = ("_account", "_brokers", "_controller", "_journal", "lacking_brokers")

    _journal: Final[Journal]
    _account: Final[DurabilityAccount]
    lacking_brokers: Final[dict[TopicPartition, dict[int, None]]]
    _controller: Final[QuorumController | ZooKeeperControlPlane]
    _brokers: Final[dict[int, Broker]]

    def __init__(
        self, journal: Journal, account: DurabilityAccount, controller: QuorumController | ZooKeeperControlPlane, brokers: dict[int, Broker]
    ) -> None:
        self._journal = journal
        self._account = account
        self._controller = controller
        self._brokers = brokers
        self.lacking_brokers = account.exposed
        account.check_exposure = self.check
        account.electable_brokers_changed = self.check_all

    def electable(self, tp: TopicPartition) -> Iterator[tuple[int, ReplicaLog | None]]:
        """Yield the brokers that the controller could elect for a partition if the leader failed now, each with its log."""
        controller = self._controller
        registration = controller.registry.partitions.get(tp)
        if registration is None:
            return
        unclean = controller.configuration_control.election_mode(tp.topic) is ElectionMode.UNCLEAN
        for broker in registration.replicas:
            if (unclean or broker in registration.isr or broker in registration.elr) and controller.cluster_control.is_active(broker):
                if not controller.directories.has_online_dir(broker, tp):
                    continue
                yield broker, self._brokers[broker].disk.logs.get(tp)

    def exposed_offsets(self, tp: TopicPartition) -> OffsetSet:
        """Return the committed offsets that at least one electable broker lacks now."""
        account = self._account.of(tp)
        account.add_committed()
        exposed = OffsetSet()
        registration = self._controller.registry.partitions.get(tp)
        brokers = self._brokers
        if registration is not None and all(
            account.holds_all_committed(brokers[b].disk.logs.get(tp)) for b in registration.replicas if b in brokers
        ):
            return exposed
        for _, log in self.electable(tp):
            for missing in account.missing_from(log).values():
                exposed = exposed.union(missing)
        return exposed

    def check_all(self) -> None:
        """Check all partitions with committed records, because the set of electable brokers has changed."""
        for tp, account in self._account.partitions.items():
            if account.committed or (account.log is not None and account.log.high_watermark):
                self.check(tp)

    def check(self, tp: TopicPartition) -> None:
        """Record in the journal which brokers now expose a partition's committed records to loss, and which brokers no longer do."""
        account = self._account.of(tp)
        account.add_committed()
        before = self.lacking_brokers.get(tp, {})
        now: dict[int, OffsetSet] = {}
        electable = []
        for broker, log in self.electable(tp):
            electable.append(broker)
            missing = account.missing_from(log)
            if missing:
                now[broker] = OffsetSet.of(interval for intervals in missing.values() for interval in intervals)
        if now or before:
            self._emit_changes(tp, before, now, electable)
        for broker, end in list(account.shortened.items()):
            log = self._brokers[broker].disk.logs.get(tp)
            if log is not None and log.leo >= end:
                del account.note_losses().shortened[broker]
        self._add_watcher_if_needed(tp, electable)

    def _emit_changes(self, tp: TopicPartition, before: dict[int, None], now: dict[int, OffsetSet], electable: list[int]) -> None:
        journal = self._journal
        for broker, missing in now.items():
            if broker not in before:
                journal.emit(
                    events.RecordsExposed.kind, tp.topic, tp.partition, broker, missing.starts[0], missing.ends[-1], missing.count()
                )
        for broker in before:
            if broker not in now:
                leads = broker == self._account.of(tp).leader
                why = LEADS if leads else CAUGHT_UP if broker in electable else NOT_ELECTABLE
                journal.emit(events.RecordsSafe.kind, tp.topic, tp.partition, broker, why)
        if now:
            self.lacking_brokers[tp] = dict.fromkeys(now)
        else:
            self.lacking_brokers.pop(tp, None)

    def needs_watcher(self, partition: Partition, electable: list[int]) -> bool:
        """Return whether the leader's high watermark can pass the log end of an electable broker, or has passed it.

        If there is an electable broker that the leader does not track, the result is also True. For example, a broker that a reassignment
        removes stays in the ISR for a while.
        """
        tp = partition.tp
        if tp in self.lacking_brokers or self._account.of(tp).shortened:
            return True
        registration = self._controller.registry.partitions.get(tp)
        if registration is None:
            return False
        for broker in electable:
            if broker not in registration.isr and broker not in registration.elr:
                return True
            if broker != partition.broker.id and partition.replica(broker) is None:
                return True
        return False

    def _add_watcher_if_needed(self, tp: TopicPartition, electable: list[int]) -> None:
        account = self._account.of(tp)
        leads = self._brokers.get(account.leader)
        partition = None if leads is None else leads.partitions.get(tp)
        if partition is None or partition.log is not account.log or not self.needs_watcher(partition, electable):
            return
        if not any(type(waiter) is _HighWatermarkWatcher for waiter in partition.consumers):
            partition.add_consumer(_HighWatermarkWatcher(self, partition))


@attrs.define(slots=True, eq=False)
class _HighWatermarkWatcher:
    """A watcher that waits at a leader for the high watermark to advance."""

    exposure: ExposureMonitor
    partition: Partition

    def complete_if_enough(self) -> None:
        """Check the partition after an advance of the high watermark. Stop waiting if the partition no longer needs a watcher."""
        tp = self.partition.tp
        self.exposure.check(tp)
        if not self.exposure.needs_watcher(self.partition, [broker for broker, _ in self.exposure.electable(tp)]):
            self.complete()

    def complete(self) -> None:
        """Stop waiting for the high watermark, because the partition's leader changed or no watcher is needed."""
        self.partition.remove_consumer(self)
