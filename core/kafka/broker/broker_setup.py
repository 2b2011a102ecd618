"""The environment of a broker, which stays the same while the simulation runs."""

from __future__ import annotations

from typing import NamedTuple

from core.kafka.durability_observer import DurabilityObserver
from core.kafka.metadata_cache import MetadataCache
from core.kafka.settings.settings import Settings
from core.sim.journal import Journal
from core.sim.network import Network


class BrokerSetup(NamedTuple):
    """The parts and settings from which a broker is created.

    Attributes:
        broker_id: the ID of the broker (broker.id).
        rack: the broker's rack; None if it has none.
        log_dirs: the number of log directories.
        settings: the settings as this broker knows them.
        metadata_cache: what the broker knows of the cluster; nothing at first.
        network: the network that delivers the broker's messages.
        journal: the journal that records the broker's events.
        account: the durability account, to which the broker reports what happens to records.
        by_hand: whether fetchers, heartbeats, and checks run only on command.
        controllers: the names of the controllers; empty for a cluster with a single controller.
        seed: the seed of the broker's random streams.
    """

    broker_id: int
    rack: str | None
    log_dirs: int
    settings: Settings
    metadata_cache: MetadataCache
    network: Network
    journal: Journal
    account: DurabilityObserver
    by_hand: bool
    controllers: tuple[str, ...] = ()
    seed: int = 0
