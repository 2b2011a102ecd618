"""The manager of a broker's fetchers, which passes each response from a leader to the right fetcher (Kafka: `ReplicaFetcherManager`)."""

from __future__ import annotations

from typing import Final

from core.kafka import errors, events
from core.kafka.broker.context import BrokerContext
from core.kafka.broker.follower.fetch_response import handle_fetch_response
from core.kafka.broker.follower.fetcher import Fetcher
from core.kafka.broker.follower.fetcher_owner import FetcherOwner
from core.kafka.broker.follower.offset_responses import handle_epoch_end_offsets, handle_offsets_response
from core.kafka.broker.partition import Partition
from core.kafka.broker.replication_quota import ReplicationQuota
from core.kafka.ids import TopicPartition
from core.kafka.messages import FetchResponse, ListOffsetsResponse, OffsetsForLeaderEpochResponse


class ReplicaFetcherManager:
    """The fetchers of one broker.

    Attributes:
        fetchers: the fetchers, keyed by the leader's broker ID and the fetcher's number.
        failed_partitions: the followed partitions that the broker has stopped fetching because of an error, until new metadata arrives
            (ordered set).
        shutting_down: the keys of the fetchers that end when the fetch in flight ends (before 1.1; ordered set).
        quota: the replication throttle of this broker as a follower.
    """

    __slots__ = ("broker", "failed_partitions", "fetchers", "owner", "quota", "shutting_down")

    broker: Final[BrokerContext]
    quota: Final[ReplicationQuota]
    owner: Final[FetcherOwner]
    fetchers: Final[dict[tuple[int, int], Fetcher]]
    failed_partitions: Final[dict[TopicPartition, None]]
    shutting_down: Final[dict[tuple[int, int], None]]

    def __init__(self, broker: BrokerContext, owner: FetcherOwner) -> None:
        self.broker = broker
        self.quota = ReplicationQuota()
        self.owner = owner
        self.fetchers = {}
        self.failed_partitions = {}
        self.shutting_down = {}
        broker.node.handlers.update(
            {
                FetchResponse: self._handle_fetch_response,
                OffsetsForLeaderEpochResponse: self._handle_epoch_end_offsets,
                ListOffsetsResponse: self._handle_offsets_response,
            }
        )
        broker.node.timers.update({"fetcher-wake": self._fetcher_wake, "fetcher-watch": self._fetcher_timeout})

    def refresh_settings(self, *, timeout_changed: bool) -> None:
        """Read the settings again, because they might have changed. `timeout_changed` tells that replica.socket.timeout.ms has changed."""
        self.quota.refresh("follower", self.broker.settings, self.broker.id)
        if timeout_changed:
            for fetcher in self.fetchers.values():
                fetcher.timeout_changed()

    def reset(self) -> None:
        """Forget all fetchers, because the process has ended."""
        self.fetchers.clear()
        self.failed_partitions.clear()
        self.shutting_down.clear()

    def disconnected(self, node: str) -> None:
        """Fail the fetches from a peer whose process has ended."""
        for fetcher in list(self.fetchers.values()):
            if fetcher.address == node:
                fetcher.disconnected(errors.NETWORK_EXCEPTION)
                self._fetch_ended(fetcher)

    def add(self, partition: Partition, leader: int, leader_epoch: int) -> None:
        """Start to fetch a partition from a leader (`AbstractFetcherManager#addFetcherForPartitions`)."""
        key = (leader, fetcher_id(partition.tp, self.broker.config.fetchers_per_leader))
        fetcher = self.fetchers.get(key)
        if fetcher is None:
            fetcher = self.fetchers[key] = Fetcher(self.broker, self.quota, self.owner, self.failed_partitions, *key)
        fetcher.add(partition, leader_epoch)

    def remove(self, tp: TopicPartition) -> None:
        """Stop fetching a partition if a fetcher is fetching it (`AbstractFetcherManager#removeFetcherForPartitions`)."""
        for fetcher in self.fetchers.values():
            fetcher.remove(tp)

    def fetcher_of(self, tp: TopicPartition) -> Fetcher | None:
        """Return the fetcher that follows a partition, or None."""
        return next((fetcher for fetcher in self.fetchers.values() if tp in fetcher.states), None)

    def forget_failure(self, tp: TopicPartition) -> None:
        """Forget that a partition failed, because its metadata changed or the partition was removed (`FailedPartitions#removeAll`)."""
        self.failed_partitions.pop(tp, None)

    def withdraw_idle_fetches(self) -> None:
        """Tell the network that the next fetch of each fetcher might differ from the last one."""
        for fetcher in self.fetchers.values():
            fetcher.withdraw_idle_fetch()

    def continue_in_epoch(self, tp: TopicPartition, leader_epoch: int) -> bool:
        """Keep fetching from the same leader in a new epoch, without truncating (before KAFKA-7164).

        Return False if no fetcher follows the partition.
        """
        fetcher = self.fetcher_of(tp)
        if fetcher is None:
            return False
        fetcher.continue_in_epoch(tp, leader_epoch)
        return True

    def shut_down_idle_fetchers(self) -> None:
        """Stop fetchers that have no partitions (`AbstractFetcherManager#shutdownIdleFetcherThreads`).

        Before 1.1, a fetcher does not end before the fetch in flight has a response, has timed out, or has lost its connection. In by-hand
        mode, where fetches wait for commands, every fetcher ends at once.
        """
        waits = self.broker.release.waits_for_stopped_fetchers and not self.broker.by_hand
        for key, fetcher in list(self.fetchers.items()):
            if not fetcher.states:
                if waits and fetcher.in_flight:
                    self.shutting_down[key] = None
                    self.broker.journal.emit(events.FetcherAwaited.kind, self.broker.id, fetcher.leader)
                else:
                    del self.fetchers[key]

    def forget_fetches(self) -> None:
        """Drop the fetches in flight. Each fetcher then begins a new fetch session."""
        for fetcher in list(self.fetchers.values()):
            if fetcher.in_flight:
                fetcher.abandon()
                self._fetch_ended(fetcher)

    def _fetch_ended(self, fetcher: Fetcher) -> None:
        """End a fetcher that was waiting for its last fetch. When the last of these fetchers has ended, the broker continues."""
        key = (fetcher.leader, fetcher.number)
        if key in self.shutting_down and not fetcher.in_flight:
            del self.shutting_down[key], self.fetchers[key]
            if not self.shutting_down:
                self.owner.fetchers_shut_down()

    def fetch_state(self, tp: TopicPartition) -> str:
        """Return the state of a followed partition: fetching, truncating, delayed (in a backoff, or held back by the replication quota),
        failed, or idle."""
        if tp in self.failed_partitions:
            return "failed"
        fetcher = self.fetcher_of(tp)
        if fetcher is None:
            return "idle"
        state = fetcher.states[tp]
        return "delayed" if state.throttled or state.delayed_until > self.broker.journal.now else state.state

    def _handle_fetch_response(self, response: FetchResponse, sender: str) -> None:
        fetcher = self._fetcher_from(sender, response.fetcher)
        if fetcher is not None:
            handle_fetch_response(fetcher, response)
            self._fetch_ended(fetcher)

    def _handle_epoch_end_offsets(self, response: OffsetsForLeaderEpochResponse, sender: str) -> None:
        fetcher = self._fetcher_from(sender, response.fetcher)
        if fetcher is not None:
            handle_epoch_end_offsets(fetcher, response)
            self._fetch_ended(fetcher)

    def _handle_offsets_response(self, response: ListOffsetsResponse, sender: str) -> None:
        fetcher = self._fetcher_from(sender, response.fetcher)
        if fetcher is not None:
            handle_offsets_response(fetcher, response)
            self._fetch_ended(fetcher)

    def _fetcher_from(self, sender: str, number: int) -> Fetcher | None:
        return self.fetchers.get((int(sender[1:]), number))

    def _fetcher_wake(self, about: object) -> None:
        fetcher = self.fetchers.get(about)  # type: ignore[call-overload]
        if fetcher is not None:
            fetcher.wake()

    def _fetcher_timeout(self, about: object) -> None:
        fetcher = self.fetchers.get(about)  # type: ignore[call-overload]
        if fetcher is not None:
            fetcher.check_timeout()
            self._fetch_ended(fetcher)


def fetcher_id(tp: TopicPartition, fetchers: int) -> int:
    """Return the ID of the fetcher that follows a partition, computed from 31·hash(topic)+partition
    (`AbstractFetcherManager#getFetcherId`).
    """
    if fetchers == 1:
        return 0
    code = 0
    for char in tp.topic:
        code = (31 * code + ord(char)) & 0xFFFFFFFF
    code = (31 * code + tp.partition) & 0xFFFFFFFF
    if code == 2**31:
        return 0  # the result of `Utils#abs` for the smallest int
    return min(code, 2**32 - code) % fetchers
