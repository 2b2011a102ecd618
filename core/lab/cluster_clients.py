"""The clients of a cluster: producers, consumers, processes, and the workers of services."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from typing import Final

from core.kafka.applications.processes.process import Process
from core.kafka.applications.services.service_worker import ServiceWorker
from core.kafka.broker.broker import Broker
from core.kafka.clients.api_versions import ApiVersions
from core.kafka.clients.client import Client
from core.kafka.clients.client_context import ClientContext
from core.kafka.clients.consumer.consumer import Consumer
from core.kafka.clients.consumer.group_consumer import PolledRecords
from core.kafka.clients.group_member.group_member import GroupMember
from core.kafka.clients.producer.producer import Producer
from core.kafka.controller.metadata_log import MetadataLog
from core.kafka.release import Release
from core.lab.accounts.durability_account import DurabilityAccount
from core.lab.accounts.missed_records import RecordsInHand
from core.sim.journal import Journal
from core.sim.network import Network
from core.sim.node import Node


class ClusterClients(Mapping[str, Client]):
    """The clients of a cluster, by name. A client that is added becomes a node of the cluster."""

    __slots__ = ("_account", "_brokers", "_by_name", "_journal", "_metadata", "_network", "_nodes", "_release")

    _by_name: Final[dict[str, Client]]
    _nodes: Final[dict[str, Node]]
    _brokers: Final[dict[int, Broker]]
    _network: Final[Network]
    _journal: Final[Journal]
    _account: Final[DurabilityAccount]
    _metadata: Final[MetadataLog]
    _release: Final[Release]

    def __init__(
        self, nodes: dict[str, Node], brokers: dict[int, Broker], network: Network, journal: Journal, account: DurabilityAccount,
        metadata: MetadataLog, release: Release,
    ) -> None:  # fmt: skip
        self._by_name = {}
        self._nodes = nodes
        self._brokers = brokers
        self._network = network
        self._journal = journal
        self._account = account
        self._metadata = metadata
        self._release = release

    def __getitem__(self, name: str) -> Client:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def values(self) -> ValuesView[Client]:
        """Return the clients."""
        return self._by_name.values()

    def items(self) -> ItemsView[str, Client]:
        """Return the names and the clients."""
        return self._by_name.items()

    # --- a new client ----------------------------------------------------------------------------------------------

    def context(self) -> ClientContext:
        """Return the surroundings of a client that knows all brokers."""
        return ClientContext(tuple(self._brokers), self._network, self._journal, self._account)

    def add(self, client: Client, *, by_hand: bool) -> None:
        """Add a client, or replace the client that had its name. `by_hand` is whether the cluster is in by-hand mode."""
        client.by_hand = by_hand
        if self._metadata.changes_features or any(each.api_versions is not None for each in self.values()):
            client.api_versions = ApiVersions()
        self._by_name[client.name] = client
        self._nodes[client.address] = client
        self._network.disturbances.started(client.address, self._journal.cause)
        if self._release.clients_ask_api_versions:
            self._network.greets.add(client.address)

    # --- clients of one kind ---------------------------------------------------------------------------------------

    def producer(self, name: str) -> Producer | None:
        """Return the producer with the given name; None if there is none."""
        client = self.get(name)
        return client if isinstance(client, Producer) else None

    def consumer(self, name: str) -> Consumer | None:
        """Return the consumer with the given name; None if there is none."""
        client = self.get(name)
        return client if isinstance(client, Consumer) else None

    def process(self, name: str) -> Process | None:
        """Return the process with the given name; None if there is none."""
        client = self.get(name)
        return client if isinstance(client, Process) else None

    def member(self, name: str) -> GroupMember | None:
        """Return the consumer with the given name that belongs to a group; None if there is none."""
        client = self.get(name)
        return client if isinstance(client, GroupMember) else None

    def workers(self, service: str) -> tuple[ServiceWorker, ...]:
        """Return the workers of a service."""
        return tuple(client for client in self.values() if isinstance(client, ServiceWorker) and client.does.service == service)

    # --- what the members of a group hold --------------------------------------------------------------------------

    def records_in_hand(self, group: str) -> tuple[PolledRecords, ...]:
        """Return the records that the running processes and workers of a group have polled but not finished."""
        processes = [client for client in self.values() if isinstance(client, Process)]
        workers = [client for client in self.values() if isinstance(client, ServiceWorker)]
        return (
            *(each for process in processes if process.running and process.does.group == group for each in process.polled),
            *(each for worker in workers if worker.running and worker.does.group == group for each in worker.in_hand()),
        )

    def polled_by_members(self, group: str) -> tuple[RecordsInHand, ...]:
        """Return the records that the running members of a group have polled but not processed."""
        members = [client for client in self.values() if isinstance(client, GroupMember)]
        return tuple(RecordsInHand(*each) for member in members if member.running and member.does.group == group for each in member.batch)
