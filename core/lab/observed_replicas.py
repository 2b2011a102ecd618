"""What an observer who sees all brokers knows about replicas. No broker or controller has this knowledge in Kafka."""

from __future__ import annotations

from typing import Final

from core.kafka.broker.broker import Broker
from core.kafka.ids import NO_EPOCH, TopicPartition
from core.lab.accounts.durability_account import DurabilityAccount
from core.sim.network import Network


class ObservedReplicas:
    """The replicas on all brokers of a cluster."""

    __slots__ = ("_account", "_brokers", "_network")

    _brokers: Final[dict[int, Broker]]
    _network: Final[Network]
    _account: Final[DurabilityAccount]

    def __init__(self, brokers: dict[int, Broker], network: Network, account: DurabilityAccount) -> None:
        self._brokers = brokers
        self._network = network
        self._account = account

    def log_end(self, broker: int, tp: TopicPartition) -> tuple[int, int]:
        """Return the log end offset and the last leader epoch of a replica, for an election by the longest log (used when the guard
        `elect-from-isr` is off).
        """
        log = self._brokers[broker].disk.logs.get(tp)
        return (0, NO_EPOCH) if log is None else (log.leo, log.records.terms[-1].epoch if log.records.terms else NO_EPOCH)

    def followers_behind(self, tp: TopicPartition, leader: int) -> tuple[int, ...]:
        """Return the followers whose fetches the high watermark of a partition waits for on a broker; empty if the broker does not lead. If
        the broker does not run, it waited for any members of the ISR.
        """
        broker = self._brokers.get(leader)
        if broker is None:
            return ()
        if not self._network.alive[broker.address]:
            return self._account.of(tp).registered_isr
        partition = broker.partitions.get(tp)
        return () if partition is None else partition.followers_behind()
