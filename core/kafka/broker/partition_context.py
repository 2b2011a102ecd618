"""The parts of a broker that its partitions depend on."""

from __future__ import annotations

from abc import ABCMeta
from typing import Final, Protocol

from core.kafka.broker.broker_setup import BrokerSetup
from core.kafka.broker.disk import Disk
from core.kafka.broker.kafka_config import KafkaConfig
from core.kafka.durability_observer import DurabilityObserver
from core.kafka.ids import TopicPartition, broker_address
from core.kafka.messages import AlterPartitionItem
from core.kafka.metadata_cache import MetadataCache
from core.kafka.release import Release
from core.kafka.settings.settings import Settings
from core.sim.node import Node


class IsrChanges(Protocol):
    """The interface through which a leader sends ISR changes to the controller or to ZooKeeper (Kafka: `AlterPartitionManager`)."""

    def submit(self, item: AlterPartitionItem) -> bool:
        """Submit an ISR change. Return False if the partition already has a pending change (OPERATION_NOT_ATTEMPTED)."""

    def reset(self) -> None:
        """Forget all pending ISR changes, because the process has ended."""

    def disconnected(self) -> None:
        """Handle a broken connection to the controller."""


class PartitionContext(Node, metaclass=ABCMeta):
    """The interface through which partitions use their broker: its identity, disk, ISR settings, and knowledge of other brokers.

    Attributes:
        id: the broker ID.
        broker_epoch: the epoch that the controller assigned at registration; -1 before registration.
        metadata_cache: what the broker knows of the cluster.
        settings: the broker's own view of the settings; changes arrive with the metadata.
        by_hand: whether followers fetch only on command.
        config: the values of the broker's settings.
        behind: the partitions that this broker leads and in which a follower might be below the LEO or have no running fetch session
            (ordered set).
        pushes_high_watermark: whether a fetch is completed if its follower lacks the newest high watermark (since 2.4); False in by-hand
            mode.
        alter_partition: the object to which ISR changes are submitted.
    """

    __slots__ = (
        "account", "behind", "broker_epoch", "config", "disk", "id", "metadata_cache", "pushes_high_watermark", "release", "settings",
    )  # fmt: skip

    id: Final[int]
    settings: Final[Settings]
    config: Final[KafkaConfig]
    release: Final[Release]
    account: Final[DurabilityObserver]
    disk: Final[Disk]
    metadata_cache: Final[MetadataCache]
    behind: Final[dict[TopicPartition, None]]

    by_hand: bool
    alter_partition: IsrChanges

    def __init__(self, setup: BrokerSetup) -> None:
        super().__init__(broker_address(setup.broker_id), setup.network, setup.journal)
        self.id = setup.broker_id
        self.settings = setup.settings
        self.config = KafkaConfig(setup.settings, setup.broker_id)
        self.release = setup.settings.release
        self.account = setup.account
        self.disk = Disk.of(setup.broker_id, setup.log_dirs)
        self.metadata_cache = setup.metadata_cache
        self.broker_epoch = -1
        self.behind = {}
        self.pushes_high_watermark = self.release.hw_completes_fetch and not setup.by_hand

    def log_start_moved(self, tp: TopicPartition) -> None:
        """Record that a log start has moved, so that the next checkpoint contains the new log start."""
        self.disk.moved_starts[tp] = None
        self.disk.log_starts_moved = True
        if tp in self.account.exposed:
            self.account.check_exposure(tp)
