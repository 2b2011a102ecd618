"""A node of a majority log: follower, candidate, or leader."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from core.models.client_messages import Read, Refused, Row, Unclear, Write, Written
from core.models.quorum import events
from core.models.quorum.forwarding import Forwarding
from core.models.quorum.log import Log
from core.models.quorum.quorum_messages import Appended, AppendEntries, Entry, ForwardedWrite, IndexAnswer, IndexRequest, RequestVote, Vote
from core.models.quorum.reads import Reads
from core.models.quorum.settings import QuorumSettings
from core.models.server import CopyView, Rows, Server
from core.sim.journal import Journal
from core.sim.kernel_messages import Disconnected
from core.sim.network import Network
from core.sim.random_stream import RandomStream

FOLLOWER: Final = "follower"
CANDIDATE: Final = "candidate"
LEADER: Final = "leader"


class QuorumNode(Server):
    """A node of a majority log.

    Attributes:
        term, voted_for: the highest term that the node knows, and the node's vote in that term. The term and the vote are on disk.
        log: the node's log, on disk.
        role: the node's role: follower, candidate, or leader.
        leader: the leader of the term; empty if the node knows of none.
        commit: the index up to which entries are committed, as far as the node knows.
        engine: the rows of the committed entries.
        votes: the nodes that voted for this candidate.
        next_index, match_index: for each peer, the next index to send, and the last one that it is known to have stored.
        probing: the peers to which the connection is broken. The node sends no entries to such a peer until the peer answers again.
        heard: the time at which the node last heard from its leader; for a leader, the time at which it last heard from each peer.
        election_due: the time at which the node starts an election if it hears from no leader, in µs.
        requests: the writes whose entries are not committed yet, as (request, client), by index.
        reads: the reads that are waiting at this node.
        forwarding: the requests that this node has forwarded to the leader.
    """

    __slots__ = (
        "_random", "_waits_for_election", "commit", "election_due", "engine", "forwarding", "heard", "heard_from", "leader", "log", "match_index", "next_index", "probing", "reads",
        "requests", "role", "settings", "term", "voted_for", "votes",
    )  # fmt: skip

    settings: Final[QuorumSettings]

    def __init__(
        self, address: str, peers: tuple[str, ...], settings: QuorumSettings, seed: int, network: Network, journal: Journal
    ) -> None:
        super().__init__(address, peers, network, journal)
        self.settings = settings
        self._random = RandomStream(f"{seed}:{address}:election")
        self.term = 0
        self.voted_for = ""
        self.log = Log()
        self.role = FOLLOWER
        self.leader = ""
        self.commit = 0
        self.engine = Rows()
        self.votes: set[str] = set()
        self.next_index: dict[str, int] = {}
        self.match_index: dict[str, int] = {}
        self.probing: set[str] = set()
        self.heard = -1
        self.heard_from: dict[str, int] = {}
        self.election_due = 0
        self._waits_for_election = False
        self.requests: dict[int, tuple[int, str]] = {}
        self.reads = Reads(self)
        self.forwarding = Forwarding(self)
        self.handlers.update({
            Write: self._write, Read: self._read, RequestVote: self._vote, Vote: self._voted, AppendEntries: self._append_entries,
            Appended: self._appended, Disconnected: self._disconnected, ForwardedWrite: self._forwarded_write, IndexRequest: self._index_request,
            IndexAnswer: self._index_answer,
        })  # fmt: skip
        self.timers.update({
            "stored": self._stored, "stored by leader": self._stored_by_leader, "election": self._election_due, "heartbeat": self._heartbeat,
            "write-limit": self.forwarding.write_expired, "read-limit": self.forwarding.read_expired, "read-index": self.forwarding.ask,
        })  # fmt: skip

    # --- start and end of the process ---------------------------------------------------------------------------------

    def begin(self) -> None:
        self.log.written = len(self.log)
        self._wait_for_leader()

    def end(self, *, power: bool) -> None:
        if power and self.log.written < len(self.log):
            self.log.cut(self.log.written + 1)
        self.role, self.leader, self.heard = FOLLOWER, "", -1
        self.commit = min(self.commit, len(self.log))
        self.engine.reset(self.places().values())
        self.votes.clear()
        self.requests.clear()
        self.reads.clear()
        self.forwarding.clear()
        self._waits_for_election = False

    # --- elections ----------------------------------------------------------------------------------------------------

    def _wait_for_leader(self) -> None:
        settings = self.settings
        if settings.automatic:
            self.election_due = self.journal.now + self._random.randrange(settings.election_min, settings.election_max)
            if not self._waits_for_election:
                self._waits_for_election = True
                self.timer(self.election_due - self.journal.now, "election")

    def _election_due(self, about: object) -> None:
        self._waits_for_election = False
        if self.role == LEADER:
            return
        if self.journal.now < self.election_due:
            self._waits_for_election = True
            self.timer(self.election_due - self.journal.now, "election")
            return
        self.start_election()

    def start_election(self) -> None:
        """Become a candidate in the next term."""
        self.term += 1
        self.role, self.leader, self.voted_for = CANDIDATE, "", self.address
        self.votes = {self.address}
        self.emit(events.ElectionStarted.kind, self.address, self.term, len(self.log))
        last = len(self.log)
        for peer in self.others():
            self.send(peer, RequestVote(self.term, last, self.log.term_at(last)))
        self._wait_for_leader()
        self._count_votes()

    def others(self) -> list[str]:
        """Return the addresses of all nodes except this one."""
        return [peer for peer in self.peers if peer != self.address]

    def is_majority(self, count: int) -> bool:
        """Whether the given number of nodes is a majority."""
        return 2 * count > len(self.peers)

    def _vote(self, request: RequestVote, candidate: str) -> None:
        settings = self.settings
        if settings.lease and self._hears_leader():
            return
        if request.term > self.term:
            self._learn_term(request.term, f"{candidate} stands for election in term {request.term}")
        reason = ""
        if request.term < self.term:
            reason = f"it is in term {self.term} already"
        elif settings.vote_once and self.voted_for not in ("", candidate):
            reason = f"it has voted for {self.voted_for}"
        elif settings.compare_logs and self.log.is_newer_than(request.last_term, request.last_index):
            reason = f"its own log is newer (term {self.log.term_at(len(self.log))}, index {len(self.log)})"
        if not reason:
            self.voted_for = candidate
            self._wait_for_leader()
        self.emit(events.Voted.kind, self.address, candidate, request.term, not reason, reason)
        self.reply(candidate, Vote(self.term, not reason))

    def _hears_leader(self) -> bool:
        if self.role == LEADER:
            return self.settings.check_quorum
        return bool(self.leader) and self.journal.now < self.heard + self.settings.election_min

    def _voted(self, vote: Vote, voter: str) -> None:
        if vote.term > self.term:
            self._learn_term(vote.term, f"{voter} is in term {vote.term}")
        elif self.role == CANDIDATE and vote.term == self.term and vote.granted:
            self.votes.add(voter)
            self._count_votes()

    def _count_votes(self) -> None:
        if not self.is_majority(len(self.votes)):
            return
        self.role, self.leader = LEADER, self.address
        self.emit(events.Elected.kind, self.address, self.term, len(self.votes), len(self.peers))
        self.next_index = dict.fromkeys(self.others(), len(self.log) + 1)
        self.match_index = dict.fromkeys(self.others(), 0)
        self.heard_from = dict.fromkeys(self.others(), self.journal.now)
        self.probing.clear()
        self.append(None)
        if self.settings.automatic:
            self.timer(self.settings.heartbeat, "heartbeat", self.term)

    def _learn_term(self, term: int, reason: str) -> None:
        """Adopt a higher term."""
        if self.role == LEADER:
            self._step_down(reason)
        self.term, self.voted_for, self.role, self.leader = term, "", FOLLOWER, ""

    def _step_down(self, reason: str) -> None:
        self.role, self.leader = FOLLOWER, ""
        self.emit(events.SteppedDown.kind, self.address, self.term, reason)
        for request, client in self.requests.values():
            self.reply(client, Unclear(request, f"{self.address} no longer leads"))
        self.requests.clear()
        self.forwarding.forwarders.clear()
        self.reads.refuse()
        self._wait_for_leader()

    # --- replication --------------------------------------------------------------------------------------------------

    def _write(self, write: Write, client: str) -> None:
        if self.role != LEADER:
            if self.settings.forwards and self.leader:
                self.forwarding.write(write, client)
                return
            reason = f"{self.address} doesn't lead" if self.leader else "there is no leader"
            self.reply(client, Refused(write.request, reason, self.leader))
            return
        self.append(write.row)
        self.requests[len(self.log)] = (write.request, client)

    def _forwarded_write(self, forwarded: ForwardedWrite, sender: str) -> None:
        """Append a write that a follower has forwarded. A node that does not lead forwards it to the leader that it knows, or drops it."""
        if self.role == LEADER:
            self.append(forwarded.row)
            self.forwarding.forwarders[len(self.log)] = sender
        elif self.leader and self.leader != sender:
            self.send(self.leader, forwarded)

    def _index_request(self, request: IndexRequest, follower: str) -> None:
        self.reads.begin(Read(request.number, "", request.how), follower, forwarded=True)

    def _index_answer(self, answer: IndexAnswer, leader: str) -> None:
        self.forwarding.index_found(answer)

    def append(self, row: Row | None) -> None:
        """Append an entry as the leader, and send it to the others while it is written to this node's own disk."""
        self.log.entries.append(Entry(self.term, row))
        index = len(self.log)
        self.emit(events.EntryAppended.kind, self.address, index, self.term, row.key if row else "", row.version if row else 0)
        for peer in self.others():
            if peer not in self.probing:
                self._send_entries(peer)
        if self.write_time:
            self.timer(self.write_time, "stored by leader", (index, self.log.cuts))
        else:
            self._stored_by_leader((index, self.log.cuts))

    def _send_entries(self, peer: str) -> None:
        """Send a peer the entries that have not been sent to it yet, or an empty message if there are none."""
        start = self.next_index[peer]
        entries = () if peer in self.probing else tuple(self.log.entries[start - 1 :])
        self.next_index[peer] = start + len(entries)
        self.send(peer, AppendEntries(self.term, start - 1, self.log.term_at(start - 1), entries, self.commit, self.reads.round))

    def send_round(self) -> None:
        """Ask all peers whether this node still leads."""
        for peer in self.others():
            self._send_entries(peer)

    def _heartbeat(self, term: int) -> None:
        if self.role != LEADER or term != self.term:
            return
        settings = self.settings
        now = self.journal.now
        recent = sum(now - time <= settings.election_max for time in self.heard_from.values())
        if settings.check_quorum and not self.is_majority(1 + recent):
            self._step_down("it has not heard from a majority")
            return
        for peer in self.others():
            self._send_entries(peer)
        self.timer(settings.heartbeat, "heartbeat", term)

    def _append_entries(self, request: AppendEntries, leader: str) -> None:
        if request.term < self.term:
            self.reply(leader, Appended(self.term, False, 0, request.round))
            return
        if request.term > self.term:
            self._learn_term(request.term, f"{leader} leads term {request.term}")
        self.role, self.leader, self.heard = FOLLOWER, leader, self.journal.now
        self._wait_for_leader()
        log, previous = self.log, request.previous_index
        if log.term_at(previous) != request.previous_term:
            self.reply(leader, Appended(self.term, False, min(len(log), previous - 1), request.round))
            return
        end = previous + len(request.entries)
        new = [(index, entry) for index, entry in enumerate(request.entries, previous + 1) if log.term_at(index) != entry.term]
        if new:
            start = new[0][0]
            if start <= len(log):
                dropped = log.cut(start)
                self.emit(events.EntriesOverwritten.kind, self.address, start, dropped, leader)
            for index, entry in new:
                log.entries.append(entry)
                row = entry.row
                self.emit(events.EntryAppended.kind, self.address, index, entry.term, row.key if row else "", row.version if row else 0)
        about = (leader, self.term, end, request.round, request.commit, log.cuts)
        if not request.entries:
            self._commit_up_to(min(request.commit, end, log.written))
            self.reply(leader, Appended(self.term, True, min(end, log.written), request.round))
        elif log.written < end and self.write_time:
            self.timer(self.write_time, "stored", about)
        else:
            self._stored(about)

    def _stored(self, about: tuple[str, int, int, int, int, int]) -> None:
        """Acknowledge the leader's entries that are now on this follower's disk."""
        leader, term, end, reads_round, commit, cuts = about
        if cuts == self.log.cuts:
            self.log.written = max(self.log.written, end)
        if term == self.term:
            self._commit_up_to(min(commit, end))
            self.reply(leader, Appended(term, True, end, reads_round))

    def _stored_by_leader(self, about: tuple[int, int]) -> None:
        index, cuts = about
        if cuts == self.log.cuts:
            self.log.written = max(self.log.written, index)
        if self.role == LEADER:
            self._advance_commit()

    def _appended(self, answer: Appended, peer: str) -> None:
        if answer.term > self.term:
            self._learn_term(answer.term, f"{peer} is in term {answer.term}")
            return
        if self.role != LEADER or answer.term < self.term:
            return
        self.heard_from[peer] = self.journal.now
        was_probing = peer in self.probing
        self.probing.discard(peer)
        if answer.ok:
            self.match_index[peer] = max(self.match_index[peer], answer.stored)
            self._advance_commit()
            if was_probing and self.next_index[peer] <= len(self.log):
                self._send_entries(peer)
        else:
            self.next_index[peer] = max(self.match_index[peer] + 1, answer.stored + 1)
            self._send_entries(peer)
        self.reads.heard(peer, answer.round)

    def _advance_commit(self) -> None:
        """Commit the entries that a majority has stored, if the last of these entries is from this leader's own term (Raft §5.4.2)."""
        stored = sorted((self.log.written, *self.match_index.values()), reverse=True)
        index = stored[len(self.peers) // 2]
        if index > self.commit and (self.settings.commit_old_terms or self.log.term_at(index) == self.term):
            copies = sum(each >= index for each in stored)
            self.emit(events.Committed.kind, self.address, index, copies)
            self._commit_up_to(index)
            self.reads.answer()
            self._tell_forwarders()

    def _tell_forwarders(self) -> None:
        """Tell the followers that have forwarded committed entries that these are committed, so that they can answer their clients. Other
        followers learn it with the next message. (etcd's leader tells all followers at once.)
        """
        forwarders = self.forwarding.forwarders
        told: dict[str, None] = {}
        for index in [index for index in forwarders if index <= self.commit]:
            told[forwarders.pop(index)] = None
        for peer in told:
            if peer not in self.probing:
                self._send_entries(peer)

    def _commit_up_to(self, index: int) -> None:
        while self.commit < min(index, len(self.log)):
            entry = self.log.entries[self.commit]
            self.commit += 1
            if entry.row is not None:
                self.engine.add(entry.row)
                self.forwarding.applied(entry.row)
            waiting = self.requests.pop(self.commit, None)
            if waiting is not None:
                self.reply(waiting[1], Written(waiting[0]))
        if self.forwarding.reads:
            self.forwarding.answer()

    def _disconnected(self, gone: Disconnected, sender: str) -> None:
        if gone.node in self.match_index:
            self.next_index[gone.node] = self.match_index[gone.node] + 1
            self.probing.add(gone.node)

    # --- reads and views ----------------------------------------------------------------------------------------------

    def _read(self, read: Read, client: str) -> None:
        self.reads.begin(read, client)

    def has_lease(self) -> bool:
        """Whether this node is still the only possible leader, because it heard from a majority so recently that the majority still ignores
        candidates.
        """
        now = self.journal.now
        recent = sum(now - time < self.settings.election_min - self.settings.heartbeat for time in self.heard_from.values())
        return self.role == LEADER and self.is_majority(1 + recent)

    def stored_rows(self) -> Iterable[Row]:
        return [entry.row for entry in self.log.entries if entry.row is not None]

    def holds(self, row: Row) -> bool:
        return row.uid in self.engine.uids or any(entry.row == row for entry in reversed(self.log.entries[self.commit :]))

    def copy_state(self) -> tuple[int, int]:
        return self.incarnation + self.log.cuts, len(self.log)

    def received_since(self, length: int) -> Iterable[Row]:
        return [entry.row for entry in self.log.entries[length:] if entry.row is not None]

    def places(self) -> dict[object, Row]:
        committed = enumerate(self.log.entries[: self.commit], 1)
        return {index: entry.row for index, entry in committed if entry.row is not None}

    def view(self) -> CopyView:
        durable = sum(entry.row is not None for entry in self.log.entries[: self.log.written])
        stored = sum(entry.row is not None for entry in self.log.entries)
        return CopyView(self.address, self.role, True, self.term, stored, durable, len(self.engine))
