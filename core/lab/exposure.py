"""The first grade of harm: committed records that hang on luck, because a replica that may be elected lacks them.

Who may be elected: an active member of the ISR or the ELR, and where unclean election is on any active replica. The high
watermark does not pass what the leader knows of a member of the ISR, so between an ISR change, an election, a truncation and
a broker's coming and going nothing changes, and the account looks then (`DurabilityAccount.look`). The high watermark itself can leave
somebody behind only where a replica outside the ISR may be elected, or where a log was cut: until that is as long again, a
leader may take it for longer than it is. There a `_Watch` waits at the leader for the high watermark, as a consumer's fetch
does; and whoever lacks records is looked at again when it has been given some. Other partitions pay nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import attrs

from core.kafka import events
from core.kafka.admin_requests import ElectionMode
from core.kafka.broker.broker import Broker
from core.kafka.broker.partition import Partition
from core.kafka.controller.controller import Controller
from core.kafka.events.durability import CAUGHT_UP, LEADS, NOT_ELECTABLE
from core.kafka.ids import TopicPartition
from core.kafka.log.intervals import Intervals
from core.kafka.log.replica_log import ReplicaLog
from core.lab.durability_account import DurabilityAccount
from core.sim.journal import Journal

if TYPE_CHECKING:
    from core.kafka.zookeeper_mode.controller.control import ZooKeeperControl


class Exposure:
    """Looks at a cluster for its durability account.

    Attributes:
        lacking: brokers that may be elected and lack committed records, by partition (`DurabilityAccount.exposed`).
    """

    __slots__ = ("_account", "_brokers", "_controller", "_journal", "lacking")

    _journal: Final[Journal]
    _account: Final[DurabilityAccount]
    lacking: Final[dict[TopicPartition, dict[int, None]]]
    _controller: Final[Controller | ZooKeeperControl]
    _brokers: Final[dict[int, Broker]]

    def __init__(
        self, journal: Journal, account: DurabilityAccount, controller: Controller | ZooKeeperControl, brokers: dict[int, Broker]
    ) -> None:
        self._journal = journal
        self._account = account
        self._controller = controller
        self._brokers = brokers
        self.lacking = account.exposed
        account.look = self.look
        account.electable_changed = self.look_at_all

    def electable(self, tp: TopicPartition) -> Iterator[tuple[int, ReplicaLog | None]]:
        """The brokers that the controller could elect for a partition if its leader went now, with their logs."""
        replication = self._controller.replication
        registration = replication.partitions.get(tp)
        if registration is None:
            return
        unclean = replication.election_mode(tp) is ElectionMode.UNCLEAN
        for broker in registration.replicas:
            if (unclean or broker in registration.isr or broker in registration.elr) and replication.is_active(broker):
                if not replication.has_online_dir(broker, tp):
                    continue
                yield broker, self._brokers[broker].disk.logs.get(tp)

    def of(self, tp: TopicPartition) -> Intervals:
        """The committed offsets that some electable broker lacks now."""
        account = self._account.of(tp)
        account.fold()
        exposed = Intervals()
        registration = self._controller.replication.partitions.get(tp)
        brokers = self._brokers
        if registration is not None and all(account.has_all(brokers[b].disk.logs.get(tp)) for b in registration.replicas if b in brokers):
            return exposed
        for _, log in self.electable(tp):
            for missing in account.lacks(log).values():
                exposed = exposed.union(missing)
        return exposed

    def look_at_all(self) -> None:
        """Somebody else may be elected now: look at the partitions where that can matter."""
        for tp, account in self._account.partitions.items():
            if account.committed or (account.log is not None and account.log.high_watermark):
                self.look(tp)

    def look(self, tp: TopicPartition) -> None:
        """Tell the journal who began, and who ceased, to endanger a partition's committed records."""
        account = self._account.of(tp)
        account.fold()
        before = self.lacking.get(tp, {})
        now: dict[int, Intervals] = {}
        electable = []
        for broker, log in self.electable(tp):
            electable.append(broker)
            missing = account.lacks(log)
            if missing:
                now[broker] = Intervals.of(interval for intervals in missing.values() for interval in intervals)
        if now or before:
            self._tell(tp, before, now, electable)
        for broker, end in list(account.shortened.items()):
            log = self._brokers[broker].disk.logs.get(tp)
            if log is not None and log.leo >= end:
                del account.note_losses().shortened[broker]
        self._watch_if_needed(tp, electable)

    def _tell(self, tp: TopicPartition, before: dict[int, None], now: dict[int, Intervals], electable: list[int]) -> None:
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
            self.lacking[tp] = dict.fromkeys(now)
        else:
            self.lacking.pop(tp, None)

    def needs_watch(self, partition: Partition, electable: list[int]) -> bool:
        """Whether a leader's high watermark can leave an electable broker behind, or somebody is behind it.

        It goes by the followers that the leader was told of: one that a reassignment removes is in the ISR a little longer.
        """
        tp = partition.tp
        if tp in self.lacking or self._account.of(tp).shortened:
            return True
        registration = self._controller.replication.partitions[tp]
        for broker in electable:
            if broker not in registration.isr and broker not in registration.elr:
                return True
            if broker not in partition.remotes and broker != partition.broker.id:
                return True
        return False

    def _watch_if_needed(self, tp: TopicPartition, electable: list[int]) -> None:
        account = self._account.of(tp)
        leads = self._brokers.get(account.leader)
        partition = None if leads is None else leads.partitions.get(tp)
        if partition is None or partition.log is not account.log or not self.needs_watch(partition, electable):
            return
        if not any(type(waiter) is _Watch for waiter in partition.consumers):
            partition.add_consumer(_Watch(self, partition))


@attrs.define(slots=True, eq=False)
class _Watch:
    """Waits at a leader for its high watermark to move."""

    exposure: Exposure
    partition: Partition

    def complete_if_enough(self) -> None:
        """The high watermark moved: look, and go when there is nothing to watch for."""
        tp = self.partition.tp
        self.exposure.look(tp)
        if not self.exposure.needs_watch(self.partition, [broker for broker, _ in self.exposure.electable(tp)]):
            self.complete()

    def complete(self) -> None:
        """The partition's leader changed, or nothing is left to watch for."""
        self.partition.remove_consumer(self)
