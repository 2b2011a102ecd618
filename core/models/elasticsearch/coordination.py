"""Coordination: who the master is, and how it changes the cluster state (`Coordinator`, `Publication`).

A cluster state is in force once a majority has accepted it. A node without a master looks for a master every second. The node starts an
election if a majority of nodes answers and none of these nodes knows a master.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from core.models.elasticsearch import events
from core.models.elasticsearch.cluster_state import (
    EMPTY,
    ClusterState,
    with_copy,
    with_nodes,
    with_stale_primary,
    without_copy,
)
from core.models.elasticsearch.elasticsearch_messages import (
    Accepted,
    Check,
    CheckAnswer,
    Commit,
    Discover,
    JoinCluster,
    JoinVote,
    NoLongerPrimary,
    Peers,
    Publish,
    RequestJoin,
    ShardFailed,
    ShardStarted,
)
from core.models.elasticsearch.fault_detection import FaultDetection
from core.models.elasticsearch.settings import ElasticsearchSettings
from core.models.server import Server
from core.sim.random_stream import RandomStream
from core.sim.units import SECOND, US_PER_MS

CANDIDATE: Final = "candidate"
MASTER: Final = "master"
FOLLOWER: Final = "follower"

ELECTION_DELAY: Final = 100 * US_PER_MS
"""The upper bound on the random delay before an election, in µs (cluster.election.initial_timeout)."""

DISCOVERY_INTERVAL: Final = SECOND
"""The interval at which a node without a master looks for one, in µs (discovery.find_peers_interval)."""

Task = tuple[str, str, int, str]
"""A change that the master must make: the kind of change, the node or copy, a primary term, and the reason."""


class Coordination:
    """Coordination on one node: the search for a master, elections, and the publication of cluster states.

    Attributes:
        term: the highest term that the node knows; stored on disk.
        accepted: the last cluster state that the node has accepted; stored on disk.
        applied: the state in force, as far as the node knows.
        mode: the node's mode: candidate, master, or follower.
        master: the node's master; empty if the node has none.
        found: the nodes that have answered in this round of discovery.
        votes: the nodes that vote for this candidate.
        new_voters: the voters that have not been part of a cluster since their process started.
        publishing: whether the master is waiting for answers to a state.
        answers: the nodes that have accepted this state.
        committed: whether this state is already in force.
        tasks: the changes that the master is to make next.
        closed: the nodes to which the connection is known to be closed.
    """

    __slots__ = (
        "_node", "_on_state", "_random", "_round", "_settings", "accepted", "answers", "applied", "checks", "closed", "committed", "found", "master", "mode", "new_voters",
        "publishing", "tasks", "term", "votes",
    )  # fmt: skip

    def __init__(self, node: Server, settings: ElasticsearchSettings, seed: int, on_state: Callable[[], None]) -> None:
        self._node: Final = node
        self._settings: Final = settings
        self._random: Final = RandomStream(f"{seed}:{node.address}:election")
        self._on_state = on_state
        self._round = 0
        self.term = 0
        self.accepted = EMPTY
        self.applied = EMPTY
        self.mode = CANDIDATE
        self.master = ""
        self.found: set[str] = set()
        self.votes: set[str] = set()
        self.new_voters: set[str] = set()
        self.publishing = False
        self.answers: set[str] = set()
        self.committed = False
        self.tasks: list[Task] = []
        self.closed: set[str] = set()
        self.checks: Final = FaultDetection(node, settings, self.present_term, self._lost)
        node.handlers.update({
            Discover: self._discover, Peers: self._peers, RequestJoin: self._request_join, JoinVote: self._join_vote, JoinCluster: self._join_cluster,
            Publish: self._publish, Accepted: self._accepted, Commit: self._commit, Check: self._check, CheckAnswer: self.checks.answered,
            ShardFailed: self._shard_failed, ShardStarted: self._shard_started,
        })  # fmt: skip
        node.timers.update({"discover": self._discover_due, "election": self._election_due, "publish time-out": self._publish_timed_out})

    def present_term(self) -> int:
        """Return the term."""
        return self.term

    def is_quorum(self, count: int) -> bool:
        """Return whether the given number of nodes is enough to elect a master and to commit a state."""
        least = self._settings.minimum_master_nodes or len(self._node.peers) // 2 + 1
        return count >= least

    def _others(self) -> list[str]:
        return [peer for peer in self._node.peers if peer != self._node.address]

    # --- start and end of the process ---------------------------------------------------------------------------------

    def begin(self) -> None:
        """Start without a master."""
        self._look_for_master()

    def begin_steady(self, state: ClusterState, master: str) -> None:
        """Begin the simulation with an established cluster state and master."""
        self.term, self.accepted, self.applied, self.master = state.term, state, state, master
        self.mode = MASTER if master == self._node.address else FOLLOWER
        self._watch()

    def end(self) -> None:
        """Forget the state that is only in memory."""
        self.applied, self.mode, self.master, self.publishing = EMPTY, CANDIDATE, "", False
        self.tasks.clear()
        self.votes.clear()
        self.found.clear()
        self.closed.clear()
        self.checks.watch([], of_master=False)

    # --- discovery and elections --------------------------------------------------------------------------------------

    def _become_candidate(self, reason: str) -> None:
        if self.mode != CANDIDATE:
            self._node.emit(events.MasterLost.kind, self._node.address, self.master, reason)
        self.mode, self.master, self.publishing = CANDIDATE, "", False
        self.tasks.clear()
        self.checks.watch([], of_master=False)
        self._look_for_master()

    def _look_for_master(self) -> None:
        self._round += 1
        self._node.timer(self._random.randrange(ELECTION_DELAY), "discover", self._round)

    def _discover_due(self, number: int) -> None:
        if self.mode != CANDIDATE or number != self._round:
            return
        self.found = {self._node.address}
        for peer in self._others():
            self._node.send(peer, Discover())
        self._node.timer(self._random.randrange(ELECTION_DELAY), "election", number)
        self._node.timer(DISCOVERY_INTERVAL, "discover", number)

    def _discover(self, discover: Discover, sender: str) -> None:
        self._node.reply(sender, Peers(self.term, self.master))

    def _peers(self, peers: Peers, sender: str) -> None:
        if self.mode != CANDIDATE:
            return
        if peers.master and peers.master != self._node.address:
            self._node.send(peers.master, JoinCluster(self.term))
        elif not peers.master:
            self.found.add(sender)
            self.term = max(self.term, peers.term)

    def _election_due(self, number: int) -> None:
        if self.mode != CANDIDATE or number != self._round or not self.is_quorum(len(self.found)):
            return
        self.term += 1
        self.votes = {self._node.address}
        self.new_voters = set(self.votes) if self.applied == EMPTY else set()
        for peer in self._others():
            self._node.send(peer, RequestJoin(self.term, self.accepted.stamp))
        self._count_votes()

    def _request_join(self, request: RequestJoin, sender: str) -> None:
        granted = self.mode == CANDIDATE and request.term > self.term and request.accepted >= self.accepted.stamp
        if granted:
            self.term = request.term
            self.votes.clear()
        self._node.reply(sender, JoinVote(self.term, granted, self.applied == EMPTY))

    def _join_vote(self, vote: JoinVote, sender: str) -> None:
        if self.mode == CANDIDATE and vote.granted and vote.term == self.term and self._node.address in self.votes:
            self.votes.add(sender)
            if vote.is_new:
                self.new_voters.add(sender)
            self._count_votes()
        elif self.mode == CANDIDATE:
            self.term = max(self.term, vote.term)

    def _count_votes(self) -> None:
        if not self.is_quorum(len(self.votes)):
            return
        name = self._node.address
        self.mode, self.master = MASTER, name
        self._node.emit(events.MasterElected.kind, name, self.term, len(self.votes))
        nodes = [peer for peer in self._node.peers if peer in self.votes or (peer in self.accepted.nodes and peer not in self.closed)]
        kept = with_nodes(self.accepted, [node for node in nodes if node not in self.new_voters], name)
        self._propose(with_nodes(kept, nodes, name), f"{name} is the new master")
        self._watch()

    def _join_cluster(self, join: JoinCluster, sender: str) -> None:
        if self.mode != MASTER:
            return
        if join.term > self.term:
            self.term = join.term
            self._become_candidate(f"{sender} is in term {join.term}")
        else:
            self.closed.discard(sender)
            if sender in self.applied.nodes:
                self._add_task("left", sender, 0, f"{sender} has joined anew")
            self._add_task("joined", sender, 0, f"{sender} has joined")

    # --- fault detection ----------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        name = self._node.address
        if self.mode == MASTER:
            self.checks.watch([node for node in self.accepted.nodes if node != name and node not in self.closed], of_master=False)
        elif self.mode == FOLLOWER:
            self.checks.watch([self.master], of_master=True)

    def _check(self, check: Check, sender: str) -> None:
        if check.of_master:
            ok = self.mode == MASTER and sender in self.accepted.nodes
        else:
            ok = check.term >= self.term and self.mode != MASTER
        self._node.reply(sender, CheckAnswer(check.number, check.of_master, ok))

    def _lost(self, node: str, reason: str) -> None:
        if self.mode == MASTER:
            self._remove(node, reason)
        elif self.mode == FOLLOWER and node == self.master:
            self._become_candidate(reason)

    def _remove(self, node: str, reason: str) -> None:
        if node in self.applied.nodes or node in self.accepted.nodes:
            self._node.emit(events.NodeLost.kind, self._node.address, node, reason)
            self._add_task("left", node, 0, f"{node} is lost")

    def disconnected(self, node: str) -> None:
        """Handle the end of the connection to a node."""
        self.closed.add(node)
        if self.mode == MASTER:
            self._remove(node, "the connection is closed")
            if self.publishing:
                self._count_answers("")
        elif self.mode == FOLLOWER and node == self.master:
            self._become_candidate("the connection is closed")

    # --- the master's changes -----------------------------------------------------------------------------------------

    def _shard_failed(self, failed: ShardFailed, sender: str) -> None:
        self._task_of_primary("failed", failed.copy, failed.primary_term, sender)

    def _shard_started(self, started: ShardStarted, sender: str) -> None:
        self._task_of_primary("started", started.copy, started.primary_term, sender)

    def _task_of_primary(self, kind: str, copy: str, primary_term: int, sender: str) -> None:
        if self.mode != MASTER:
            return
        if primary_term < self.accepted.primary_term:
            self._node.reply(sender, NoLongerPrimary(self.accepted.primary_term))
            return
        why = f"{sender} says that the copy of {copy} has {'failed' if kind == 'failed' else 'recovered'}"
        self._add_task(kind, copy, primary_term, why)

    def allocate_stale_primary(self, node: str) -> None:
        """Force a copy to be the primary."""
        self._add_task("stale", node, 0, f"somebody forces the stale copy of {node} to be the primary")

    def _add_task(self, kind: str, node: str, primary_term: int, why: str) -> None:
        self.tasks.append((kind, node, primary_term, why))
        self._next_state()

    def _next_state(self) -> None:
        """Make all due changes in one new state, unless the last state is still being published."""
        if self.mode != MASTER or self.publishing or not self.tasks:
            return
        state = self.accepted
        name = self._node.address
        for kind, node, primary_term, _ in self.tasks:
            if kind == "left":
                state = with_nodes(state, [each for each in state.nodes if each != node], name)
            elif kind == "joined":
                state = with_nodes(state, [each for each in self._node.peers if each in state.nodes or each == node], name)
            elif kind == "stale":
                state = with_stale_primary(state, node)
            elif primary_term == state.primary_term and node != state.primary and node in state.nodes:
                state = without_copy(state, node) if kind == "failed" else with_copy(state, node)
        why = "; ".join(dict.fromkeys(each[3] for each in self.tasks))
        self.tasks.clear()
        if state != self.accepted:
            self._propose(state, why)

    def _propose(self, state: ClusterState, why: str) -> None:
        state = state._replace(term=self.term, version=self.accepted.version + 1)
        self.accepted = state
        self.publishing, self.committed, self.answers = True, False, {self._node.address}
        for node in state.nodes:
            if node != self._node.address:
                self._node.send(node, Publish(state))
        self._node.timer(self._settings.publish_timeout, "publish time-out", (state.stamp, why))
        self._count_answers(why)

    def _publish(self, publish: Publish, sender: str) -> None:
        state = publish.state
        if state.term < self.term or state.stamp <= self.accepted.stamp:
            self._node.reply(sender, Accepted(self.term, state.version, False))
            return
        if self.mode == MASTER:
            self._become_candidate(f"{sender} is the master of term {state.term}")
        self.term, self.accepted = state.term, state
        if self.mode != FOLLOWER or self.master != sender:
            self.mode, self.master = FOLLOWER, sender
            self._watch()
        self._node.reply(sender, Accepted(state.term, state.version, True))

    def _accepted(self, answer: Accepted, sender: str) -> None:
        if self.mode != MASTER:
            return
        if not answer.ok:
            if answer.term > self.term:
                self.term = answer.term
                self._become_candidate(f"{sender} is in term {answer.term}")
            return
        if answer.term == self.term and answer.version == self.accepted.version and self.publishing:
            self.answers.add(sender)
            if self.committed:
                self._node.send(sender, Commit(self.term, answer.version))
            self._count_answers("")

    def _count_answers(self, why: str) -> None:
        state, name = self.accepted, self._node.address
        if not self.committed and self.is_quorum(len(self.answers)):
            self.committed = True
            in_sync = ", ".join(state.in_sync)
            self._node.emit(
                events.StateCommitted.kind, name, state.term, state.version, state.primary, state.primary_term, in_sync, why or "a majority has accepted it"
            )  # fmt: skip
            for node in self.answers:
                if node != name:
                    self._node.send(node, Commit(state.term, state.version))
            self._apply(state)
        if self.committed and self.publishing and self.answers.union(self.closed).issuperset(state.nodes):
            self._published()
        elif not self.committed and not self.is_quorum(len([node for node in state.nodes if node not in self.closed])):
            self._become_candidate("the nodes that are left are too few to accept a cluster state")

    def _published(self) -> None:
        self.publishing = False
        self._next_state()

    def _publish_timed_out(self, about: tuple[tuple[int, int], str]) -> None:
        if self.mode != MASTER or not self.publishing or self.accepted.stamp != about[0]:
            return
        if self.committed:
            self._published()
        else:
            self._become_candidate("too few nodes have accepted its cluster state in time")

    def _commit(self, commit: Commit, sender: str) -> None:
        if self.accepted.stamp == (commit.term, commit.version) and self.mode == FOLLOWER and sender == self.master:
            self._apply(self.accepted)

    def _apply(self, state: ClusterState) -> None:
        """Apply a cluster state on this node. Close the connections to nodes that are no longer part of the cluster."""
        former, self.applied = self.applied, state
        for node in former.nodes:
            if node not in state.nodes and node != self._node.address:
                self._node.network.disconnect(self._node.address, node)
        self._watch()
        self._on_state()
