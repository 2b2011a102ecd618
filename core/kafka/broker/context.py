"""What the parts of a broker share: its node, identity, disk, settings, knowledge of the cluster, and the state of its process."""

from __future__ import annotations

from typing import Final, Protocol

from core.kafka.broker.broker_setup import BrokerSetup
from core.kafka.broker.broker_state import BrokerState
from core.kafka.broker.disk import Disk
from core.kafka.broker.kafka_config import KafkaConfig
from core.kafka.durability_observer import DurabilityObserver
from core.kafka.ids import TopicPartition, broker_address
from core.kafka.messages import AlterPartitionItem
from core.kafka.metadata_cache import MetadataCache
from core.kafka.release import Release
from core.kafka.settings.settings import Settings
from core.sim.journal import Journal
from core.sim.long_polling import LongPoll
from core.sim.network import Network
from core.sim.node import Node


class IsrChanges(Protocol):
    """The interface through which a leader sends ISR changes to the controller or to ZooKeeper (Kafka: `AlterPartitionManager`)."""

    def submit(self, item: AlterPartitionItem) -> bool:
        """Submit an ISR change. Return False if the partition already has a pending change (OPERATION_NOT_ATTEMPTED)."""

    def reset(self) -> None:
        """Forget all pending ISR changes, because the process has ended."""

    def disconnected(self) -> None:
        """Handle a broken connection to the controller."""


class BrokerContext:
    """The surroundings of a broker's parts. It depends on no part, so each part, and each partition, can depend on it.

    Attributes:
        node: the broker as a node, through which its parts send and receive messages.
        id: the broker ID.
        rack: the broker's rack.
        state: the state of the process.
        fenced: whether the controller's last response said that the broker is fenced.
        want_shutdown: whether the broker asks the controller for a controlled shutdown.
        broker_epoch: the epoch that the controller assigned at registration; -1 before registration.
        metadata_cache: what the broker knows of the cluster.
        settings: the broker's own view of the settings; changes arrive with the metadata.
        config: the values of the broker's settings.
        by_hand: whether fetchers, heartbeats, and checks run only on command.
        maybe_out_of_sync: the partitions that this broker leads and in which a follower might be below the LEO or have no running fetch
            session (ordered set). Only these can have followers to remove from the ISR.
        pushes_high_watermark: whether a fetch is completed if its follower lacks the newest high watermark (since 2.4); False in by-hand
            mode.
        alter_partition: the object to which ISR changes are submitted.
    """

    __slots__ = (
        "_correlation", "account", "alter_partition", "broker_epoch", "by_hand", "config", "disk", "fenced", "id", "journal", "maybe_out_of_sync",
        "metadata_cache", "network", "node", "pushes_high_watermark", "rack", "release", "settings", "state", "want_shutdown",
    )  # fmt: skip

    node: Final[Node]
    network: Final[Network]
    journal: Final[Journal]
    id: Final[int]
    rack: Final[str | None]
    settings: Final[Settings]
    config: Final[KafkaConfig]
    release: Final[Release]
    account: Final[DurabilityObserver]
    disk: Final[Disk]
    metadata_cache: Final[MetadataCache]
    maybe_out_of_sync: Final[dict[TopicPartition, None]]

    alter_partition: IsrChanges

    def __init__(self, setup: BrokerSetup, node: Node) -> None:
        self.node = node
        self.network = setup.network
        self.journal = setup.journal
        self.id = setup.broker_id
        self.rack = setup.rack
        self.settings = setup.settings
        self.config = KafkaConfig(setup.settings, setup.broker_id)
        self.release = setup.settings.release
        self.account = setup.account
        self.disk = Disk.of(setup.broker_id, setup.log_dirs)
        self.metadata_cache = setup.metadata_cache
        self.by_hand = setup.by_hand
        self.state = BrokerState.STOPPED
        self.fenced = True
        self.want_shutdown = False
        self.broker_epoch = -1
        self.maybe_out_of_sync = {}
        self.pushes_high_watermark = self.release.hw_completes_fetch and not setup.by_hand
        self._correlation = 0

    def next_correlation(self) -> int:
        """Return a new correlation ID for this broker."""
        self._correlation += 1
        return self._correlation

    def fetches_between(self, follower: int, leader: int, fetcher: int) -> LongPoll:
        """Return the network's handle for the long polls between a follower's fetcher and a leader.

        This broker is either the follower or the leader.
        """
        rank = (follower << 48) | (leader << 16) | fetcher
        return self.node.long_poll(broker_address(follower), broker_address(leader), fetcher, rank)

    def log_start_moved(self, tp: TopicPartition) -> None:
        """Record that a log start has moved, so that the next checkpoint contains the new log start."""
        self.disk.moved_starts[tp] = None
        self.disk.log_starts_moved = True
        if tp in self.account.exposed:
            self.account.check_exposure(tp)
