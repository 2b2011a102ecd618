"""The transactions of a producer with a transactional.id (Kafka: `TransactionManager`).

The application requests the next step: initialize, begin, commit, or abort. For each step, the manager sends requests to the transaction
coordinator, one at a time. Before transaction.version 2, the first batch for a partition is sent only after the coordinator has added the
partition to the transaction. The transaction ends only when every batch is acknowledged or abandoned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from core.kafka import errors, events
from core.kafka.clients.client import Client
from core.kafka.clients.producer.coordinator_requests import CoordinatorRequests
from core.kafka.clients.producer.producer_sequences import ProducerSequences
from core.kafka.clients.producer.producer_transaction_state import (
    ABORT,
    BEGIN,
    COMMIT,
    INIT,
    SEND,
    TARGETS,
    IllegalStateError,
    ProducerTransactionState,
    impossible_call,
)
from core.kafka.clients.producer.transactional_offsets import AddOffsets, CommitOffsets
from core.kafka.clients.producer.transactional_requests import AddPartitions, EndTxn, FindCoordinator, InitProducerId, TxnRequest
from core.kafka.group_coordinator.group_requests import NOT_A_MEMBER, GroupMembership, OffsetToCommit, TxnOffsetCommitResponse
from core.kafka.ids import TopicPartition
from core.kafka.release import Release
from core.kafka.transaction.transaction_messages import (
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnResponse,
    EndTxnResponse,
    FindCoordinatorResponse,
    InitTransactionalIdResponse,
)

_S = ProducerTransactionState

ABORTED: Final = "TransactionAbortedException"
"""The error for a batch that an abort drops before the producer sends the batch."""

OFFSETS: Final = "sendOffsetsToTransaction"
"""The call that includes the offsets of a group in a transaction."""

FATAL_FROM_LEADERS: Final = frozenset({errors.PRODUCER_FENCED, errors.UNSUPPORTED_VERSION})
"""The errors for a batch after which the producer can no longer be used (`TransactionManager#maybeTransitionToErrorState`)."""

FATAL_WITHOUT_BUMP: Final = frozenset({errors.OUT_OF_ORDER_SEQUENCE_NUMBER, errors.UNKNOWN_PRODUCER_ID, errors.INVALID_PRODUCER_ID_MAPPING})
"""The errors that are fatal if the producer cannot get a new epoch (before 2.5)."""


RESPONSES: Final = (
    FindCoordinatorResponse, InitTransactionalIdResponse, AddPartitionsToTxnResponse, AddOffsetsToTxnResponse, TxnOffsetCommitResponse,
    EndTxnResponse,
)  # fmt: skip
"""The types of responses from coordinators."""


class TransactionManager:
    """The transactions of one producer.

    Attributes:
        client: the producer as a client, which sends the requests.
        wakeup: lets the sender send the next request, or batches that can now be sent (`Sender#wakeup`).
        sequences: the producer ID, epoch, and sequence numbers.
        release: the rules of the simulated Kafka release.
        transactional_id: the transactional.id.
        timeout_us: transaction.timeout.ms, in µs.
        version: the feature level `transaction.version` that the producer uses.
        state: the current state.
        last_error: the error that caused an error state; empty in other states.
        call: the application's call that has no result yet; empty if there is none.
        awaited: the number of calls for whose results the application has waited.
        repeats_calls: whether the application is a program that makes a call that has timed out again at once, until it has a result.
        timed_out: the call that has timed out and that the application has not made again yet; empty if there is none, or in releases
            without such a rule.
        sends_offsets: whether the application is waiting until the group coordinator has its offsets.
        started: whether a partition has been added, which means that the coordinator knows about the transaction.
        bump_required: whether the producer must use InitProducerId to get a new epoch after the abort (KIP-360).
        partitions: the partitions of the transaction.
        new_partitions: the partitions that have not been included in a request yet.
        requests: the requests to the coordinators.
    """

    __slots__ = (
        "awaited", "bump_required", "call", "client", "last_error", "new_partitions", "partitions", "release", "repeats_calls", "requests", "sends_offsets",
        "sequences", "started", "state", "timed_out", "timeout_us", "transactional_id", "version", "wakeup",
    )  # fmt: skip

    client: Final[Client]
    wakeup: Final[Callable[[], None]]
    sequences: Final[ProducerSequences]
    release: Final[Release]
    requests: Final[CoordinatorRequests]

    def __init__(
        self,
        client: Client,
        wakeup: Callable[[], None],
        sequences: ProducerSequences,
        release: Release,
        transactional_id: str,
        timeout_us: int,
    ) -> None:
        self.client = client
        self.wakeup = wakeup
        self.sequences = sequences
        self.release = release
        self.transactional_id = transactional_id
        self.timeout_us = timeout_us
        self.version = release.transaction_version if client.api_versions is None else 0
        self.state = _S.UNINITIALIZED
        self.last_error = ""
        self.call = ""
        self.awaited = 0
        self.repeats_calls = False
        self.timed_out = ""
        self.sends_offsets = False
        self.started = False
        self.bump_required = False
        self.partitions: dict[TopicPartition, None] = {}
        self.new_partitions: dict[TopicPartition, None] = {}
        self.requests = CoordinatorRequests(client, self)
        for kind in RESPONSES:
            client.handlers[kind] = self.handle_response
        client.timers.update(
            {"transaction-retry": self._back_off_expired, "transaction-timeout": self._timed_out, "max-wait": self._call_timed_out}
        )

    @property
    def name(self) -> str:
        """The name of the producer."""
        return self.client.name

    @property
    def producer_id(self) -> int:
        """The producer ID."""
        return self.sequences.producer_id

    @property
    def producer_epoch(self) -> int:
        """The producer epoch."""
        return self.sequences.producer_epoch

    # --- the calls of the application ------------------------------------------------------------------------------

    def refusal(self, call: str) -> str:
        """Return the reason why the application cannot make a call now (Kafka throws `IllegalStateException` or `KafkaException`). Return
        an empty string if the call is possible."""
        if self.timed_out:
            if call == self.timed_out:
                return ""
            return f"Cannot attempt operation `{call}` because the previous call to `{self.timed_out}` timed out and must be retried"
        if self.call and call != self.call:
            return f"producer {self.name} is still waiting for the result of {self.call}; until then, only {self.call} can be called again"
        if self.call:
            return ""
        return impossible_call(call, self.state, self.transactional_id, self.last_error)

    def check(self, call: str) -> None:
        """Check that the application can make a call now.

        Raises:
            IllegalStateError: the producer's current state does not allow the call. The error message is the same as in Kafka.
        """
        refusal = self.refusal(call)
        if refusal:
            raise IllegalStateError(refusal)

    def init(self) -> None:
        """Get a producer ID from the coordinator, which fences earlier producers that have the same transactional.id
        (`#initializeTransactions`).

        Raises:
            IllegalStateError: the producer's current state does not allow the call.
        """
        self.check(INIT)
        if self._repeats_timed_out_call() or self.call:
            self._await(INIT)
            return
        self.call = INIT
        self._transition(_S.INITIALIZING)
        self.requests.enqueue(InitProducerId(-1, -1))
        self.wakeup()
        self._await(INIT)

    def begin(self) -> None:
        """Begin a transaction, which no broker knows about yet (`#beginTransaction`).

        Raises:
            IllegalStateError: the producer's current state does not allow the call.
        """
        self.check(BEGIN)
        self._transition(_S.IN_TRANSACTION)
        self.client.journal.emit(events.TransactionBegun.kind, self.name, self.transactional_id, self.producer_id, self.producer_epoch)

    def add_partition(self, tp: TopicPartition) -> None:
        """Record that the application sends records to a partition (`#maybeAddPartition`). Before transaction.version 2, the next
        request asks the coordinator to add the partition to the transaction."""
        if tp in self.partitions or tp in self.new_partitions:
            return
        if self.version >= 2:  # the leader of the partition adds it
            self.partitions[tp] = None
            self.started = True
        else:
            self.new_partitions[tp] = None

    def send_offsets(self, group: str, offsets: tuple[OffsetToCommit, ...], membership: GroupMembership = NOT_A_MEMBER) -> None:
        """Include the offsets of a group in the transaction. The call has ended when `sends_offsets` is False.

        Kafka: `#sendOffsetsToTransaction`. The default `membership` is that of a client that is not a member of the group.

        Raises:
            IllegalStateError: the producer's current state does not allow the call.
        """
        self.check(SEND)
        self.sends_offsets = True
        commit = CommitOffsets(group, membership, offsets)
        if self.version >= 2:  # the group coordinator adds its partition
            self.started = True
            self.requests.enqueue(commit)
        else:
            self.requests.enqueue(AddOffsets(commit))
        self.wakeup()
        self._await(OFFSETS)

    def commit(self) -> None:
        """Commit the transaction when all batches are acknowledged (`#beginCommit`).

        Raises:
            IllegalStateError: the producer's current state does not allow the call.
        """
        self._end(COMMIT)

    def abort(self) -> None:
        """Abort the transaction, and drop batches that were never sent (`#beginAbort`).

        Raises:
            IllegalStateError: the producer's current state does not allow the call.
        """
        self._end(ABORT)

    def _end(self, call: str) -> None:
        self.check(call)
        if self._repeats_timed_out_call() or self.call:
            self._await(call)
            return
        self.call = call
        unknown_to_coordinator = self.last_error == errors.INVALID_PRODUCER_ID_MAPPING
        self._transition(TARGETS[call])
        if call == ABORT:
            self.new_partitions.clear()
        if unknown_to_coordinator:
            self.requests.waiting = ()
            self._complete("")
        else:
            end = EndTxn(commit=call == COMMIT, version=self.version)
            self._update_version()
            self.requests.enqueue(end)
        self.wakeup()
        self._await(call)

    def _repeats_timed_out_call(self) -> bool:
        """Return whether the application makes a call again that has timed out. The call then has the result of the first one, which might
        have arrived in the meantime (`#handleCachedTransactionRequestResult`)."""
        repeats, self.timed_out = bool(self.timed_out), ""
        return repeats

    def _await(self, call: str) -> None:
        """Limit the time for which the application waits for the result of a call to max.block.ms (`TransactionalRequestResult#await`)."""
        self.awaited += 1
        if call in self.release.limited_calls and self._is_pending(call):
            self.client.timer(self.client.config.max_block, "max-wait", (call, self.awaited))

    def _is_pending(self, call: str) -> bool:
        return self.sends_offsets if call == OFFSETS else self.call == call

    def _call_timed_out(self, about: object) -> None:
        """Let a call fail with a TimeoutException, because it has no result after max.block.ms. The requests continue, and the application
        can make the same call again, which then waits for the same result. Since 3.2, it cannot make another call before that, even if the
        result has arrived in the meantime."""
        assert isinstance(about, tuple)
        call, number = about
        if number == self.awaited and self._is_pending(call):
            self.client.journal.emit(
                events.TransactionCallTimedOut.kind, self.name, self.transactional_id, call, self.client.config.max_block
            )
            if self.release.timed_out_call_must_be_repeated and call != OFFSETS and not self.repeats_calls:
                self.timed_out = call

    def _update_version(self, *, initial: bool = False) -> None:
        """Adopt the level of `transaction.version` that the client has learned about (`#maybeUpdateTransactionV2Enabled`).

        If a producer switches to transaction.version 2 after it has started, it gets a new epoch before its next transaction (KAFKA-18227).
        """
        if self.client.api_versions is not None:
            former, self.version = self.version, self.client.api_versions.transaction_version
            self.bump_required = self.bump_required or (not initial and former < 2 <= self.version)

    # --- what the producer reports ---------------------------------------------------------------------------------

    def is_send_allowed(self, tp: TopicPartition) -> bool:
        """Return whether batches can be sent to a partition, which must belong to the transaction (`#isSendToPartitionAllowed`).

        While a request to a coordinator is in flight or is waiting for its backoff to end, nothing else is sent (`Sender#runOnce`).
        """
        return self.state is not _S.FATAL_ERROR and tp in self.partitions and self.requests.in_flight is None

    def batch_failed(self, error: str) -> None:
        """Handle a batch that the producer gave up on (`#maybeTransitionToErrorState`)."""
        fenced = error == errors.INVALID_PRODUCER_EPOCH and not self.release.producer_fenced
        if error in FATAL_FROM_LEADERS or fenced or self._is_fatal(error):
            self.fail(error)
        else:
            if not self.state.is_completing:
                self._require_bump()
            self._become_abortable(error)

    def sequences_missing(self, error: str) -> None:
        """Handle batches that might or might not have been appended and therefore prevent other batches from being sent
        (`#maybeResolveSequences`)."""
        if not self.release.bumps_producer_epoch:
            self.fail(error)
            return
        self._require_bump()
        self._become_abortable(error)

    def disconnected(self, node: str) -> None:
        """Handle a broken connection to a broker."""
        self.requests.disconnected(node)
        self.wakeup()

    # --- requests --------------------------------------------------------------------------------------------------

    @property
    def has_fatal_error(self) -> bool:
        """Whether the producer can no longer be used (`#hasFatalError`)."""
        return self.state is _S.FATAL_ERROR

    @property
    def has_in_flight_request(self) -> bool:
        """Whether a request is in flight or is waiting for its backoff to end (`#hasInFlightRequest`)."""
        return self.requests.in_flight is not None

    @property
    def drops_unsent_batches(self) -> bool:
        """Whether batches that were never sent are dropped, because the transaction will be aborted."""
        return self.state in (_S.ABORTABLE_ERROR, _S.ABORTING_TRANSACTION)

    def drop_requests(self) -> None:
        """Forget the requests that were not sent, because the producer can no longer be used."""
        self.requests.waiting = ()

    def send_next_request(self, has_incomplete_batches: bool) -> bool:
        """Send the next request in the queue. While there are incomplete batches, the transaction does not end. Return whether a request was
        sent."""
        request = self._next_request(has_incomplete_batches)
        if request is None:
            return False
        self.requests.send(request)
        return True

    def _next_request(self, has_incomplete_batches: bool) -> TxnRequest | None:
        """Remove and return the next request in the queue (`#nextRequest`)."""
        requests = self.requests
        if self.new_partitions:
            requests.enqueue(AddPartitions(tuple(self.new_partitions)))
            self.new_partitions.clear()
        while requests.waiting:
            request = requests.waiting[0]
            if isinstance(request, EndTxn) and has_incomplete_batches:
                return None
            requests.waiting = requests.waiting[1:]
            if self.state is _S.ABORTABLE_ERROR and not isinstance(request, FindCoordinator):
                if isinstance(request, EndTxn):
                    self.call = ""
                continue  # the request fails with the error of the transaction (`#maybeTerminateRequestWithError`)
            if isinstance(request, EndTxn) and not self.started:
                self._complete(self._marker())  # the coordinator knows nothing of the transaction
                continue
            return request
        return None

    def handle_response(self, response: Any, _: str) -> None:
        """Handle the response to the request in flight. Ignore responses to earlier requests."""
        request = self.requests.take_answered(response.correlation)
        if request is not None:
            if self.state is not _S.FATAL_ERROR:
                request.answered(self, response)
            self.wakeup()

    def _back_off_expired(self, _: object) -> None:
        if self.state is _S.FATAL_ERROR:
            self.requests.in_flight = None
        else:
            self.requests.send_now()

    def _timed_out(self, correlation: object) -> None:
        if self.requests.in_flight is not None and correlation == self.requests.correlation:
            self.client.abandon_connection(self.requests.node)

    # --- what follows from answers ---------------------------------------------------------------------------------

    def retry(self, request: TxnRequest, backoff: int | None = None) -> None:
        """Send a request again after a backoff in µs, which is retry.backoff.ms by default."""
        self.requests.retry(request, backoff)

    def look_up_coordinator(self, key: str, group: bool) -> None:
        """Forget a coordinator, and look it up again."""
        self.requests.look_up_coordinator(key, group)

    def found_coordinator(self, key: str, group: bool, node: str) -> None:
        """Record the coordinator of a transactional.id or a group."""
        self.requests.coordinators[key, group] = node

    def initialized(self, producer_id: int, producer_epoch: int, *, bumped: bool) -> None:
        """Adopt the producer ID and epoch from InitProducerId. If `bumped` is true, sequence numbers restart at 0."""
        if bumped:
            self.sequences.reset()
        self.sequences.set_producer_id(producer_id, producer_epoch)
        if not bumped:
            self._update_version(initial=True)
        self.call = ""
        self._transition(_S.READY)

    def partitions_added(self, partitions: tuple[TopicPartition, ...]) -> None:
        """Record that the coordinator added partitions to the transaction, so that the batches for these partitions can be sent."""
        self.partitions.update(dict.fromkeys(partitions))
        self.started = True

    def offsets_added(self, commit: TxnRequest) -> None:
        """Send the offsets of a group, because their partition now belongs to the transaction."""
        self.started = True
        self.requests.enqueue(commit)

    def offsets_committed(self) -> None:
        """Record that the group coordinator has the offsets."""
        self.sends_offsets = False

    def ended(self, producer_id: int, producer_epoch: int) -> None:
        """Record that the coordinator has decided to commit or abort the transaction. With transaction.version 2, the next transaction uses
        a new epoch or producer ID.
        """
        marker = self._marker()
        ended_id, ended_epoch = self.producer_id, self.producer_epoch
        if producer_id >= 0:
            self.sequences.reset()
            self.sequences.set_producer_id(producer_id, producer_epoch)
        self._complete(marker, ended_id, ended_epoch)

    def _marker(self) -> str:
        return "COMMIT" if self.state is _S.COMMITTING_TRANSACTION else "ABORT"

    def _complete(self, marker: str, producer_id: int = -1, producer_epoch: int = -1) -> None:
        """Forget the transaction. If a new epoch is required, request it (`#completeTransaction`)."""
        if producer_id < 0:
            producer_id, producer_epoch = self.producer_id, self.producer_epoch
        if marker:
            self.client.journal.emit(events.TransactionEnded.kind, self.name, self.transactional_id, producer_id, producer_epoch, marker)
        bumps = self.bump_required
        self.bump_required = self.started = self.sends_offsets = False
        self.partitions.clear()
        self.new_partitions.clear()
        if bumps:
            self._transition(_S.INITIALIZING)
            self.requests.enqueue(InitProducerId(self.producer_id, self.producer_epoch))
        else:
            self.call = ""
            self._transition(_S.READY)

    # --- errors ----------------------------------------------------------------------------------------------------

    def fail(self, error: str) -> None:
        """Treat an error as fatal."""
        if self.state is not _S.FATAL_ERROR:
            self._transition(_S.FATAL_ERROR, error)

    def fail_transaction(self, error: str, *, bump: bool = False) -> None:
        """Treat an error as abortable. If `bump` is true, the producer must get a new epoch after the abort (`#abortableErrorIfPossible`)."""
        if (bump and not self.release.bumps_producer_epoch) or self._is_fatal(error):
            self.fail(error)
        elif self.state is _S.ABORTING_TRANSACTION and bump:
            self._require_bump()
            self._complete("ABORT")
        else:
            if bump:
                self._require_bump()
            self._become_abortable(error)

    def _is_fatal(self, error: str) -> bool:
        """Return whether an error that other releases treat as abortable is fatal in this release."""
        if error == errors.INVALID_PRODUCER_ID_MAPPING and self.release.unknown_producer_is_fatal:
            return True
        return error in FATAL_WITHOUT_BUMP and not self.release.bumps_producer_epoch

    def _require_bump(self) -> None:
        """Require a new epoch after the abort, unless the coordinator always changes the epoch (transaction.version 2)."""
        self.bump_required = self.bump_required or (self.release.bumps_producer_epoch and self.version < 2)

    def _become_abortable(self, error: str) -> None:
        """Enter the state in which the transaction can only be aborted. Ignore errors during an abort. If there are several errors, keep
        the first one (`#transitionToAbortableError`).
        """
        if self.state in (_S.ABORTING_TRANSACTION, _S.FATAL_ERROR, _S.ABORTABLE_ERROR):
            return
        self._transition(_S.ABORTABLE_ERROR, error)

    def _waits_to_end(self) -> bool:
        """Return whether a commit or an abort is waiting for batches.

        The application's call fails only after every batch has been answered or abandoned.
        """
        return any(isinstance(request, EndTxn) for request in self.requests.waiting)

    def _transition(self, target: ProducerTransactionState, error: str = "") -> None:
        """Enter a new state. An impossible transition is a bug in the producer; since 3.6, it is fatal (KAFKA-14831)."""
        former = self.state
        if not target.can_follow(former):
            error = f"Invalid transition attempted from state {former.value} to state {target.value}"
            if not self.release.invalid_transition_is_fatal:
                raise IllegalStateError(error)
            target = _S.FATAL_ERROR
        self.state, self.last_error = target, error
        journal = self.client.journal
        if target in (_S.ABORTABLE_ERROR, _S.FATAL_ERROR):
            if target is _S.FATAL_ERROR or not self._waits_to_end():
                self.call = ""
            journal.cause = journal.emit(
                events.ProducerStateChanged.kind, self.name, self.transactional_id, former.value, target.value, error
            )
        elif target is _S.READY and former is _S.INITIALIZING:
            journal.emit(events.ProducerStateChanged.kind, self.name, self.transactional_id, former.value, target.value, "")
