"""The base class of producers and consumers, which handles connections and metadata (Kafka: `NetworkClient`, `Metadata`)."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Final

from core.kafka import errors, events
from core.kafka.clients.api_versions import ApiVersions
from core.kafka.clients.client_config import DEFAULT
from core.kafka.clients.client_context import ClientContext
from core.kafka.ids import NO_EPOCH, NO_LEADER, TopicPartition, broker_address
from core.kafka.messages import ApiVersionsRequest, ApiVersionsResponse, MetadataRequest, MetadataResponse
from core.sim.clock import RIGHT
from core.sim.kernel_messages import Disconnected
from core.sim.node import Node
from core.sim.units import US_PER_MS

NEVER: Final = -1
"""The time of an event that has not happened."""

POLL_DELAY: Final = 10 * US_PER_MS
"""The time that a client takes to notice that a request has timed out, in µs. A response that arrives before the client notices the timeout
is still handled.

Kafka: `NetworkClient#poll` calls `#handleTimedOutRequests` after it has handled the responses.
"""


class Client(Node, metaclass=ABCMeta):
    """The base class of clients. A client has one main topic; a producer can also write to other topics.

    Attributes:
        name: the client's name, which is also its address.
        topic: the main topic.
        brokers: the addresses of all brokers, which are the bootstrap servers unless the configuration names others.
        nodes: the addresses of the brokers that the client knows: the bootstrap servers until the first metadata arrives, and then the
            brokers that were alive according to the last metadata.
        account: the durability account.
        leaders: (leader, leader epoch) by partition, from the last metadata.
        other_leaders: (leader, leader epoch) by partition, for each other topic that the client writes to.
        config: the client's settings, which do not change after the client has started.
        clock: the client's own clock, which gives its records their timestamps.
        by_hand: whether the laboratory is in by-hand mode, in which metadata does not expire.
        topic_deleted: whether the last metadata says that the topic was deleted.
        deleted_epochs: the newest leader epochs, by partition, of topics that were deleted while the client was using them, if the client
            does not know the IDs of topics.
        api_versions: the feature levels that the client has learned about; None if no level has ever changed.
    """

    __slots__ = (
        "_attempts_since",
        "_connected",
        "_correlation",
        "_lacked_topic_at",
        "_metadata_correlation",
        "_metadata_node",
        "_reconnect",
        "_refreshed_at",
        "_wait_armed",
        "account",
        "api_versions",
        "brokers",
        "by_hand",
        "clock",
        "config",
        "deleted_epochs",
        "leaders",
        "name",
        "next_broker",
        "nodes",
        "other_leaders",
        "topic",
        "topic_deleted",
    )  # fmt: skip

    name: Final[str]
    topic: Final[str]
    other_leaders: Final[dict[str, list[tuple[int, int]]]]
    deleted_epochs: Final[dict[str, dict[int, int]]]
    _reconnect: Final[dict[str, tuple[int, int]]]
    _connected: Final[dict[str, None]]

    def __init__(self, name: str, topic: str, context: ClientContext) -> None:
        super().__init__(name, context.network, context.journal)
        self.name = name
        self.topic = topic
        self.brokers = tuple(broker_address(broker) for broker in context.brokers)
        self.nodes: tuple[str, ...] = ()
        self._attempts_since = NEVER
        self.account = context.account
        self.leaders: list[tuple[int, int]] = []
        self.other_leaders = {}
        self.config = DEFAULT
        self.clock = RIGHT
        self.by_hand = False
        self._correlation = 0
        self.next_broker = 0
        self._metadata_node = ""
        self._metadata_correlation = 0
        self._lacked_topic_at = NEVER
        self._refreshed_at = NEVER
        self._wait_armed = False
        self.topic_deleted = False
        self.deleted_epochs = {}
        self.api_versions: ApiVersions | None = None
        self._reconnect = {}
        self._connected = {}
        self.handlers.update(
            {
                MetadataResponse: self._metadata_arrived,
                ApiVersionsResponse: self._api_versions_arrived,
                Disconnected: self._disconnected,
            }
        )
        self.timers.update(
            {
                "metadata": self._metadata_due,
                "metadata-timeout": self._metadata_timed_out,
                "metadata-age": self._metadata_too_old,
            }
        )

    def handle(self, message: object, sender: str) -> None:
        """Handle a message, and mark its sender as connected."""
        if sender not in self._connected and sender != self.address and type(message) is not Disconnected:
            self._connected[sender] = None
            self._reconnect.pop(sender, None)
            if self.api_versions is not None:
                self.send(sender, ApiVersionsRequest())
        super().handle(message, sender)

    def reconnect_time(self, node: str) -> int:
        """Return the time at which the client will try to reconnect to a broker, in µs; 0 if the connection is not broken."""
        return self._reconnect[node][0] if node in self._reconnect else 0

    def is_connected(self, node: str) -> bool:
        """Return whether a broker has responded and the connection to it has not broken since."""
        return node in self._connected

    def is_reconnecting(self, node: str) -> bool:
        """Return whether the connection to a broker has broken, and the broker has not responded since."""
        return node in self._reconnect

    def first_node(self) -> str:
        """Return a broker for a request that the client sends before anything else: one that it has already contacted, if there is one."""
        return self._metadata_node or next(iter(self._connected), "") or self.known_nodes()[self.next_broker]

    def connection_failed(self, node: str) -> None:
        """Record a broken or refused connection. The backoff doubles with each consecutive failure."""
        self._connected.pop(node, None)
        config = self.config
        backoff = min(2 * self._reconnect[node][1], config.reconnect_backoff_max) if node in self._reconnect else config.reconnect_backoff
        self._reconnect[node] = (self.journal.now + backoff, backoff)

    def next_correlation(self) -> int:
        """Return the next correlation ID."""
        self._correlation += 1
        return self._correlation

    def leader_of(self, partition: int) -> int:
        """Return the leader of a partition from the last metadata; NO_LEADER if it is unknown."""
        return self.leaders[partition][0] if partition < len(self.leaders) else NO_LEADER

    def epoch_of(self, partition: int) -> int:
        """Return the leader epoch of a partition from the last metadata; NO_EPOCH if it is unknown."""
        return self.leaders[partition][1] if partition < len(self.leaders) else NO_EPOCH

    def current_leader(self, tp: TopicPartition) -> int:
        """Return the leader of a partition of any of the client's topics from the last metadata; NO_LEADER if it is unknown
        (`Metadata#currentLeader`)."""
        leaders = self.leaders_of(tp.topic)
        return leaders[tp.partition][0] if tp.partition < len(leaders) else NO_LEADER

    def leaders_of(self, topic: str) -> list[tuple[int, int]]:
        """Return (leader, leader epoch) by partition for one of the client's topics, from the last metadata."""
        return self.leaders if topic == self.topic else self.other_leaders[topic]

    def refresh_metadata(self) -> None:
        """Request metadata from a broker, unless such a request is already in flight."""
        if self._metadata_node:
            return
        self._rebootstrap_if_needed()
        self._metadata_node = broker = self.least_loaded_node()
        self._metadata_correlation = self.next_correlation()
        self.send(broker, MetadataRequest(self._metadata_correlation, self.topic, tuple(self.other_leaders)))
        self.timer(self.config.request_timeout, "metadata-timeout", self._metadata_correlation)

    def known_nodes(self) -> tuple[str, ...]:
        """Return the addresses of the brokers that the client knows."""
        return self.nodes or self.config.bootstrap or self.brokers

    def least_loaded_node(self) -> str:
        """Return the known broker to ask for metadata: one that is connected and owes the client no response; otherwise, any that is
        connected; otherwise, one that the client can try to connect to (`NetworkClient#leastLoadedNode`).

        Among equal brokers, each gets its turn. Kafka draws the first one at random.
        """
        now, nodes = self.journal.now, self.known_nodes()
        candidates = [nodes[(self.next_broker + i) % len(nodes)] for i in range(len(nodes))]
        connected = [broker for broker in candidates if self.is_connected(broker)]
        idle = [broker for broker in connected if not self.awaits_response(broker)]
        ready = [broker for broker in candidates if self.reconnect_time(broker) <= now]
        broker = (idle or connected or ready or candidates)[0]
        self.next_broker = (nodes.index(broker) + 1) % len(nodes)
        return broker

    def _rebootstrap_if_needed(self) -> None:
        """Go back to the bootstrap servers if no known broker can be asked (KIP-899), or if the client has tried in vain for
        metadata.recovery.rebootstrap.trigger.ms (KIP-1102).

        Without `metadata.recovery.strategy=rebootstrap`, a client knows only the brokers of its last metadata. If they are gone, it finds
        no broker. Kafka: `NetworkClient.DefaultMetadataUpdater#maybeUpdate`.
        """
        now, config = self.journal.now, self.config
        since = self._attempts_since
        if since == NEVER:
            self._attempts_since = now
        if not config.rebootstraps or not self.nodes:
            return
        available = any(self.is_connected(node) or self.reconnect_time(node) <= now for node in self.nodes)
        if not available or (since != NEVER and config.rebootstrap_trigger >= 0 and now > since + config.rebootstrap_trigger):
            known, self.nodes = self.nodes, ()
            if set(known) != set(self.known_nodes()):
                reason = (
                    "it got no metadata for metadata.recovery.rebootstrap.trigger.ms"
                    if available
                    else "no broker that it knows is available"
                )
                self.journal.emit(events.ClientRebootstrapped.kind, self.name, ", ".join(known), reason)
            self._attempts_since = now

    def awaits_response(self, node: str) -> bool:
        """Return whether a request to a broker is in flight."""
        return node == self._metadata_node

    def abandon_connection(self, node: str) -> None:
        """Close the connection to a broker that did not respond in time, and handle the loss of the connection."""
        self.network.disconnect(self.address, node)
        self.connection_failed(node)
        self.journal.blame(self.why_silent(node, self.journal.now - self.config.request_timeout))
        if self._metadata_node == node:
            self._metadata_failed()
        self.connection_lost(node)

    def await_metadata(self) -> None:
        """Request metadata, because the client cannot continue without it.

        If a topic was missing from the last response, wait at least retry.backoff.ms after that response (`Metadata#timeToNextUpdate`).
        """
        if self.topic_deleted or (self._lacked_topic_at != NEVER and self.journal.now < self._lacked_topic_at + self.config.retry_backoff):
            self.refresh_metadata_soon()
        else:
            self.refresh_metadata()

    def refresh_metadata_soon(self) -> None:
        """Request metadata as soon as the last refresh is at least retry.backoff.ms old, which is usually now (`Metadata#requestUpdate`,
        `#timeToAllowUpdate`). A refresh that failed counts, too.

        In by-hand mode, time stands still, and nothing follows without a command. Therefore, metadata is requested after retry.backoff.ms.
        """
        backoff = self.config.retry_backoff
        wait = backoff if self.by_hand else 0 if self._refreshed_at == NEVER else self._refreshed_at + backoff - self.journal.now
        if wait <= 0:
            self.refresh_metadata()
        elif not self._wait_armed:
            self._wait_armed = True
            self.timer(wait, "metadata")

    def _metadata_due(self, _: object) -> None:
        self._wait_armed = False
        self.refresh_metadata()

    def _metadata_timed_out(self, correlation: object) -> None:
        if self._metadata_node and correlation == self._metadata_correlation:
            self.abandon_connection(self._metadata_node)

    def _metadata_failed(self) -> None:
        """Request metadata again after retry.backoff.ms (`Metadata#failedUpdate`)."""
        self._metadata_node = ""
        self._refreshed_at = self.journal.now
        self.refresh_metadata_soon()

    def _metadata_arrived(self, response: MetadataResponse, _: str) -> None:
        if response.correlation != self._metadata_correlation:
            return
        self._metadata_node = ""
        self._refreshed_at = self.journal.now
        if response.brokers:
            self.nodes = tuple([broker_address(broker) for broker in response.brokers])
            self._attempts_since = NEVER
        self.topic_deleted = response.error != errors.NONE
        changed = self._merge(self.topic, response.leaders, response.error, response)
        others = [(topic, self._merge(topic, leaders, error, response)) for topic, leaders, error in response.others]
        if not (
            response.leaders and all(leaders for _, leaders, _ in response.others) and self.leaders and all(self.other_leaders.values())
        ):
            self._lacked_topic_at = self.journal.now
        if not self.by_hand:
            self.timer(self.config.metadata_max_age, "metadata-age", response.correlation)
        self.leaders_changed(changed)
        for topic, partitions in others:
            self.other_leaders_changed(topic, partitions)
        self.metadata_updated()

    def _merge(self, topic: str, found: tuple[tuple[int, int], ...], error: str, response: MetadataResponse) -> list[int]:
        """Update the known leaders of a topic from a metadata response, which might be older than what the client already knows. Return the
        partitions whose leader or leader epoch has changed (`Metadata#updateLatestMetadata`)."""
        known = self.leaders_of(topic)
        ignores_older = self.config.ignores_older_epochs and response.reliable_epochs
        if error != errors.NONE:
            if known and ignores_older and not (self.config.knows_topic_ids and response.topic_ids):
                deleted = self.deleted_epochs.setdefault(topic, {})
                deleted.update((partition, max(epoch, deleted.get(partition, epoch))) for partition, (_, epoch) in enumerate(known))
            known.clear()
        past = self.deleted_epochs.get(topic)
        if past and all(epoch < past.get(partition, epoch) for partition, (_, epoch) in enumerate(found)):
            return []
        changed = []
        for partition, (leader, epoch) in enumerate(found):
            if past and epoch < past.get(partition, epoch):
                leader, epoch = NO_LEADER, NO_EPOCH
            if partition >= len(known):
                known.append((leader, epoch))
            elif epoch >= known[partition][1] or not ignores_older:
                if known[partition] != (leader, epoch):
                    changed.append(partition)
                known[partition] = (leader, epoch)
        return changed

    def _api_versions_arrived(self, response: ApiVersionsResponse, _: str) -> None:
        if self.api_versions is not None:
            self.api_versions.update(response.epoch, response.transaction_version)

    def _metadata_too_old(self, correlation: object) -> None:
        if correlation == self._metadata_correlation:
            self.refresh_metadata()

    def leaders_changed(self, partitions: list[int]) -> None:
        """Handle metadata that contains new leaders or leader epochs for the given partitions of the main topic."""

    def other_leaders_changed(self, topic: str, partitions: list[int]) -> None:
        """Handle metadata that contains new leaders or leader epochs for the given partitions of another topic."""

    def _disconnected(self, message: Disconnected, _: str) -> None:
        self.connection_failed(message.node)
        if self._metadata_node == message.node:
            self._metadata_failed()
        self.connection_lost(message.node)

    @abstractmethod
    def metadata_updated(self) -> None:
        """Handle the arrival of new metadata."""

    @abstractmethod
    def connection_lost(self, node: str) -> None:
        """Handle a broken connection to a broker."""
