"""A voter of the metadata quorum (Kafka: `KafkaRaftClient`, KIP-595): epochs, elections, and its replica of the log.

Voters fetch from their leader. When a majority has an entry from the leader's own epoch, this entry and all earlier entries are committed.
If a voter receives nothing from its leader for `controller.quorum.fetch.timeout.ms`, it becomes a candidate. Since 4.0, it first asks the other
voters whether they would elect it (pre-vote, KIP-996). Since 3.7, a leader resigns if a majority has not fetched from it for 1.5 times
`controller.quorum.fetch.timeout.ms` (KAFKA-15489), so that a controller that cannot reach a majority does not remain active. The module
`active_controller` implements what the leader does as the active controller.
"""

from __future__ import annotations

import enum
from collections.abc import Collection
from typing import Final, Protocol

import attrs

from core.kafka import errors, events
from core.kafka.controller.quorum.active_controller import ActiveController, CommittedState
from core.kafka.controller.quorum.raft_messages import (
    BeginQuorumEpoch,
    LeaderChangeMessage,
    QuorumEntry,
    QuorumFetchRequest,
    QuorumFetchResponse,
    VoteRequest,
    VoteResponse,
)
from core.kafka.messages import (
    AllocateProducerIdsRequest,
    AlterPartitionRequest,
    AssignReplicasToDirsRequest,
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    CreateTopicsRequest,
    MetadataFetchRequest,
    NotController,
)
from core.sim.kernel_messages import Disconnected
from core.sim.node import Node
from core.sim.random_stream import RandomStream
from core.sim.units import US_PER_MS

FETCH_WAIT: Final = 500 * US_PER_MS
"""The maximum time that a fetch waits at the leader for new entries, in µs (`KafkaRaftClient.MAX_FETCH_WAIT_MS`)."""

RETRY: Final = 50 * US_PER_MS
"""The delay before a follower repeats a fetch that the leader refused or did not respond to, in µs."""


class Role(enum.StrEnum):
    """A voter's role in its epoch (Kafka: `EpochState`)."""

    STOPPED = "stopped"
    """The voter's process is not running."""
    UNATTACHED = "unattached"
    """The voter knows no leader. The voter might have voted in this epoch."""
    FOLLOWER = "follower"
    """The voter fetches from the leader."""
    PROSPECTIVE = "prospective"
    """The voter is asking the other voters whether they would elect it (KIP-996)."""
    CANDIDATE = "candidate"
    """The voter is asking the other voters for their votes."""
    LEADER = "leader"
    """The voter has won the election in its epoch."""


@attrs.define(slots=True, eq=False)
class FollowerProgress:
    """What a leader knows about another voter (Kafka: `LeaderState.ReplicaState`).

    Attributes:
        end: the log end of the voter; -1 if it is unknown.
        last_fetch: the time of the voter's last fetch, in µs.
    """

    end: int = -1
    last_fetch: int = 0


class VoterObserver(Protocol):
    """Observes the voters of a quorum, without affecting them."""

    def controller_elected(self) -> None:
        """Record that a controller has become active."""

    def no_majority(self, voter: KafkaRaftClient, in_touch: int) -> None:
        """Record that a voter can exchange messages only with `in_touch` voters, which are fewer than a majority."""


class QuorumContext(CommittedState, Protocol):
    """The interface through which voters use their quorum: the names of the voters, the timeouts, and the committed state."""

    @property
    def voters(self) -> Collection[str]: ...
    @property
    def observer(self) -> VoterObserver: ...
    @property
    def majority(self) -> int: ...
    @property
    def fetch_timeout(self) -> int: ...
    @property
    def check_quorum_timeout(self) -> int: ...
    @property
    def election_timeout(self) -> int: ...

    def commit(self, voter: KafkaRaftClient, start: int, end: int) -> None: ...


class KafkaRaftClient:
    """A voter. The voter's epoch, vote, leader, and log are on disk, so they survive when the process ends.

    Attributes:
        host: the node that the voter runs in: its own node, or a broker in combined mode.
        name: the network address of the node that the voter runs in.
        quorum: the quorum that the voter belongs to.
        epoch: the voter's epoch (in Kafka, in the `quorum-state` file).
        voted_for: the candidate that this voter has voted for in this epoch; '' if none (`quorum-state`).
        leader: the leader of the epoch; '' if it is unknown (`quorum-state`).
        log: the voter's replica of the log, with committed and uncommitted entries.
        role: the role of the running process.
        high_watermark: the end of the committed entries, as far as the running process knows.
        active: the active controller if this voter leads; otherwise, None.
        followers: the progress of the other voters if this voter leads.
        has_fetched: whether this voter has fetched from the leader since it began to follow it (`FollowerState#hasFetchedFromLeader`).
    """

    def __init__(self, host: Node, quorum: QuorumContext, seed: int) -> None:
        self.host = host
        self.name = host.address
        self.quorum = quorum
        self.journal = host.journal
        self.epoch = 0
        self.voted_for = ""
        self.leader = ""
        self.log: list[QuorumEntry] = []
        self.role = Role.STOPPED
        self.high_watermark = 0
        self.active: ActiveController | None = None
        self.followers: dict[str, FollowerProgress] = {}
        self.has_fetched = False
        self._random = RandomStream(f"{seed}:quorum:{self.name}")
        self._former_leader = ""
        self._votes_granted: dict[str, None] = {}
        self._votes_received: dict[str, None] = {}
        self._deadline = 0
        self._fetches = 0
        self._waiting_fetches: dict[str, QuorumFetchRequest] = {}
        host.handlers.update(
            {
                VoteRequest: self._handle_vote_request,
                VoteResponse: self._handle_vote_response,
                BeginQuorumEpoch: self._handle_begin_quorum_epoch,
                QuorumFetchRequest: self._handle_fetch_request,
                QuorumFetchResponse: self._handle_fetch_response,
                BrokerRegistrationRequest: self._handle_controller_request,
                BrokerHeartbeatRequest: self._handle_controller_request,
                AlterPartitionRequest: self._handle_controller_request,
                AllocateProducerIdsRequest: self._handle_controller_request,
                CreateTopicsRequest: self._handle_controller_request,
                AssignReplicasToDirsRequest: self._handle_controller_request,
                MetadataFetchRequest: self._handle_controller_request,
            }
        )
        host.timers.update(
            {
                "quorum-deadline": self._deadline_passed,
                "quorum-fetch": self._retry_fetch,
                "quorum-fetch-wait": self._fetch_wait_expired,
                "controller-task": self._task_due,
            }
        )
        host.handlers.setdefault(Disconnected, self._disconnected)

    def _disconnected(self, message: Disconnected, _: str) -> None:
        self.disconnected(message.node, only_opened=message.only_opened)

    # --- life of the process ---------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start with the epoch and leader from disk. Follow the given leader, unless it is unknown or is this voter itself. A voter that is
        the only one becomes a candidate immediately (`#initialize`)."""
        self.high_watermark = 0
        if self.quorum.majority == 1:
            self._start_election(pre=self._asks_first())
        elif self.leader and self.leader != self.name:
            self._transition_to_follower(self.leader)
        else:
            self._transition_to_unattached()

    def process_ended(self) -> None:
        """Drop all state that was only in memory, because the process has ended."""
        self.role = Role.STOPPED
        self.active = None
        self._deadline += 1
        self._fetches += 1
        self._waiting_fetches.clear()
        self.followers.clear()

    def boot(self, leader: str, epoch: int, entry: QuorumEntry) -> None:
        """Join the quorum at the start of the simulation, with an established leader."""
        self.epoch, self.voted_for, self.leader = epoch, leader, leader
        self.log.append(entry)
        if leader == self.name:
            self._become_leader()
        else:
            self.role = Role.FOLLOWER
            self._set_deadline(self.quorum.fetch_timeout)
            self.host.timer(self._random.randrange(FETCH_WAIT), "quorum-fetch", self._fetches)

    def assume_replicated(self, voters: list[str]) -> None:
        """At the start of the simulation, mark the leader's log as replicated on the given voters."""
        for voter in voters:
            if voter != self.name:
                self.followers[voter].end = len(self.log)
        self._maybe_commit()

    # --- the log ---------------------------------------------------------------------------------------------------

    @property
    def last_epoch(self) -> int:
        """The epoch of the log's last entry; 0 if the log is empty."""
        return self.log[-1].epoch if self.log else 0

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """Return the largest epoch in the log that is at most `epoch`, and its end offset (`ReplicatedLog#endOffsetForEpoch`)."""
        end = len(self.log)
        while end and self.log[end - 1].epoch > epoch:
            end -= 1
        return (self.log[end - 1].epoch if end else 0), end

    def append(self, write: object) -> None:
        """Append an entry as the leader. The entry is applied when a majority has it."""
        self.log.append(QuorumEntry(self.epoch, write, self.journal.cause))
        self._complete_fetches()
        self._maybe_commit()

    def _truncate(self, end: int) -> None:
        """Remove entries that the leader does not have. Entries that the leader lacks were never committed."""
        if end < self.high_watermark:
            raise AssertionError(f"{self.name} would truncate to {end}, below its high watermark {self.high_watermark}")
        dropped = sum(type(entry.write) is not LeaderChangeMessage for entry in self.log[end:])
        del self.log[end:]
        if dropped:
            self.journal.emit(events.UncommittedDropped.kind, self.name, self.epoch, dropped)

    def _maybe_commit(self) -> None:
        """Raise the high watermark to the largest offset that a majority has reached (`LeaderState#maybeUpdateHighWatermark`)."""
        if self.role is not Role.LEADER:
            return
        ends = sorted([len(self.log), *(follower.end for follower in self.followers.values())], reverse=True)
        end = ends[self.quorum.majority - 1]
        if end > self.high_watermark and self.log[end - 1].epoch == self.epoch:
            start, self.high_watermark = self.high_watermark, end
            self.quorum.commit(self, start, end)
            self._complete_fetches()
            if self.active is not None:
                self.active.publish()

    # --- elections -------------------------------------------------------------------------------------------------

    def _set_deadline(self, delay: int) -> None:
        self._deadline += 1
        self.host.timer(delay, "quorum-deadline", self._deadline)

    def _election_timeout(self) -> int:
        timeout = self.quorum.election_timeout
        return timeout + self._random.randrange(timeout)

    def _deadline_passed(self, number: object) -> None:
        if number != self._deadline:
            return
        if self.role is Role.LEADER:
            self._check_quorum()
            return
        if self.role in (Role.CANDIDATE, Role.PROSPECTIVE) and len(self._votes_received) < self.quorum.majority:
            self.quorum.observer.no_majority(self, len(self._votes_received))
        self._start_election(pre=self._asks_first())

    def _asks_first(self) -> bool:
        """Return whether the release has pre-votes."""
        return self.quorum.release.pre_vote

    def _start_election(self, *, pre: bool) -> None:
        """Send pre-vote requests, or raise the epoch and request votes (`#transitionToProspective`, `#transitionToCandidate`)."""
        self.role = Role.PROSPECTIVE if pre else Role.CANDIDATE
        self._former_leader, self.leader = self.leader or self._former_leader, ""
        if not pre:
            self.epoch += 1
            self.voted_for = self.name
            self.journal.cause = self.journal.emit(events.ControllerCandidate.kind, self.name, self.epoch)
        self._votes_granted = {self.name: None}
        self._votes_received = {self.name: None}
        self._set_deadline(self._election_timeout())
        request = VoteRequest(self.epoch, self.name, self.last_epoch, len(self.log), pre)
        for voter in self.quorum.voters:
            if voter != self.name:
                self.host.send(voter, request)
        self._count_votes()

    def _count_votes(self) -> None:
        if len(self._votes_granted) < self.quorum.majority:
            return
        if self.role is Role.PROSPECTIVE:
            self._start_election(pre=False)
        elif self.role is Role.CANDIDATE:
            self.leader = self.name
            self.log.append(QuorumEntry(self.epoch, LeaderChangeMessage(self.name), self.journal.cause))
            self._become_leader()

    def _handle_vote_request(self, request: VoteRequest, sender: str) -> None:
        """Handle a request for a vote. In each epoch, vote for the first candidate whose log is not behind this voter's own log
        (`#handleVoteRequest`). A pre-vote binds nobody. A voter refuses it only if there is a leader: it leads, or it has fetched from the
        leader (`EpochState#canGrantVote`)."""
        if request.epoch > self.epoch:
            self._enter_epoch(request.epoch)
        long_enough = (request.last_epoch, request.end) >= (self.last_epoch, len(self.log))
        if request.pre:
            has_leader = self.role is Role.LEADER or (self.role is Role.FOLLOWER and self.has_fetched)
            granted = request.epoch == self.epoch and long_enough and not has_leader
        else:
            free = self.voted_for in ("", request.candidate) and not self.leader
            granted = request.epoch == self.epoch and free and long_enough
            if granted:
                self.voted_for = request.candidate
                self.role = Role.UNATTACHED
                self._set_deadline(self._election_timeout())
        self.host.reply(sender, VoteResponse(self.epoch, self.leader, granted, request.pre))

    def _handle_vote_response(self, response: VoteResponse, sender: str) -> None:
        if response.epoch > self.epoch:
            self._enter_epoch(response.epoch)
            if response.leader:
                self._transition_to_follower(response.leader)
            return
        if self.role is not (Role.PROSPECTIVE if response.pre else Role.CANDIDATE):
            return
        # A voter can still name the silent leader, because its own timeout has not expired. A leader in the response counts only if it is the
        # sender itself or differs from the silent leader.
        if response.leader and response.epoch == self.epoch and response.leader in (sender, *self._voters_except(self._former_leader)):
            self._transition_to_follower(response.leader)
            return
        self._votes_received[sender] = None
        if response.granted and (response.pre or response.epoch == self.epoch):
            self._votes_granted[sender] = None
            self._count_votes()

    def _voters_except(self, former: str) -> list[str]:
        return [voter for voter in self.quorum.voters if voter not in (self.name, former)]

    def _enter_epoch(self, epoch: int) -> None:
        """Enter a higher epoch. If this voter leads the current epoch, resign."""
        if self.role is Role.LEADER:
            self._resign(f"there is a higher epoch, {epoch}")
        self.epoch, self.voted_for, self._former_leader = epoch, "", ""
        self._transition_to_unattached()

    def _transition_to_unattached(self) -> None:
        self.role = Role.UNATTACHED
        self.leader = ""
        self._set_deadline(self._election_timeout())

    def _handle_begin_quorum_epoch(self, message: BeginQuorumEpoch, _: str) -> None:
        if message.epoch > self.epoch:
            self._enter_epoch(message.epoch)
        if message.epoch == self.epoch and self.role not in (Role.LEADER, Role.FOLLOWER):
            self._transition_to_follower(message.leader)

    # --- leading ---------------------------------------------------------------------------------------------------

    def _become_leader(self) -> None:
        """Become the leader of the epoch, and inform the other voters (`#onBecomeLeader`)."""
        self.role = Role.LEADER
        self._waiting_fetches.clear()
        now = self.journal.now
        others = [voter for voter in self.quorum.voters if voter != self.name]
        self.followers = {voter: FollowerProgress(last_fetch=now) for voter in others}
        self.active = ActiveController(self, self.quorum)
        for voter in others:
            self.host.send(voter, BeginQuorumEpoch(self.epoch, self.name))
        self._deadline += 1
        if others and self.quorum.release.check_quorum:
            self._set_deadline(self.quorum.check_quorum_timeout)
        self._maybe_commit()

    def _check_quorum(self) -> None:
        """Resign if a majority has not fetched within the timeout (`LeaderState#timeUntilCheckQuorumExpires`)."""
        limit = self.quorum.check_quorum_timeout
        fetched = sorted((follower.last_fetch for follower in self.followers.values()), reverse=True)
        since = fetched[self.quorum.majority - 2]
        if self.journal.now < since + limit:
            self._set_deadline(since + limit - self.journal.now)
            return
        in_touch = 1 + sum(time + limit > self.journal.now for time in fetched)
        self._resign(f"only {in_touch} of {len(self.quorum.voters)} voters in touch")
        self.quorum.observer.no_majority(self, in_touch)
        self._transition_to_unattached()

    def _resign(self, reason: str) -> None:
        """Stop leading. Uncommitted requests get no response, and the brokers that are waiting for metadata are told to look for another
        controller."""
        active, self.active = self.active, None
        self.role, self.leader = Role.UNATTACHED, ""
        self._waiting_fetches.clear()
        uncommitted = sum(type(entry.write) is not LeaderChangeMessage for entry in self.log[self.high_watermark :])
        before = self.journal.cause
        self.journal.cause = self.journal.emit(events.ControllerResigned.kind, self.name, self.epoch, reason, uncommitted)
        if active is not None:
            active.redirect_waiting_brokers()
        self.journal.cause = before

    def _handle_fetch_request(self, request: QuorumFetchRequest, sender: str) -> None:
        """Handle a voter's fetch (`#handleFetchRequest`).

        Record the voter's log end, and then send entries or the diverging epoch, to which the voter truncates its log.
        """
        if request.epoch > self.epoch:
            self._enter_epoch(request.epoch)
        if request.epoch < self.epoch or self.role is not Role.LEADER:
            refused = QuorumFetchResponse(request.number, self.epoch, self.leader, errors.NOT_LEADER_OR_FOLLOWER, (), 0, -1, 0)
            self.host.reply(sender, refused)
            return
        follower = self.followers[request.voter]
        follower.last_fetch = self.journal.now
        epoch, end = self.end_of_epoch(request.last_epoch)
        if request.end and (epoch != request.last_epoch or end < request.end):
            self.host.reply(
                sender, QuorumFetchResponse(request.number, self.epoch, self.name, errors.NONE, (), self.high_watermark, epoch, end)
            )
            return
        follower.end = request.end
        self._waiting_fetches[request.voter] = request
        self.host.timer(FETCH_WAIT, "quorum-fetch-wait", request)
        self._maybe_commit()
        self._complete_fetches()

    def _complete_fetches(self) -> None:
        for voter, request in list(self._waiting_fetches.items()):
            if request.end < len(self.log) or request.high_watermark < self.high_watermark:
                self._complete_fetch(voter, request)

    def _fetch_wait_expired(self, request: object) -> None:
        assert isinstance(request, QuorumFetchRequest)
        if self._waiting_fetches.get(request.voter) is request:
            self._complete_fetch(request.voter, request)

    def _complete_fetch(self, voter: str, request: QuorumFetchRequest) -> None:
        del self._waiting_fetches[voter]
        entries = tuple(self.log[request.end :])
        self.host.reply(voter, QuorumFetchResponse(request.number, self.epoch, self.name, errors.NONE, entries, self.high_watermark, -1, 0))

    # --- following -------------------------------------------------------------------------------------------------

    def _transition_to_follower(self, leader: str) -> None:
        self.role, self.leader = Role.FOLLOWER, leader
        self.has_fetched = False
        self._set_deadline(self.quorum.fetch_timeout)
        self._fetch()

    def _fetch(self) -> None:
        self._fetches += 1
        request = QuorumFetchRequest(self._fetches, self.epoch, self.name, len(self.log), self.last_epoch, self.high_watermark)
        self.host.send(self.leader, request)

    def _retry_fetch(self, number: object) -> None:
        if self.role is Role.FOLLOWER and number == self._fetches:
            self._fetch()

    def _handle_fetch_response(self, response: QuorumFetchResponse, sender: str) -> None:
        """Handle the leader's response: truncate or append, update the high watermark, and fetch again (`#handleFetchResponse`)."""
        if response.epoch > self.epoch:
            self._enter_epoch(response.epoch)
            if response.leader:
                self._transition_to_follower(response.leader)
            return
        if response.epoch < self.epoch or self.role is not Role.FOLLOWER or response.number != self._fetches:
            return
        if response.error != errors.NONE:
            self.host.timer(RETRY, "quorum-fetch", self._fetches)
            return
        if response.diverging_epoch >= 0:
            _, end = self.end_of_epoch(response.diverging_epoch)
            self._truncate(min(end, response.diverging_end))
        else:
            self.log.extend(response.entries)
            end = min(response.high_watermark, len(self.log))
            if end > self.high_watermark:
                start, self.high_watermark = self.high_watermark, end
                self.quorum.commit(self, start, end)
        self.has_fetched = True
        self._set_deadline(self.quorum.fetch_timeout)
        self._fetch()

    def disconnected(self, node: str, *, only_opened: bool) -> None:
        """Handle the end of another node's process, or, with `only_opened`, the end of this voter's own connection to the node."""
        if not only_opened:
            self._waiting_fetches.pop(node, None)
        if self.role is Role.FOLLOWER and node == self.leader:
            self.host.timer(RETRY, "quorum-fetch", self._fetches)

    # --- as controller ---------------------------------------------------------------------------------------------

    def _handle_controller_request(self, request: object, sender: str) -> None:
        """Handle a broker's request to the active controller, or respond that this voter is not the active controller."""
        if self.active is not None and (self.active.claimed or type(request) is MetadataFetchRequest):
            self.active.handle(request, sender)
        else:
            self.send_response(sender, NotController(self.leader if self.leader != self.name else "", self.epoch))

    def send_response(self, node: str, message: object) -> None:
        """Respond to a broker, which might run in the same process."""
        host, journal = self.host, self.journal
        if node == self.name:
            host.network.agenda.add(journal.now, node, node, host.incarnation, message, journal.cause)
        else:
            host.reply(node, message)

    def _task_due(self, about: object) -> None:
        """Run a task that the active controller of this epoch scheduled. Tasks from earlier epochs are ignored."""
        assert isinstance(about, tuple)
        epoch, task, number = about
        if self.active is not None and epoch == self.epoch:
            self.active.run_task(task, number)
