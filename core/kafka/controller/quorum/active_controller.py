"""The active controller, which is the role of the metadata quorum's leader (Kafka: `QuorumController`, `KafkaRaftClient.Listener`).

The active controller receives requests from brokers, appends the requests that change metadata, and responds when these requests are
committed.

Kafka's active controller immediately generates records from a state that can still be rolled back. Kafka's active controller holds its
responses in a purgatory until the records are committed. In isrlab, the active controller appends the request itself to the log, and
executes the request when it is committed. The resulting metadata records are the same in Kafka and in isrlab, because requests take effect
in log order in both. However, isrlab never shows a state that could be rolled back. As in Kafka, heartbeats that change nothing are not
written to the log. Because only the active controller knows when each broker last sent a heartbeat, its successor starts with new sessions
(`ClusterControlManager#activate`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from core.kafka import errors
from core.kafka.controller.broker_heartbeat_manager import BrokerControlState, BrokerHeartbeatManager
from core.kafka.controller.metadata_log import BrokerRegistration
from core.kafka.controller.quorum.raft_messages import BrokerWrite, FenceStaleBroker, PeriodicWrite, QuorumEntry
from core.kafka.controller.quorum_controller import CONTINUE_DELAY
from core.kafka.ids import broker_address
from core.kafka.messages import BrokerHeartbeatRequest, BrokerHeartbeatResponse, MetadataFetchRequest, MetadataFetchResponse, NotController
from core.kafka.release import Release
from core.sim.node import Node
from core.sim.units import US_PER_MS

METADATA_WAIT: Final = 500 * US_PER_MS
"""The maximum time that a broker's metadata fetch waits for new records, in µs (`KafkaRaftClient.MAX_FETCH_WAIT_MS`)."""


class LeaderVoter(Protocol):
    """The interface through which an active controller uses the voter that leads the epoch."""

    @property
    def host(self) -> Node: ...
    @property
    def epoch(self) -> int: ...
    @property
    def log(self) -> Sequence[QuorumEntry]: ...
    @property
    def high_watermark(self) -> int: ...

    def append(self, write: object) -> None: ...
    def send_response(self, node: str, message: object) -> None: ...


class CommittedState(Protocol):
    """The interface through which an active controller uses the quorum's committed state, up to the high watermark that its voter knows."""

    @property
    def release(self) -> Release: ...
    @property
    def session_timeout(self) -> int: ...

    def metadata_end(self, high_watermark: int) -> int: ...
    def registration(self, broker: int, high_watermark: int) -> BrokerRegistration | None: ...
    def registrations(self, high_watermark: int) -> dict[int, BrokerRegistration]: ...
    def leads_partitions(self, broker: int, high_watermark: int) -> bool: ...
    def periodic_tasks(self, high_watermark: int) -> tuple[tuple[str, int], ...]: ...


class ActiveController:
    """The active controller of one epoch.

    Attributes:
        voter: the voter that leads the epoch.
        quorum: the committed state of the quorum.
        claimed: whether the first entry of the controller's epoch is committed; the controller is active only after that.
        heartbeats: the heartbeat state of the brokers.
        last_contact: the time of each broker's last heartbeat, in µs.
        waiting_fetches: (offset, fetch number) of each metadata fetch that is waiting, by broker.
        scheduled: the due time of each scheduled periodic task, in µs.
    """

    __slots__ = (
        "_check_due", "_deferred", "_fetches", "claimed", "heartbeats", "journal", "last_contact", "quorum", "scheduled", "voter",
        "waiting_fetches",
    )  # fmt: skip

    _deferred: Final[list[tuple[int, str, object]]]
    scheduled: Final[dict[str, int]]

    def __init__(self, voter: LeaderVoter, quorum: CommittedState) -> None:
        self.voter = voter
        self.quorum = quorum
        self.journal = voter.host.journal
        self.claimed = False
        self.heartbeats = BrokerHeartbeatManager(self.quorum.session_timeout)
        self.last_contact: dict[int, int] = {}
        self.waiting_fetches: dict[int, tuple[int, int]] = {}
        self._deferred = []
        self._fetches = 0
        self._check_due = -1
        self.scheduled = {}
        self._begin_sessions()  # entries of an earlier leader can be committed and applied before this controller claims

    def claim(self) -> None:
        """Become active: start new sessions and schedule the session check (`QuorumController#claim`).

        The quorum calls this method when the first entry of the epoch is committed.
        """
        self.claimed = True
        self._begin_sessions()
        self.arm_session_check()

    def _begin_sessions(self) -> None:
        """Start a new session for every broker, and keep the broker's registered state (`ClusterControlManager#activate`)."""
        now, high_watermark = self.journal.now, self.voter.high_watermark
        for broker, registration in self.quorum.registrations(high_watermark).items():
            self.heartbeats.touch(broker, registration.fenced, -1, now)
            if registration.in_controlled_shutdown and not registration.fenced:
                self.heartbeats.maybe_update_controlled_shutdown_offset(broker, self.quorum.metadata_end(high_watermark) - 1)
            self.last_contact[broker] = now

    def schedule_task(self, delay: int, task: str, number: int = 0) -> None:
        """Schedule a task to run after a delay, given in µs. The task runs only if this controller is still active when the delay ends."""
        self.voter.host.timer(delay, "controller-task", (self.voter.epoch, task, number))

    def run_task(self, task: str, number: int) -> None:
        """Run a scheduled task, because it is due."""
        if task == "session-check":
            self._session_check()
        elif task == "metadata-wait":
            for broker, (_, fetch) in list(self.waiting_fetches.items()):
                if fetch == number:
                    self._complete_fetch(broker)
        else:
            self.voter.append(PeriodicWrite(task))

    def _schedule(self, task: str, delay: int) -> None:
        self.scheduled[task] = self.journal.now + delay
        self.schedule_task(delay, task)

    def periodic_task_done(self, task: str, *, more: bool) -> None:
        """Record that a periodic task has run. If `more` is true, the task reached its limit, so schedule it to continue soon."""
        self.scheduled.pop(task, None)
        if more:
            self._schedule(task, CONTINUE_DELAY)

    # --- requests --------------------------------------------------------------------------------------------------

    def handle(self, request: object, sender: str) -> None:
        """Handle a broker's request."""
        if type(request) is MetadataFetchRequest:
            self._metadata_fetch(request)
        elif type(request) is BrokerHeartbeatRequest:
            self._heartbeat(request, sender)
        else:
            self.voter.append(BrokerWrite(request, sender))

    def _heartbeat(self, request: BrokerHeartbeatRequest, sender: str) -> None:
        """Handle a heartbeat. Write the heartbeat to the log only if the heartbeat changes the broker's state or its log directories."""
        broker, quorum = request.broker, self.quorum
        registration = quorum.registration(broker, self.voter.high_watermark)
        if registration is None or registration.epoch != request.broker_epoch or broker not in self.heartbeats:
            self.voter.send_response(sender, BrokerHeartbeatResponse(errors.STALE_BROKER_EPOCH, True, False))
            return
        last_read = request.metadata_offset - 1
        states = self.heartbeats.next_state(
            broker,
            want_fence=False,
            want_shut_down=request.want_shutdown,
            metadata_offset=last_read,
            registration_offset=registration.epoch,
            has_leaderships=lambda: quorum.leads_partitions(broker, self.voter.high_watermark),
        )
        fenced = states.current is BrokerControlState.FENCED
        self.heartbeats.touch(broker, fenced, last_read, self.journal.now)
        self.last_contact[broker] = self.journal.now
        self.arm_session_check()
        failed = any(directory in registration.directories for directory in request.offline_dirs)
        if failed or states.next is not states.current:
            self.voter.append(BrokerWrite(request, sender))
        else:
            self._answer_when_committed(sender, BrokerHeartbeatResponse(errors.NONE, fenced, False, request.offline_dirs))

    def _answer_when_committed(self, node: str, message: object) -> None:
        """Respond when all entries that are now in the log are committed (`DeferredEventQueue`)."""
        end = len(self.voter.log)
        if self.voter.high_watermark >= end:
            self.voter.send_response(node, message)
        else:
            self._deferred.append((end, node, message))

    # --- sessions --------------------------------------------------------------------------------------------------

    def arm_session_check(self, *, fenced: bool = False) -> None:
        """Schedule the next check for expired sessions, unless a check is already scheduled."""
        periodic = self.quorum.release.fences_periodically
        delay = self.heartbeats.next_check_in(self.journal.now, periodic=periodic, fenced=fenced)
        if self._check_due < 0 and delay is not None and self.claimed:
            self._check_due = self.journal.now + delay
            self.schedule_task(delay, "session-check")

    def _session_check(self) -> None:
        """If the session of the broker whose last heartbeat is the oldest has expired, fence this broker.

        Kafka: `ReplicationControlManager#maybeFenceOneStaleBroker`.
        """
        self._check_due = -1
        self.heartbeats.session_timeout_us = self.quorum.session_timeout
        stale = self.heartbeats.stale_broker(self.journal.now)
        if stale is not None:
            self.heartbeats.fence(stale)
            self.voter.append(FenceStaleBroker(stale))
        self.arm_session_check(fenced=stale is not None)

    # --- metadata --------------------------------------------------------------------------------------------------

    def _metadata_fetch(self, request: MetadataFetchRequest) -> None:
        self._fetches += 1
        self.waiting_fetches[request.broker] = (request.offset, self._fetches)
        self.schedule_task(METADATA_WAIT, "metadata-wait", self._fetches)
        self.publish()

    def publish(self) -> None:
        """Send the responses that were waiting for a commit, and schedule the necessary periodic tasks."""
        while self._deferred and self._deferred[0][0] <= self.voter.high_watermark:
            _, node, message = self._deferred.pop(0)
            self.voter.send_response(node, message)
        end = self.quorum.metadata_end(self.voter.high_watermark)
        for broker, (offset, _) in list(self.waiting_fetches.items()):
            if offset < end:
                self._complete_fetch(broker)
        if self.claimed:
            for task, interval in self.quorum.periodic_tasks(self.voter.high_watermark):
                if task not in self.scheduled:
                    self._schedule(task, interval)

    def _complete_fetch(self, broker: int) -> None:
        del self.waiting_fetches[broker]
        self.voter.send_response(broker_address(broker), MetadataFetchResponse(self.quorum.metadata_end(self.voter.high_watermark)))

    def redirect_waiting_brokers(self) -> None:
        """Tell the brokers that are waiting for metadata to look for another controller, because this controller has resigned."""
        for broker in self.waiting_fetches:
            self.voter.send_response(broker_address(broker), NotController("", self.voter.epoch))
        self.waiting_fetches.clear()
