"""Long polls. The kernel skips the polls that bring no new data.

A client repeatedly polls a server. The client sends a request. The server answers as soon as it has new data. If the request has waited for
as long as the client allows, the server sends an empty answer. Then the client sends the next request. While neither side has new data, the
three stages of this cycle repeat indefinitely. The stages change nothing but the time of the last request:

    the empty answer travels (`there`) → the next request travels (`back`) → the request waits at the server (`wait`) → …

The kernel skips cycles that bring no new data. No node reads the state of another node to find out whether cycles can be skipped. Each node
tells the network only about itself:

* The client, when it sends a request: "If the answer is empty, I immediately send the same request again" (`LongPoll.send_idle`).
* The server, after it has answered a request or has let one wait: "I have nothing to say" (`LongPoll.fall_silent`).

A statement holds until its node withdraws it. The network knows each message of the poll in advance if the statements of both nodes hold,
both nodes are running, and every message between them takes the same time in each direction. From then on, the poll is *elided*: none of
its messages is in the agenda. The kernel knows when the elision began, and can therefore calculate where the poll's single message is at
any time, and when the last request was sent and arrived.

The elision ends before the cycle of messages can be broken: when a node withdraws its statement, pauses, or dies, when a link changes, or
when a connection is abandoned. The kernel then restores the state that it would have reached without elision. The kernel tells each node
the time of its last request. The kernel then puts the message that is in transit into the agenda, or makes the server let the request wait.
The simulation continues as if every message had been sent. Elision does not change the events; it only makes a run faster.

For exact results, the order of entries that are due at the same time must not depend on when they were scheduled. Therefore, the
empty messages of long polls and their timers have fixed places in the agenda: before everything else that is due at that time,
sorted by the poll's rank.

Elision has two limits. Each repeated request can carry a new number, but nothing else can depend on how many numbers have been used. Code
that delivers messages in an order other than the agenda's (`core.sim.exploration.choices`) must first switch elision off
(`LongPolls.elides`).
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from enum import Enum
from typing import Final, Protocol

from core.sim.agenda import Agenda
from core.sim.journal import Journal
from core.sim.kernel_messages import Timer

CLIENT_TIMERS: Final = -(1 << 96)
"""The number that is added to a poll's `order` to get the place of its client's timers in the agenda. The number is so far below 0 that the
timers of all clients come before the messages of all polls.
"""

NOT_YET: Final = -1
"""The value that stands for the time of the last request if no request has left, or none has arrived, since an elision began."""


class Links(Protocol):
    """The part of the network that long polls use."""

    agenda: Agenda
    alive: dict[str, bool]

    def steady_latency(self, sender: str, node: str) -> int:
        """Return the time that every message in a direction takes, in µs; -1 if the time is not the same for all messages."""

    def ticket(self, sender: str, node: str, *, reply: bool) -> int:
        """Return the number of the connection that carries a message."""

    def is_settled(self, opener: str, acceptor: str) -> bool:
        """Return whether a request can leave at once, and both ends use the same connection."""

    def send(self, sender: str, node: str, message: object, now: int, cause: int, *, reply: bool = False) -> None:
        """Send a message."""


class PollingClient(Protocol):
    """The client side of a long poll, which sends requests."""

    def polls_resume(self, sent_at: int, cause: int) -> None:
        """End the elision. The last request left at `sent_at`, because of the event `cause`. `sent_at` is `NOT_YET` if no request has left
        since the elision began.
        """


class PolledServer(Protocol):
    """The server side of a long poll, which answers requests."""

    def polls_resume(self, arrived_at: int) -> None:
        """End the elision. The last request arrived at `arrived_at`, which is `NOT_YET` if no request has arrived since the elision began."""

    def wait(self, request: object, arrived_at: int, cause: int) -> None:
        """Make a request wait for new data. `arrived_at` is the arrival time of the request, and `cause` is the event that caused the
        request.
        """

    def empty_answer(self, request: object) -> object:
        """Return the answer to a request whose wait has ended without new data."""


class Stage(Enum):
    """The stage of an elided poll's cycle."""

    ANSWER = "the empty answer travels"
    REQUEST = "the request travels"
    WAIT = "the request waits"


class LongPoll:
    """One client's polls of one server. At most one request is outstanding at a time. The client and the server both use the `LongPoll`
    object as their handle.

    Attributes:
        polls, journal: the long polls of the network, and the journal.
        client, server: the addresses of the client and the server.
        number: the number that distinguishes this poll from other polls between the same client and server.
        order: the number that orders the poll's empty messages and its server's timers among agenda entries that are due at the same time.
        client_end: the client, as long as it states that it repeats its request; None otherwise.
        server_end: the server that serves the polls; None if there is none.
        silent: whether the server has stated that it has nothing to say, and has not withdrawn this statement.
        request: the request that the client sends again.
        left_at: the virtual time at which the client last sent `request`, in µs. `left_at` is not updated during an elision.
        allowed_wait: how long the server can let the request wait, in µs.
        timeout: the time from sending the request to the moment when the client gives up, in µs.
        elided: whether none of the poll's messages is in the agenda. The following attributes apply only if the poll is elided.
        there, back, wait: how long each stage of the cycle takes, in µs.
        began: the time at which the first skipped answer would have been sent. If the elision began with a request, `began` is the time of
            the empty answer that would have triggered that request.
        elided_at: the virtual time at which the elision began, in µs.
        cause: the sequence number of the event that caused all messages of the cycle.
    """

    __slots__ = (
        "allowed_wait", "back", "began", "cause", "client", "client_end", "elided", "elided_at", "journal", "left_at", "number", "order", "polls", "request", "server",
        "server_end", "silent", "there", "timeout", "wait",
    )  # fmt: skip

    polls: Final[LongPolls]
    journal: Final[Journal]
    client: Final[str]
    server: Final[str]
    number: Final[int]
    order: Final[int]

    def __init__(self, polls: LongPolls, journal: Journal, client: str, server: str, number: int, rank: int) -> None:
        self.polls = polls
        self.journal = journal
        self.client = client
        self.server = server
        self.number = number
        self.order = -1 - rank
        self.client_end: PollingClient | None = None
        self.server_end: PolledServer | None = None
        self.silent = False
        self.request: object = None
        self.left_at = 0
        self.allowed_wait = 0
        self.timeout = 0
        self.elided = False
        self.there = 0
        self.back = 0
        self.wait = 0
        self.began = 0
        self.elided_at = 0
        self.cause = 0

    # --- what the client says ---------------------------------------------------------------------------------------

    def send(self, request: object) -> None:
        """Send a request that carries no new data for the server. The client does not state that it will repeat the request."""
        self._send(self.client, self.server, request, reply=False)

    def send_idle(self, client: PollingClient, request: object, wait: int, timeout: int) -> None:
        """Send a request that carries no new data for the server, and state that the client repeats it after each empty answer.

        Args:
            client: the client to notify when the elision is over.
            request: the request, which can wait at the server for `wait` µs.
            timeout: the time after which the client gives up if no answer has arrived, in µs.
        """
        self.client_end, self.request, self.allowed_wait, self.timeout = client, request, wait, timeout
        self.left_at = self.journal.now
        if not self._elide(sent=True):
            self._send(self.client, self.server, request, reply=False)

    def withdraw(self) -> None:
        """Withdraw the client's statement that it repeats the request after each empty answer."""
        if self.elided:
            self.resume()
        self.client_end = None
        self.request = None

    def client_timer(self, time: int, incarnation: int, timer: Timer, cause: int) -> None:
        """Arm a timer of the client, for example to detect a request that is outstanding for too long. The timer's place in the agenda does
        not depend on when it is armed."""
        self.polls.links.agenda.add_in_order(time, CLIENT_TIMERS + self.order, self.client, self.client, incarnation, timer, cause)

    # --- what the server says ---------------------------------------------------------------------------------------

    def serve(self, server: PolledServer) -> None:
        """Set the end that serves the polls from now on. The server counts as having new data to send until it calls `fall_silent`."""
        self.break_silence()
        self.server_end = server

    def fall_silent(self) -> None:
        """Record the server's statement that it has no new data to send."""
        self.silent = True

    def break_silence(self) -> None:
        """Withdraw the server's statement that it has no new data to send."""
        if self.elided:
            self.resume()
        self.silent = False

    def elide_answer(self, request: object) -> bool:
        """Skip the empty answer to a request whose wait has ended without new data, and all later messages of the cycle.

        Return False if the messages cannot be skipped.
        """
        return self.request == request and self._elide(sent=False)

    def answer(self, answer: object) -> None:
        """Send an empty answer."""
        self._send(self.server, self.client, answer, reply=True)

    def server_timer(self, time: int, incarnation: int, timer: Timer, cause: int) -> None:
        """Arm a server timer that fires when a request's wait ends. The timer's place in the agenda does not depend on when it is armed."""
        self.polls.links.agenda.add_in_order(time, self.order, self.server, self.server, incarnation, timer, cause)

    # --- what follows from both --------------------------------------------------------------------------------------

    def _send(self, sender: str, node: str, message: object, *, reply: bool) -> None:
        links, journal = self.polls.links, self.journal
        latency = links.steady_latency(sender, node)
        if latency >= 0 and links.alive.get(node, False) and links.is_settled(self.client, self.server):
            ticket = links.ticket(sender, node, reply=reply)
            links.agenda.add_in_order(journal.now + latency, self.order, node, sender, ticket, message, journal.cause)
        else:
            links.send(sender, node, message, journal.now, journal.cause, reply=reply)

    def _elide(self, *, sent: bool) -> bool:
        """Start the elision, or return False if elision is impossible. If `sent` is set, the request leaves now; otherwise, the empty
        answer leaves now.
        """
        polls = self.polls
        if self.client_end is None or not self.silent or self.elided or not polls.elides:
            return False
        links, client, server = polls.links, self.client, self.server
        there, back, wait = links.steady_latency(server, client), links.steady_latency(client, server), self.allowed_wait
        if (
            there <= 0
            or back <= 0
            or wait <= 0
            or there + back + wait >= self.timeout
            or not (sent or self.journal.now + there < self.left_at + self.timeout)
            or client in polls.paused
            or server in polls.paused
            or not links.is_settled(client, server)
        ):
            return False
        journal = self.journal
        self.there, self.back, self.wait = there, back, wait
        self.elided_at = journal.now
        self.began = journal.now - there if sent else journal.now
        self.cause = journal.cause
        self.elided = True
        return True

    def _cycle(self) -> tuple[int, int]:
        """Return the time at which the current cycle began, and how many µs of the cycle have passed. A cycle begins at the time at which
        the server would have sent the empty answer. A stage that ends at the current time counts as finished if the agenda has already
        reached the poll's position.
        """
        until = self.journal.now
        if self.order > self.polls.links.agenda.at and until > self.elided_at:
            until -= 1
        over = (until - self.began) % (self.there + self.back + self.wait)
        return until - over, over

    def _sent_at(self, began: int, over: int) -> int:
        if over >= self.there:
            return began + self.there
        return NOT_YET if began <= self.began else began - self.wait - self.back

    def _arrived_at(self, began: int, over: int) -> int:
        if over >= self.there + self.back:
            return began + self.there + self.back
        return NOT_YET if began <= self.began else began - self.wait

    def sent_at(self) -> int:
        """Return the time at which the last skipped request left the client; `NOT_YET` if no skipped request has left yet."""
        return self._sent_at(*self._cycle()) if self.elided else NOT_YET

    def arrived_at(self) -> int:
        """Return the time at which the last skipped request arrived at the server; `NOT_YET` if no skipped request has arrived yet."""
        return self._arrived_at(*self._cycle()) if self.elided else NOT_YET

    def is_regular(self, within: int) -> bool:
        """Return whether the poll is elided, at most `within` µs pass between its requests, and a skipped request has arrived."""
        return self.elided and self.there + self.back + self.wait <= within and self.arrived_at() != NOT_YET

    def stage(self) -> tuple[Stage | None, int]:
        """Return the stage of an elided poll and the time at which that stage ends; None and -1 if the poll is not elided."""
        if not self.elided:
            return None, -1
        began, over = self._cycle()
        if over < self.there:
            return Stage.ANSWER, began + self.there
        if over < self.there + self.back:
            return Stage.REQUEST, began + self.there + self.back
        return Stage.WAIT, began + self.there + self.back + self.wait

    def waits_until(self) -> int:
        """Return the time at which the server answers the waiting request if no new data arrives before then; -1 if no request is waiting."""
        stage, due = self.stage()
        return due if stage is Stage.WAIT else -1

    def resume(self) -> None:
        """End the elision. Tell the client when the last request left, and tell the server when the last request arrived. If a message is
        in transit, schedule its arrival; otherwise, make the request wait at the server.
        """
        client, server = self.client_end, self.server_end
        if not self.elided or client is None or server is None:
            return
        began, over = self._cycle()
        sent_at, arrived_at = self._sent_at(began, over), self._arrived_at(began, over)
        self.elided = False
        if sent_at != NOT_YET:
            self.left_at = sent_at
        client.polls_resume(sent_at, self.cause)
        server.polls_resume(arrived_at)
        there, links = self.there, self.polls.links
        if over < there:
            ticket, answer = links.ticket(self.server, self.client, reply=True), server.empty_answer(self.request)
            links.agenda.add_in_order(began + there, self.order, self.client, self.server, ticket, answer, self.cause)
        elif over < there + self.back:
            ticket = links.ticket(self.client, self.server, reply=False)
            links.agenda.add_in_order(began + there + self.back, self.order, self.server, self.client, ticket, self.request, self.cause)
        else:
            server.wait(self.request, arrived_at, self.cause)


class LongPolls:
    """All long polls of a network.

    Attributes:
        links: the network that carries the polls.
        elides: whether polls can be elided. Without elision, the events are the same, but the kernel does more work.
        paused: the addresses of the paused nodes.
    """

    __slots__ = ("_at", "_polls", "elides", "links", "paused")

    links: Final[Links]
    _polls: Final[dict[tuple[str, str, int], LongPoll]]
    _at: Final[dict[str, list[LongPoll]]]

    def __init__(self, links: Links) -> None:
        self.links = links
        self.elides = True
        self.paused: Container[str] = ()
        self._polls = {}
        self._at = {}

    def __iter__(self) -> Iterator[LongPoll]:
        return iter(self._polls.values())

    def between(self, client: str, server: str, number: int, rank: int, journal: Journal) -> LongPoll:
        """Return the handle of a client's polls of a server, after creating the handle if it does not exist. `number` distinguishes several
        polls between the same two nodes.

        Args:
            rank: a number from 0 to 2**95 - 1 that no other poll has. Of messages that are due at the same time, the one with the highest
                rank comes first.
        """
        key = (client, server, number)
        poll = self._polls.get(key)
        if poll is None:
            poll = self._polls[key] = LongPoll(self, journal, client, server, number, rank)
            self._at.setdefault(client, []).append(poll)
            self._at.setdefault(server, []).append(poll)
        return poll

    def interrupt(self, node: str, other: str | None = None) -> None:
        """End the elisions of a node before something happens to the node or, if `other` is given, to the links or connections between the
        two nodes.
        """
        for poll in self._at.get(node, ()):
            if poll.elided and (other is None or other in (poll.client, poll.server)):
                poll.resume()

    def interrupt_all(self) -> None:
        """End all elisions before an operation that affects the whole network."""
        for poll in self._polls.values():
            poll.resume()

    def process_died(self, node: str) -> None:
        """Withdraw the statements of a node whose process has ended: a client's statement that it repeats its request, or a server's statement that it has no new data."""
        for poll in self._at.get(node, ()):
            if poll.client == node:
                poll.withdraw()
            else:
                poll.break_silence()
                poll.server_end = None
