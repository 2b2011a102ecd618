"""Long polls, and how the kernel saves the work of those that bring nothing.

A client polls a server over and over: it sends a request; the server answers as soon as it has something to say, and with an
empty answer once the request has waited for as long as the client allows; then the client sends the next request. While neither
side has anything to say, the three stages of this cycle repeat without end and change nothing but the time of the last request:

    the empty answer travels (`there`) → the next request travels (`back`) → the request waits at the server (`wait`) → …

The kernel leaves such cycles out. Neither node looks at the other to find out that this is possible. Each tells the network
about itself only:

* The client, as it sends a request: "If the answer is empty, I send the same request again at once" (`LongPoll.send_idle`).
* The server, when it has answered or lets a request wait: "I have nothing to say" (`LongPoll.fall_silent`).

A statement stands until its node takes it back. If both stand, both nodes run, and the link between them takes a fixed time in
both directions, then the network knows each message of the cycle in advance. From then on the poll is *elided*: nothing of it is in
the agenda. Where its one message is at a moment, and when the last request was sent and arrived, follows from the time at which
the elision began, by arithmetic.

Whatever may break the cycle first ends the elision: a node takes its statement back, stands still or dies, a link changes, or a
connection is given up. The kernel then does what has been left out: it tells each node the time of its last request, and puts
the message that is under way into the agenda, or has the server let the request wait. The simulation goes on as if every
message had been sent. So the events are the same with and without elision; only the time that a run takes differs.

For that to be exact, the order of things that are due at the same time must not depend on when they were scheduled. So the
empty messages of long polls, and the timers that belong to them, have fixed places in the agenda: before everything else that is due
at that time, sorted by the poll's rank.

Two limits: Requests that repeat may carry a number of their own, but nothing else may depend on how many numbers were used. And
whoever delivers messages in another order than the agenda's (`core.sim.exploration.choices`) first switches elision off (`LongPolls.elides`).
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from enum import Enum
from typing import Final, Protocol

from core.sim.agenda import Agenda
from core.sim.journal import Journal
from core.sim.messages import Timer

CLIENT_TIMERS: Final = -(1 << 96)
"""Added to a poll's order, this is the order of its client's timer: before the messages of all polls."""

NOT_YET: Final = -1
"""The time of something that has not happened since an elision began."""


class Links(Protocol):
    """What a long poll needs of the network."""

    agenda: Agenda
    alive: dict[str, bool]

    def steady_latency(self, sender: str, node: str) -> int:
        """How long every message of a direction takes, µs; -1 if that is not certain."""

    def ticket(self, sender: str, node: str, *, reply: bool) -> int:
        """The number of the connection that a message travels on."""

    def send(self, sender: str, node: str, message: object, now: int, cause: int, *, reply: bool = False) -> None:
        """Send a message."""


class PollingClient(Protocol):
    """The end that polls."""

    def polls_resume(self, sent_at: int, cause: int) -> None:
        """Polls are no longer elided: the last request left at `sent_at`, because of the event `cause`; `NOT_YET`: none has left since."""


class PolledServer(Protocol):
    """The end that is polled."""

    def polls_resume(self, arrived_at: int) -> None:
        """Polls are no longer elided: the last request arrived at `arrived_at`; `NOT_YET`: none has arrived since."""

    def wait(self, request: object, arrived_at: int, cause: int) -> None:
        """The request that arrived at `arrived_at`, because of the event `cause`, waits for news."""

    def empty_answer(self, request: object) -> object:
        """The answer to a request that has waited in vain."""


class Stage(Enum):
    """What an elided poll is at."""

    ANSWER = "the empty answer travels"
    REQUEST = "the request travels"
    WAIT = "the request waits"


class LongPoll:
    """One client's polls of one server; at most one request is out at a time. Both ends hold it as their handle.

    Attributes:
        polls, journal: what it works with.
        client, server: the addresses of its ends; number: tells it from other polls between the two.
        order: of its empty messages and its server's timers in the agenda.
        client_end: set while the client's statement stands; server_end: as the server last gave it; silent: whether its statement stands.
        request: what the client sends again; it was last seen to leave at `left_at`.
        allowed_wait, timeout: how long the server may let it wait, and how long after it has left the client would give up, µs.
        elided: whether nothing of it is in the agenda. If so:
        there, back, wait: how long each stage takes, µs.
        began: when the first answer that was left out was sent, or would have been for the request to be sent when it was.
        elided_at: when the elision began.
        cause: seq of the event that all messages of the cycle are due to.
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
        """Send a request that tells the server nothing new, without saying what follows."""
        self._send(self.client, self.server, request, reply=False)

    def send_idle(self, client: PollingClient, request: object, wait: int, timeout: int) -> None:
        """Send a request that tells the server nothing new, and say that it follows again upon each empty answer.

        Args:
            client: the end that resumes when the elision is over.
            request: may wait at the server for `wait` µs.
            timeout: the client gives up if it has no answer after that time, µs.
        """
        self.client_end, self.request, self.allowed_wait, self.timeout = client, request, wait, timeout
        self.left_at = self.journal.now
        if not self._elide(sent=True):
            self._send(self.client, self.server, request, reply=False)

    def withdraw(self) -> None:
        """The client may do something else upon an empty answer."""
        if self.elided:
            self.resume()
        self.client_end = None
        self.request = None

    def client_timer(self, time: int, incarnation: int, timer: Timer, cause: int) -> None:
        """Arm a timer of the client, for instance for a request that has been out for too long; when it is armed does not matter."""
        self.polls.links.agenda.add_in_order(time, CLIENT_TIMERS + self.order, self.client, self.client, incarnation, timer, cause)

    # --- what the server says ---------------------------------------------------------------------------------------

    def serve(self, server: PolledServer) -> None:
        """From now on the polls are served by that end, which has something to say until it falls silent."""
        self.break_silence()
        self.server_end = server

    def fall_silent(self) -> None:
        """The server has nothing to say."""
        self.silent = True

    def break_silence(self) -> None:
        """The server may have something to say."""
        if self.elided:
            self.resume()
        self.silent = False

    def elide_answer(self, request: object) -> bool:
        """A request has waited in vain: whether its empty answer, and all that follows from it, can be left out."""
        return self.request == request and self._elide(sent=False)

    def answer(self, answer: object) -> None:
        """Send an empty answer."""
        self._send(self.server, self.client, answer, reply=True)

    def server_timer(self, time: int, incarnation: int, timer: Timer, cause: int) -> None:
        """Arm a timer of the server, for the end of a request's wait; when it is armed does not matter."""
        self.polls.links.agenda.add_in_order(time, self.order, self.server, self.server, incarnation, timer, cause)

    # --- what follows from both --------------------------------------------------------------------------------------

    def _send(self, sender: str, node: str, message: object, *, reply: bool) -> None:
        links, journal = self.polls.links, self.journal
        latency = links.steady_latency(sender, node)
        if latency >= 0 and links.alive.get(node, False):
            ticket = links.ticket(sender, node, reply=reply)
            links.agenda.add_in_order(journal.now + latency, self.order, node, sender, ticket, message, journal.cause)
        else:
            links.send(sender, node, message, journal.now, journal.cause, reply=reply)

    def _elide(self, *, sent: bool) -> bool:
        """Leave everything out from now on, if that is possible: the request is `sent` now, or else the empty answer to it is."""
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
        """When the current cycle began with an empty answer, and how many µs of it are over; what is due now has happened if its turn has come."""
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
        """When the last request left, of those that are elided; `NOT_YET` if none has."""
        return self._sent_at(*self._cycle()) if self.elided else NOT_YET

    def arrived_at(self) -> int:
        """When the last request arrived, of those that are elided; `NOT_YET` if none has."""
        return self._arrived_at(*self._cycle()) if self.elided else NOT_YET

    def is_regular(self, within: int) -> bool:
        """Whether no more than so many µs pass between requests, as long as they are elided."""
        return self.elided and self.there + self.back + self.wait <= within and self.arrived_at() != NOT_YET

    def stage(self) -> tuple[Stage | None, int]:
        """What an elided poll is at, and when that is over; None if it is not elided."""
        if not self.elided:
            return None, -1
        began, over = self._cycle()
        if over < self.there:
            return Stage.ANSWER, began + self.there
        if over < self.there + self.back:
            return Stage.REQUEST, began + self.there + self.back
        return Stage.WAIT, began + self.there + self.back + self.wait

    def waits_until(self) -> int:
        """Until when an elided request waits at the server at the latest; -1 if none does."""
        stage, due = self.stage()
        return due if stage is Stage.WAIT else -1

    def resume(self) -> None:
        """End the elision: both ends learn what they missed, and what is under way is so again."""
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
        links: the network.
        elides: whether polls may be elided; the events are the same without, but more work is done.
        paused: the addresses of the nodes that stand still.
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
        """The polls of a client at a server with that number.

        Args:
            rank: 0 or more, below 2**95, and no other poll's; what is due at the same time happens from the highest to the lowest.
        """
        key = (client, server, number)
        poll = self._polls.get(key)
        if poll is None:
            poll = self._polls[key] = LongPoll(self, journal, client, server, number, rank)
            self._at.setdefault(client, []).append(poll)
            self._at.setdefault(server, []).append(poll)
        return poll

    def interrupt(self, node: str, other: str | None = None) -> None:
        """Something happens to a node, or (with `other`) to the links or connections between the two: their elisions end."""
        for poll in self._at.get(node, ()):
            if poll.elided and (other is None or other in (poll.client, poll.server)):
                poll.resume()

    def interrupt_all(self) -> None:
        """Something happens to the whole network: all elisions end."""
        for poll in self._polls.values():
            poll.resume()

    def process_died(self, node: str) -> None:
        """A node's process ended, and its statements with it."""
        for poll in self._at.get(node, ()):
            if poll.client == node:
                poll.withdraw()
            else:
                poll.break_silence()
                poll.server_end = None
