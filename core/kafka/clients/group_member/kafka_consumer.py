"""A consumer that is a member of a group: its readers, its membership, and the network that they share (Kafka: `KafkaConsumer`,
`ConsumerNetworkClient`)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection
from typing import Final

from core.kafka.clients.client import Client
from core.kafka.clients.client_context import ClientContext
from core.kafka.clients.group_member.member_config import MemberConfig
from core.kafka.clients.group_member.membership import Membership, new_membership
from core.kafka.clients.group_member.offset_commits import CommitKind, OffsetCommits
from core.kafka.clients.group_member.topic_reader import PolledRange, TopicReader
from core.kafka.group_coordinator.classic_group.classic_group_messages import Partitions
from core.kafka.group_coordinator.group_requests import OffsetToCommit
from core.kafka.ids import TopicPartition
from core.kafka.messages import ConsumerFetchResponse, ListOffsetsResponse, MetadataResponse, OffsetsForLeaderEpochResponse
from core.kafka.release import Release
from core.sim.kernel_messages import Disconnected, Timer

READER_MESSAGES: Final = frozenset({MetadataResponse, ConsumerFetchResponse, ListOffsetsResponse, OffsetsForLeaderEpochResponse})
"""The types of messages that the readers handle."""


class KafkaConsumer(Client):
    """The consumer of an application that is a member of a group.

    Attributes:
        does: the configuration of the consumer.
        release: the rules of the simulated Kafka release.
        coordinator: the membership in the group.
        commits: the component that commits offsets.
        readers: the readers, by topic.
        running: whether the process is running.
        failure: the exception that the next poll() throws; empty if there is none.
        fetches: whether fetches can be sent now.
        connections: the brokers that every topic reader of this consumer considers connected.
        unread: the messages that arrived while no thread was reading from the network.
    """

    __slots__ = (
        "_losing",
        "commits",
        "connections",
        "coordinator",
        "does",
        "failure",
        "fetches",
        "readers",
        "release",
        "running",
        "unread",
    )

    does: Final[MemberConfig]
    release: Final[Release]
    coordinator: Final[Membership]
    commits: Final[OffsetCommits]
    readers: Final[dict[str, TopicReader]]
    unread: Final[list[tuple[object, str]]]
    connections: Final[dict[str, None]]

    def __init__(
        self,
        name: str,
        does: MemberConfig,
        release: Release,
        context: ClientContext,
    ) -> None:
        super().__init__(name, does.topics[0], context)
        self.does = does
        self.release = release
        self.config = does.client
        self.coordinator = new_membership(self, does, release)
        self.commits = OffsetCommits(self, self.coordinator)
        self.readers = {}
        self.running = False
        self.failure = ""
        self.fetches = True
        self.unread = []
        self.connections = {}
        self._losing = False

    # --- what the application does ---------------------------------------------------------------------------------

    @property
    @abstractmethod
    def is_polling(self) -> bool:
        """Whether the application is in poll()."""

    @property
    @abstractmethod
    def calls_consumer(self) -> bool:
        """Whether the application is in poll() or in a commit, both of which read from the network."""

    @abstractmethod
    def commit_ended(self, kind: CommitKind, error: str) -> None:
        """Continue after a commit, even if the commit failed."""

    @abstractmethod
    def left(self) -> None:
        """Finish leaving the group, after the coordinator has responded to LeaveGroup."""

    def poll_fails(self, error: str) -> None:
        """Make poll() throw an exception. The application then closes the consumer."""
        if not self.failure:
            self.failure = error

    # --- reading ---------------------------------------------------------------------------------------------------

    def _reader(self, topic: str) -> TopicReader:
        known = self.readers.get(topic)
        if known is None:
            brokers = tuple(int(address[1:]) for address in self.brokers)
            known = self.readers[topic] = TopicReader(
                self, self.name, topic, self.does, self.release, ClientContext(brokers, self.network, self.journal, self.account)
            )
            known.incarnation, known.by_hand = self.incarnation, self.by_hand
            known.start()
            self.connections.clear()
        return known

    def _fetch(self) -> None:
        for reader in self.readers.values():
            if reader.stale:
                reader.fetch()

    def buffered_brokers(self) -> Collection[int]:
        """Return the brokers to which no fetch is sent, because records from them are waiting for poll()."""
        if not self.release.skips_buffered_brokers:
            return ()
        return {broker for reader in self.readers.values() if reader.buffer for broker in reader.buffered_brokers()}

    def _poll_records(self) -> tuple[PolledRange, ...]:
        room, polled = self.does.client.max_poll_records, []
        for reader in self.readers.values():
            if room and reader.buffer:
                found = reader.poll(room)
                room -= sum(each.end - each.start for each in found)
                polled += found
        return tuple(polled)

    def _consumed(self) -> tuple[OffsetToCommit, ...]:
        return tuple(each for reader in self.readers.values() for each in reader.offsets_to_commit())

    def pause_partitions(self, topic: str | None, partition: int | None) -> None:
        """Pause owned partitions: all of them, those of one topic, or a single one (`KafkaConsumer#pause`)."""
        for reader in self.readers.values():
            reader.stale = True
            if topic in (None, reader.topic):
                reader.paused.update({each: None for each in reader.assigned if partition in (None, each)})

    def resume_partitions(self, topic: str | None, partition: int | None) -> None:
        """Resume paused partitions (`KafkaConsumer#resume`)."""
        for reader in self.readers.values():
            reader.stale = True
            if topic in (None, reader.topic):
                for each in [each for each in reader.paused if partition in (None, each)]:
                    del reader.paused[each]

    # --- messages --------------------------------------------------------------------------------------------------

    def _read_network(self) -> None:
        """Handle the messages that no thread has read yet."""
        while self.unread and self.running and self.coordinator.reads_network:
            self._dispatch(*self.unread.pop(0))

    def _dispatch(self, message: object, sender: str) -> bool:
        """Pass a message or a timer to the components that it concerns. Return False if the message or timer changed nothing."""
        if isinstance(message, Timer):
            topic, colon, name = message.name.partition(":")
            if colon:
                return self.readers[topic].handle_timer(name, message.about)
            super().handle(message, sender)
        elif type(message) in READER_MESSAGES:
            known = sender in self.connections
            for reader in self.readers.values():
                if not known or reader.awaits(message, sender):
                    reader.handle(message, sender)
            self.connections[sender] = None
            if isinstance(message, ConsumerFetchResponse):
                return bool(message.partitions or message.preferred)
        else:
            if type(message) is Disconnected:
                for reader in self.readers.values():
                    reader.handle(message, sender)
            super().handle(message, sender)
        return True

    def refresh_metadata(self) -> None:
        """Request the metadata for all topics."""
        for reader in self.readers.values():
            reader.refresh_metadata()

    def refresh_metadata_soon(self) -> None:
        """Do nothing, because the readers request metadata themselves."""

    def metadata_updated(self) -> None:
        """Do nothing, because the readers handle metadata themselves."""

    def metadata_changed(self) -> None:
        """If this member is the leader of the group, check whether a topic has more partitions."""
        self.coordinator.check_metadata()

    def connection_lost(self, node: str) -> None:
        """Drop the requests to a broker."""
        if not self._losing:
            self._losing = True
            self.coordinator.calls.disconnected(node)
            for reader in self.readers.values():
                reader.connection_lost(node)
            self._losing = False

    def connection_forgotten(self, node: str) -> None:
        """Forget the connection to a broker, because a topic reader no longer considers it established. The next message from the broker is
        then passed to all topic readers.
        """
        self.connections.pop(node, None)

    def shared_connection_lost(self, node: str) -> None:
        """Handle the end of a connection to a broker: the connection broke, or a topic reader closed it."""
        if not self._losing:
            self.connection_failed(node)
            self.connection_lost(node)

    # --- what the membership and the commits need ------------------------------------------------------------------

    def partition_counts(self, topics: tuple[str, ...]) -> dict[str, int] | None:
        """Return the number of partitions of each topic that exists. If there is no metadata for a topic yet, request it, and return None."""
        readers = [self._reader(topic) for topic in topics]
        return {reader.topic: len(reader.leaders) for reader in readers if reader.leaders} if all(r.has_metadata for r in readers) else None

    def partitions_gone(self, tps: Partitions) -> None:
        """Stop reading the given partitions."""
        for tp in tps:
            self._reader(tp.topic).revoke(tp.partition)

    def partitions_added(self, tps: Partitions) -> None:
        """Begin to read the given partitions."""
        for tp in tps:
            self._reader(tp.topic).assign(tp.partition)

    def initializing(self) -> Partitions:
        """Return the partitions whose committed offset is not known yet."""
        return tuple(TopicPartition(topic, number) for topic, reader in self.readers.items() for number in reader.initializing)

    def start_at(self, tp: TopicPartition, offset: int, epoch: int) -> None:
        """Begin to read a partition at a committed offset. If the group has no committed offset (-1), auto.offset.reset determines where to
        begin."""
        self._reader(tp.topic).start_at(tp.partition, offset, epoch)
