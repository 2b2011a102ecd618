"""The surroundings of a client: what every client is given when it is created."""

from __future__ import annotations

from typing import NamedTuple

from core.kafka.durability_observer import DurabilityObserver
from core.sim.journal import Journal
from core.sim.network import Network


class ClientContext(NamedTuple):
    """The surroundings of a client.

    Attributes:
        brokers: the bootstrap servers.
        network: the network.
        journal: the journal, in which the client records events.
        account: the durability account, which the client tells what it has produced and consumed.
    """

    brokers: tuple[int, ...]
    network: Network
    journal: Journal
    account: DurabilityObserver
