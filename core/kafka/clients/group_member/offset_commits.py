"""How a member commits offsets and fetches committed offsets (Kafka: `ConsumerCoordinator#commitOffsetsSync`, `#fetchCommittedOffsets`)."""

from __future__ import annotations

import enum
from typing import Any, Final, Protocol

from core.kafka import errors
from core.kafka.clients.group_member.abstract_membership import COMMIT_FAILED, FATAL, REBALANCE_IN_PROGRESS
from core.kafka.clients.group_member.coordinator_calls import COORDINATOR_ERRORS, DISCONNECTED, CallingClient
from core.kafka.clients.group_member.membership import Membership
from core.kafka.group_coordinator.group_requests import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetToCommit,
)
from core.kafka.ids import NO_EPOCH, TopicPartition

TIMEOUT: Final = "TimeoutException"


class CommitKind(enum.Enum):
    """The reason why a consumer commits offsets. A synchronous commit is repeated until it succeeds or times out."""

    SYNC = "commitSync"
    ASYNC = "commitAsync"
    AUTO = "auto commit"
    PREPARE = "auto commit before a rebalance"
    CLOSE = "auto commit before the close"

    @property
    def waits(self) -> bool:
        """Whether the application waits for the result of the commit."""
        return self not in (CommitKind.ASYNC, CommitKind.AUTO)


class Commit:
    """A commit.

    Attributes:
        kind: the reason why the consumer commits.
        offsets: the offsets to commit.
        deadline: the time when a synchronous commit times out, in µs.
    """

    __slots__ = ("deadline", "kind", "offsets")

    kind: Final[CommitKind]
    offsets: Final[tuple[OffsetToCommit, ...]]
    deadline: Final[int]

    def __init__(self, kind: CommitKind, offsets: tuple[OffsetToCommit, ...], deadline: int) -> None:
        self.kind = kind
        self.offsets = offsets
        self.deadline = deadline


class CommittingApplication(CallingClient, Protocol):
    """The part of the consumer's interface that commits use."""

    @property
    def handlers(self) -> dict[type, Any]:
        """The message handlers, by message type."""

    @property
    def timers(self) -> dict[str, Any]:
        """The timer functions, by timer name."""

    def poll_fails(self, error: str, /) -> None:
        """Make poll() fail with an exception."""

    def commit_ended(self, kind: CommitKind, error: str, /) -> None:
        """Handle the result of a commit. `error` is the exception, or NONE if the commit succeeded."""

    def initializing(self) -> tuple[TopicPartition, ...]:
        """The partitions whose committed offsets the consumer needs."""

    def start_at(self, tp: TopicPartition, offset: int, epoch: int, /) -> None:
        """Begin to read a partition at a committed offset. If the group has no committed offset (-1), auto.offset.reset determines where to
        begin."""


class OffsetCommits:
    """Commits offsets for one consumer.

    Attributes:
        waiting: the commit whose result the application is waiting for; None if there is none.
        fetching: whether a request for committed offsets is in flight or is waiting to be repeated.
    """

    __slots__ = ("client", "coordinator", "fetching", "waiting")

    client: Final[CommittingApplication]
    coordinator: Final[Membership]

    def __init__(self, client: CommittingApplication, coordinator: Membership) -> None:
        self.client = client
        self.coordinator = coordinator
        self.waiting: Commit | None = None
        self.fetching = False
        client.handlers.update({OffsetCommitResponse: self._handle_commit, OffsetFetchResponse: self._handle_fetch})
        client.timers.update(
            {"commit-again": self._commit_again, "commit-timeout": self._commit_timeout, "offsets-again": self._fetch_again}
        )

    # --- OffsetCommit ----------------------------------------------------------------------------------------------

    def commit(self, kind: CommitKind, offsets: tuple[OffsetToCommit, ...], timeout: int) -> None:
        """Commit offsets. `commit_ended` is called with the result, possibly before this method returns."""
        now = self.client.journal.now
        commit = Commit(kind, offsets, now + timeout)
        if kind.waits:
            self.waiting = commit
            if offsets:
                self.client.timer(timeout, "commit-timeout", commit)
        if offsets:
            self._send(commit)
        else:
            self._end(commit, errors.NONE)

    def _send(self, commit: Commit) -> None:
        membership, calls = self.coordinator.commit_membership(), self.coordinator.calls
        if membership is None:
            self._end(commit, REBALANCE_IN_PROGRESS if self.coordinator.is_rebalancing else COMMIT_FAILED)
            return
        if not calls.coordinator:
            calls.find()
            self._repeat(commit, DISCONNECTED)
            return
        offsets = commit.offsets
        if not self.coordinator.does.commits_epochs:
            offsets = tuple((tp, offset, NO_EPOCH) for tp, offset, _ in offsets)
        correlation = calls.register(calls.coordinator, self._commit_failed, (commit, membership))
        self.client.send(calls.coordinator, OffsetCommitRequest(correlation, self.client.name, calls.group, membership, offsets))

    def _commit_failed(self, detail: object, error: str) -> None:
        assert isinstance(detail, tuple)
        self._repeat(detail[0], error)

    def _repeat(self, commit: Commit, error: str) -> None:
        """Repeat a synchronous commit after retry.backoff.ms. Asynchronous commits are not repeated."""
        if commit.kind.waits:
            self.client.timer(self.client.config.retry_backoff, "commit-again", commit)
        else:
            self._end(commit, error)

    def _commit_again(self, commit: object) -> None:
        if self.waiting is commit and self.waiting is not None:
            self._send(self.waiting)

    def _commit_timeout(self, commit: object) -> None:
        if self.waiting is commit and self.waiting is not None:
            self._end(self.waiting, TIMEOUT)

    def _handle_commit(self, response: OffsetCommitResponse, _: str) -> None:
        call = self.coordinator.calls.take(response.correlation)
        if call is None:
            return
        assert isinstance(call.detail, tuple)
        commit, membership = call.detail
        if commit.kind.waits and commit is not self.waiting:
            return
        error, coordinator = response.error, self.coordinator
        if error == errors.NONE:
            self._end(commit, error)
        elif error in COORDINATOR_ERRORS:
            coordinator.calls.coordinator_failed(error)
            self._repeat(commit, error)
        elif exception := coordinator.commit_refused(membership, error):
            self._end(commit, exception)
            if error in FATAL:
                self.client.poll_fails(exception)
        else:
            self._repeat(commit, error)

    def _end(self, commit: Commit, error: str) -> None:
        if commit is self.waiting:
            self.waiting = None
        if error != errors.NONE:
            self.coordinator.commit_failed(commit.offsets, error)
        self.client.commit_ended(commit.kind, error)

    # --- OffsetFetch -----------------------------------------------------------------------------------------------

    def fetch(self) -> None:
        """Request the committed offsets of the partitions that need one, unless such a request is already in flight."""
        calls, tps = self.coordinator.calls, self.client.initializing()
        if self.fetching or not tps or not calls.coordinator:
            return
        self.fetching = True
        correlation = calls.register(calls.coordinator, self._fetch_failed, None)
        self.client.send(calls.coordinator, OffsetFetchRequest(correlation, calls.group, tps, True))

    def _fetch_failed(self, _: object, __: str) -> None:
        self.client.timer(self.client.config.retry_backoff, "offsets-again")

    def _fetch_again(self, _: object) -> None:
        self.fetching = False

    def _handle_fetch(self, response: OffsetFetchResponse, _: str) -> None:
        calls = self.coordinator.calls
        if calls.take(response.correlation) is None:
            return
        error = next((each[3] for each in response.offsets if each[3] != errors.NONE), response.error)
        if error == errors.NONE:
            self.fetching = False
            for tp, offset, epoch, _ in response.offsets:
                self.client.start_at(tp, offset, epoch)
            return
        if error in COORDINATOR_ERRORS:
            calls.coordinator_failed(error)
        self._fetch_failed(None, error)
