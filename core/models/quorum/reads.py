"""The read modes of a majority log, and what each mode guarantees.

- `quorum`: the leader asks a majority whether it still leads, and then answers (ReadIndex). The answer is never stale.
- `lease`: the leader answers immediately while no other node can have been elected. The answer is never stale if all clocks run at the same
  rate.
- `leader`: the leader answers immediately. If the leader does not know that it has been replaced, it answers with stale data.
- `local`: any node answers with what it knows to be committed. The answer can be stale, but is never dirty.
- `uncommitted`: any node answers with everything in its log. The answer can be dirty (not committed).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from core.models.client_messages import NOTHING, Read, Refused, Row, Value
from core.models.quorum.quorum_messages import IndexAnswer

if TYPE_CHECKING:
    from core.models.quorum.forwarding import Forwarding
    from core.models.quorum.log import Log
    from core.models.quorum.settings import QuorumSettings
    from core.models.server import Rows

READS: Final = ("quorum", "lease", "leader", "local", "uncommitted")


class Reader(Protocol):
    """The part of a node's interface that reads need."""

    @property
    def address(self) -> str:
        """The node's name."""

    role: str
    leader: str
    term: int
    commit: int
    log: Log
    engine: Rows

    def is_majority(self, count: int) -> bool:
        """Whether the given number of nodes is a majority."""

    def send_round(self) -> None:
        """Ask all peers whether this node still leads."""

    def has_lease(self) -> bool:
        """Whether this node is still the only possible leader."""

    def reply(self, node: str, message: object) -> None:
        """Respond to a client."""

    @property
    def settings(self) -> QuorumSettings:
        """The settings."""

    forwarding: Forwarding


class WaitingRead(NamedTuple):
    """A read that waits until a majority has confirmed the leader.

    Attributes:
        round: the number of the heartbeat round in which a majority confirms that the leader still leads.
        forwarded: whether a follower asks for an index instead of a client for a value.
    """

    read: Read
    client: str
    round: int
    forwarded: bool = False


class Reads:
    """The reads that wait at a leader.

    Attributes:
        round: the number of rounds of heartbeats that were started for reads.
        confirmed: the last round that each peer has answered.
    """

    __slots__ = ("_node", "confirmed", "round", "waiting")

    def __init__(self, node: Reader) -> None:
        self._node: Final = node
        self.round = 0
        self.confirmed: dict[str, int] = {}
        self.waiting: list[WaitingRead] = []

    def clear(self) -> None:
        """Drop all waiting reads, and forget which heartbeat rounds the other nodes have confirmed."""
        self.waiting.clear()
        self.confirmed.clear()

    def begin(self, read: Read, client: str, *, forwarded: bool = False) -> None:
        """Answer a read, or let it wait. If a follower has `forwarded` the read, answer with an index."""
        node = self._node
        how = read.how or READS[0]
        if how in ("local", "uncommitted"):
            if node.commit < read.seen:
                node.reply(client, Refused(read.request, f"{node.address} is behind what the session has seen"))
            else:
                row = self._last_in_log(read.key) if how == "uncommitted" else node.engine.read(read.key)
                node.reply(client, Value(read.request, row, node.commit))
            return
        if node.role != "leader":
            if forwarded:
                return  # the follower asks again
            if node.settings.forwards and node.leader and how in ("quorum", "lease"):
                node.forwarding.read(read, client)
                return
            reason = f"{node.address} doesn't lead" if node.leader else "there is no leader"
            node.reply(client, Refused(read.request, reason, node.leader))
        elif how == "leader" or (how == "lease" and node.has_lease() and self._is_current()):
            self._answer(read, client, forwarded=forwarded)
        else:
            self.round += 1
            self.waiting.append(WaitingRead(read, client, self.round, forwarded))
            node.send_round()

    def _is_current(self) -> bool:
        """Whether the leader has committed an entry of its own term. Until a leader has committed an entry of its own term, its commit
        index can be out of date.
        """
        return self._node.log.term_at(self._node.commit) == self._node.term

    def _last_in_log(self, key: str) -> Row:
        rows = (entry.row for entry in reversed(self._node.log.entries))
        return next((row for row in rows if row is not None and row.key == key), NOTHING)

    def heard(self, peer: str, number: int) -> None:
        """Record that a peer confirmed a round."""
        self.confirmed[peer] = max(self.confirmed.get(peer, 0), number)
        self.answer()

    def answer(self) -> None:
        """Answer the reads whose round a majority has confirmed."""
        node = self._node
        if not self.waiting or not self._is_current():
            return
        for each in list(self.waiting):
            if node.is_majority(1 + sum(number >= each.round for number in self.confirmed.values())):
                self.waiting.remove(each)
                self._answer(each.read, each.client, forwarded=each.forwarded)

    def _answer(self, read: Read, client: str, *, forwarded: bool) -> None:
        if forwarded:
            self._node.reply(client, IndexAnswer(read.request, self._node.commit))
            return
        self._node.reply(client, Value(read.request, self._node.engine.read(read.key), self._node.commit))

    def refuse(self) -> None:
        """Refuse all reads, because the node no longer leads."""
        for each in self.waiting:
            if each.forwarded:
                continue  # the follower asks again
            self._node.reply(each.client, Refused(each.read.request, f"{self._node.address} no longer leads"))
        self.waiting.clear()
