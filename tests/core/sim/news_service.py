"""A toy protocol with long polls: clients ask a server for news, and tell the server their labels."""

from __future__ import annotations

from typing import NamedTuple

from core.sim.agenda import Agenda
from core.sim.journal import Journal, Sink, null_sink
from core.sim.kernel_messages import Disconnected, Timer
from core.sim.long_polling import NOT_YET, LongPoll
from core.sim.network import Network
from core.sim.node import Node
from core.sim.random_stream import RandomStream
from core.sim.simulation import Simulation

TIMEOUT = 60
"""The time after which a client gives up on a request, in µs."""


class Ask(NamedTuple):
    """A request from a client that knows the news up to `version`. `label` is set if it has changed or if the server does not know it."""

    number: int
    version: int
    wait: int
    label: str = ""


class Told(NamedTuple):
    """The response to the ask with that number: the news up to a version, or the version that the client already knows if there is no news."""

    number: int
    version: int


class Conversation:
    """The state of one client on the server."""

    def __init__(self, server: Server, client: str, poll: LongPoll) -> None:
        self.server = server
        self.client = client
        self.poll = poll
        self.label = ""
        self.heard_at = 0
        self.waiting: Ask | None = None
        self.due = -1

    def polls_resume(self, arrived_at: int) -> None:
        if arrived_at != NOT_YET:
            self.heard_at = arrived_at

    def wait(self, request: object, arrived_at: int, cause: int) -> None:
        assert isinstance(request, Ask)
        self.waiting, self.due = request, arrived_at + request.wait
        self.poll.server_timer(self.due, self.server.incarnation, Timer("expired", self.client), cause)

    def empty_answer(self, request: object) -> Told:
        assert isinstance(request, Ask)
        return Told(request.number, request.version)

    def seen(self) -> tuple[int, int]:
        """Return the time of the last ask, and the time until which it waits."""
        if self.poll.elided:
            return max(self.heard_at, self.poll.arrived_at()), self.poll.waits_until()
        return self.heard_at, self.due if self.waiting else -1


class Server(Node):
    """Has news."""

    def __init__(self, network: Network, journal: Journal) -> None:
        super().__init__("server", network, journal)
        self.version = 0
        self.conversations: dict[str, Conversation] = {}
        self.handlers = {Ask: self._ask, Disconnected: self._disconnected}
        self.timers = {"expired": self._expired, "audit": self._audit}
        self.start()

    def start(self) -> None:
        self.timer(7, "audit")

    def news(self) -> None:
        self.version += 1
        self.journal.cause = self.journal.emit("news", self.version)
        for conversation in self.conversations.values():
            conversation.poll.break_silence()
            if conversation.waiting:
                self._answer(conversation)

    def _ask(self, ask: Ask, sender: str) -> None:
        conversation = self.conversations.get(sender)
        if ask.label:
            poll = self.long_poll(sender, self.address, 0, int(sender[1:]))
            conversation = self.conversations[sender] = Conversation(self, sender, poll)
            poll.serve(conversation)
            self.journal.cause = self.journal.emit("labelled", sender, ask.label)
        if conversation is None:
            self.reply(sender, Disconnected(self.address))
            return
        conversation.heard_at = self.journal.now
        if ask.version < self.version:
            conversation.waiting = ask
            self._answer(conversation)
            return
        conversation.wait(ask, self.journal.now, self.journal.cause)
        conversation.poll.fall_silent()

    def _answer(self, conversation: Conversation) -> None:
        assert conversation.waiting
        told = Told(conversation.waiting.number, self.version)
        if conversation.waiting.version < self.version:
            self.reply(conversation.client, told)
        else:
            conversation.poll.answer(told)
        conversation.waiting = None
        conversation.poll.fall_silent()

    def _expired(self, client: str) -> None:
        conversation = self.conversations.get(client)
        if conversation is None or not conversation.waiting or conversation.due != self.journal.now:
            return
        if conversation.poll.elide_answer(conversation.waiting):
            conversation.waiting = None
        else:
            self._answer(conversation)

    def _audit(self, about: object) -> None:
        self.timer(7, "audit")
        for client, conversation in self.conversations.items():
            self.journal.emit("seen", client, *conversation.seen())

    def _disconnected(self, gone: Disconnected, sender: str) -> None:
        conversation = self.conversations.pop(gone.node, None)
        if conversation is not None:
            conversation.poll.break_silence()


class Client(Node):
    """Asks again and again; `asking`: the number of the ask that is out, 0 if none is."""

    def __init__(self, number: int, network: Network, journal: Journal) -> None:
        super().__init__(f"c{number}", network, journal)
        self.number = number
        self.handlers = {Told: self._told, Disconnected: self._disconnected}
        self.timers = {"watch": self._watch, "again": self._again}
        self.allowed_wait = 20
        self.poll = self.long_poll(self.address, "server", 0, number)
        self.label = self.address
        self.labels = 0
        self.asked = 0
        self.start()

    def start(self) -> None:
        self.version = 0
        self.asking = 0
        self.sent_at = self.sent_cause = 0
        self.watch_at = -1
        self.untold = True
        self.timer(1, "again")

    def relabel(self) -> None:
        """Change the label. The next ask reports the new label."""
        self.poll.withdraw()
        self.labels += 1
        self.label = f"{self.address}-{self.labels}"
        self.untold = True

    def allow(self, wait: int) -> None:
        """Set the maximum waiting time of asks from now on, in µs."""
        self.poll.withdraw()
        self.allowed_wait = wait

    def polls_resume(self, sent_at: int, cause: int) -> None:
        if sent_at != NOT_YET:
            self.sent_at, self.sent_cause = sent_at, cause
        self._keep_watch()

    def seen(self) -> int:
        """Return the time at which the last ask was sent."""
        return max(self.sent_at, self.poll.sent_at())

    def _ask(self) -> None:
        self.asked = self.asking = self.asked + 1
        self.sent_at, self.sent_cause = self.journal.now, self.journal.cause
        self._keep_watch()
        if self.untold:
            self.untold = False
            self.send("server", Ask(self.asking, self.version, self.allowed_wait, self.label))
        else:
            self.poll.send_idle(self, Ask(self.asking, self.version, self.allowed_wait), self.allowed_wait, TIMEOUT)

    def _told(self, told: Told, sender: str) -> None:
        if told.number != self.asking:
            return
        if told.version != self.version:
            self.journal.cause = self.journal.emit("learned", self.address, self.version, told.version)
            self.version = told.version
        self._ask()

    def _keep_watch(self) -> None:
        if self.watch_at < 0:
            self.watch_at = max(self.sent_at + TIMEOUT, self.journal.now + 1)
            self.poll.client_timer(self.watch_at, self.incarnation, Timer("watch"), self.sent_cause)

    def _watch(self, about: object) -> None:
        now, due = self.journal.now, self.watch_at
        if not 0 <= due <= now:
            return
        self.watch_at = -1
        if not self.asking or self.poll.elided:
            return
        if now == due >= self.sent_at + TIMEOUT:
            self.journal.cause = self.journal.emit("gave up", self.address, self.sent_cause)
            self.network.disconnect(self.address, "server")
            self._give_up()
        else:
            self._keep_watch()

    def _disconnected(self, gone: Disconnected, sender: str) -> None:
        self.journal.emit("disconnected", self.address, gone.node)
        if self.asking and gone.node == "server":
            self._give_up()

    def _give_up(self) -> None:
        self.poll.withdraw()
        self.asking, self.untold = 0, True
        self.timer(5, "again")

    def _again(self, about: object) -> None:
        if not self.asking:
            self._ask()


class NewsService(Simulation):
    """A server and two clients."""

    def __init__(self, *, elide: bool, latency: int = 3, sink: Sink = null_sink) -> None:
        journal, agenda = Journal(sink), Agenda()
        network = Network(agenda, latency, 0, 0, RandomStream("news"))
        network.polls.elides = elide
        super().__init__(journal, agenda, network)
        self.server = Server(network, journal)
        self.clients = [Client(number, network, journal) for number in (1, 2)]
        self.nodes |= {node.address: node for node in (self.server, *self.clients)}

    def kill(self, node: Server | Client) -> None:
        """End a process, which loses its memory."""
        self.paused.pop(node.address, None)
        self.network.process_died(node.address, self.now, self.journal.emit("killed", node.address))
        node.incarnation += 1
        if isinstance(node, Server):
            node.conversations.clear()

    def start(self, node: Server | Client) -> None:
        """Start a process again."""
        self.network.alive[node.address] = True
        node.start()

    def seen(self) -> object:
        """Return everything that can be seen between two steps."""
        conversations = {client: conversation.seen() for client, conversation in self.server.conversations.items()}
        return self.now, conversations, [client.seen() for client in self.clients]
