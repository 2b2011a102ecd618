"""How a follower of a majority log serves writes and linearizable reads: it forwards them to the leader (etcd's `EtcdServer`).

A forwarded write is acknowledged when the follower itself has applied it. Nobody tells the follower whether the leader has received the write,
so a write that was forwarded to a dead leader waits until `QuorumSettings.request_limit`, and its outcome is then unknown. For a read, the
follower asks the leader for an index, and answers with its own data when it has applied the log up to that index (ReadIndex).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from core.models.client_messages import Read, Row, Unclear, Value, Write, Written
from core.models.quorum.quorum_messages import ForwardedWrite, IndexAnswer, IndexRequest
from core.models.quorum.settings import QuorumSettings
from core.sim.units import US_PER_MS

if TYPE_CHECKING:
    from core.models.server import Rows

RETRY: Final = 500 * US_PER_MS
"""The interval at which a follower asks for an index again (etcd's `readIndexRetryTime`)."""


class LocalReads(Protocol):
    """The reads that a leader answers."""

    def begin(self, read: Read, client: str) -> None:
        """Answer a read, or let it wait."""


class Forwarder(Protocol):
    """The part of a node's interface that forwarding needs."""

    @property
    def address(self) -> str:
        """The node's name."""

    @property
    def settings(self) -> QuorumSettings:
        """The settings."""

    @property
    def reads(self) -> LocalReads:
        """The reads that the node answers if it leads."""

    leader: str
    commit: int
    engine: Rows

    def send(self, node: str, message: object) -> None:
        """Send a message to another node."""

    def reply(self, node: str, message: object) -> None:
        """Respond to a client."""

    def timer(self, delay: int, name: str, about: object) -> None:
        """Set a timer that fires after a delay, given in µs."""


class ForwardedRead(NamedTuple):
    """A read at a follower.

    Attributes:
        read_index: the index up to which the follower must have applied the log; -1 until the leader answers.
    """

    read: Read
    client: str
    read_index: int = -1


class Forwarding:
    """The requests of clients that a node has forwarded to the leader.

    Attributes:
        writes: (request, client) of the writes that wait to be applied, by the ID of the row.
        forwarders: the followers that have forwarded the entries that this leader has not committed yet, by index.
        reads: the reads, by the number of the request for an index.
    """

    __slots__ = ("_node", "_number", "forwarders", "reads", "writes")

    def __init__(self, node: Forwarder) -> None:
        self._node: Final = node
        self._number = 0
        self.writes: dict[int, tuple[int, str]] = {}
        self.reads: dict[int, ForwardedRead] = {}
        self.forwarders: dict[int, str] = {}

    def clear(self) -> None:
        """Forget all requests, because the process has ended."""
        self.writes.clear()
        self.reads.clear()
        self.forwarders.clear()

    def write(self, write: Write, client: str) -> None:
        """Forward a write to the leader."""
        node = self._node
        self.writes[write.row.uid] = (write.request, client)
        node.send(node.leader, ForwardedWrite(write.row))
        node.timer(node.settings.request_limit, "write-limit", write.row.uid)

    def applied(self, row: Row) -> None:
        """Acknowledge a forwarded write, because this node has applied it."""
        waiting = self.writes.pop(row.uid, None)
        if waiting is not None:
            self._node.reply(waiting[1], Written(waiting[0]))

    def write_expired(self, uid: int) -> None:
        """Give up on a write that has not been applied. It can still take effect."""
        waiting = self.writes.pop(uid, None)
        if waiting is not None:
            self._node.reply(waiting[1], Unclear(waiting[0], "request timed out"))

    def read(self, read: Read, client: str) -> None:
        """Ask the leader for the index of a linearizable read."""
        self._number += 1
        self.reads[self._number] = ForwardedRead(read, client)
        self._node.timer(self._node.settings.request_limit, "read-limit", self._number)
        self.ask(self._number)

    def ask(self, number: int) -> None:
        """Ask the leader for an index, and ask again if there is no answer."""
        waiting = self.reads.get(number)
        if waiting is None or waiting.read_index >= 0:
            return
        node = self._node
        if node.leader == node.address:
            del self.reads[number]
            node.reads.begin(waiting.read, waiting.client)
            return
        if node.leader:
            node.send(node.leader, IndexRequest(number, waiting.read.how))
        node.timer(RETRY, "read-index", number)

    def index_found(self, answer: IndexAnswer) -> None:
        """Answer a read, or let it wait until this node has applied the log up to the index."""
        waiting = self.reads.get(answer.number)
        if waiting is not None and waiting.read_index < 0:
            self.reads[answer.number] = waiting._replace(read_index=answer.read_index)
            self.answer()

    def answer(self) -> None:
        """Answer the reads whose index this node has applied."""
        node = self._node
        for number, each in [(number, each) for number, each in self.reads.items() if 0 <= each.read_index <= node.commit]:
            del self.reads[number]
            node.reply(each.client, Value(each.read.request, node.engine.read(each.read.key), node.commit))

    def read_expired(self, number: int) -> None:
        """Give up on a read."""
        waiting = self.reads.pop(number, None)
        if waiting is not None:
            self._node.reply(waiting.client, Unclear(waiting.read.request, "request timed out"))
