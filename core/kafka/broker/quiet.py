"""Fetch rounds that carry nothing are not played out: a follower that has all, and its leader without news, cost no time.

An idle fetcher and its leader go round and round: the fetch waits `replica.fetch.wait.max.ms` in the purgatory, is answered
with nothing, and is sent again. Nothing comes of it but the time of the last fetch. So when a fetch expires without news, and
nothing can disturb the two, the round begins to be *quiet*: it has no entry in the agenda; where its one message would be
now, and when the last fetch arrived, is computed from the time at which the quiet began. It begins already with the sending of
a fetch that carries nothing to a leader that has nothing to tell. Whatever touches the two ends it
first: news for the follower (`SessionPartition.mark`), a partition more or less to fetch, another setting, a stop, a pause, a link that
changes. Then the one entry that would be under way is put into the agenda, and all goes on as if the rounds had been played.

For that to be exact, the entries of empty rounds have an order of their own: at one and the same time they come before all
others, sorted by who fetches from whom (`core.kafka.broker.empty_rounds`), whether they are played or not.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import TYPE_CHECKING

from core.kafka.errors import NONE
from core.kafka.messages import FetchResponse
from core.sim.messages import Timer

if TYPE_CHECKING:
    from core.kafka.broker.broker import Broker
    from core.kafka.broker.fetch_session import FetchSession
    from core.kafka.broker.fetcher import Fetcher
    from core.sim.journal import Journal
    from core.sim.network import Network
    from core.sim.node import Node


class QuietRound:
    """The rounds of one fetcher of one follower, not played since `began`.

    Attributes:
        session, fetcher: what leader and follower know of each other.
        leader: the broker that leads.
        began: when the last played fetch expired, or would have to have for the next one to be sent when it was, µs.
        there, back: µs from the leader to the follower, and from the follower to the leader.
        wait: µs that each fetch waits in the purgatory.
        cause: of every entry of the rounds.
    """

    __slots__ = ("back", "began", "cause", "fetcher", "leader", "session", "there", "wait")

    def __init__(
        self, session: FetchSession, fetcher: Fetcher, leader: Broker, began: int, there: int, back: int, wait: int, cause: int
    ) -> None:
        self.session = session
        self.fetcher = fetcher
        self.leader = leader
        self.began = began
        self.there = there
        self.back = back
        self.wait = wait
        self.cause = cause

    def _stands(self) -> tuple[int, int]:
        """When the latest expiry was, and how many µs ago; what is due now counts as done if its turn has come."""
        agenda = self.leader.network.agenda
        now = self.leader.journal.now
        until = now if self.session.order <= agenda.at else now - 1
        since = (until - self.began) % (self.there + self.back + self.wait)
        return until - since, since

    def fetched_at(self) -> int:
        """When the last fetch arrived at the leader."""
        expiry, since = self._stands()
        if since >= self.there + self.back:
            return expiry + self.there + self.back
        return self.session.last_fetch_time if expiry <= self.began else expiry - self.wait

    def sent_at(self) -> int:
        """When the follower last sent a fetch."""
        expiry, since = self._stands()
        if since >= self.there:
            return expiry + self.there
        return self.fetcher.sent_at if expiry <= self.began else expiry - self.wait - self.back

    def expires_at(self) -> int:
        """When the fetch that waits at the leader expires; -1 while none does."""
        expiry, since = self._stands()
        arrived = self.there + self.back
        return expiry + arrived + self.wait if since >= arrived else -1

    def end(self, *, at_once: bool = False) -> None:
        """Put the one entry that is under way into the agenda, and let the rounds be played.

        `at_once`: records were appended; a fetch that waits is about to be answered and needs no timer, if one byte is enough for it.
        """
        session, fetcher, leader = self.session, self.fetcher, self.leader
        fetched_at, sent_at = self.fetched_at(), self.sent_at()
        if sent_at != fetcher.sent_at:
            fetcher.sent_at, fetcher.sent_cause = sent_at, self.cause
        session.last_fetch_time = fetched_at
        expiry, since = self._stands()
        session.quiet = fetcher.quiet = None
        key = (session.follower, session.fetcher)
        if leader.fetch_manager.sessions.get(key) is session:
            leader.fetch_manager.played[key] = session
        if fetcher.watch_at < 0:
            fetcher.keep_watch()
        network = leader.network
        here, there = leader.address, session.address
        add = network.agenda.add_in_order
        if since < self.there:
            ticket = network.ticket(here, there, reply=True)
            answer = FetchResponse(fetcher.in_flight, fetcher.number, NONE, ())
            add(expiry + self.there, session.order, there, here, ticket, answer, self.cause)
            return
        request = fetcher.empty_request()
        if since < self.there + self.back:
            ticket = network.ticket(there, here, reply=False)
            add(expiry + self.there + self.back, session.order, here, there, ticket, request, self.cause)
            return
        session.parked, session.cause = request, self.cause
        session.deadline = due = expiry + self.there + self.back + self.wait
        if at_once and request.min_bytes <= 1:
            return
        session.timer_due = due
        expired = Timer("fetch-expiry", (session.follower, session.fetcher))
        add(due, session.order, here, here, leader.incarnation, expired, self.cause)


class QuietRounds:
    """Decides in a cluster which rounds become quiet, and ends them for whoever is about to disturb them."""

    def __init__(
        self, journal: Journal, network: Network, brokers: Mapping[int, Broker], nodes: Mapping[str, Node], paused: Container[str]
    ) -> None:
        self._journal = journal
        self._network = network
        self._brokers = brokers
        self._nodes = nodes
        self._paused = paused
        network.disturbed = self.disturb

    def begin_expired(self, leader: int, follower: int, fetcher: int) -> bool:
        """A fetch expires now with nothing to tell: whether the round is quiet from here on."""
        session = self._brokers[leader].fetch_manager.sessions[follower, fetcher]
        known = self._brokers.get(follower)
        fetching = None if known is None else known.fetcher_manager.fetchers.get((leader, fetcher))
        request = session.parked
        if fetching is None or request is None or fetching.in_flight != request.correlation or not fetching.is_idle():
            return False
        return self.begin(self._brokers[leader], session, fetching, sent=False)

    def begin_sent(self, leader: int, follower: int, fetcher: int) -> bool:
        """A fetch that carries nothing is sent now: whether the round is quiet from here on, because the leader has nothing to tell."""
        session = self._brokers[leader].fetch_manager.sessions.get((follower, fetcher))
        fetching = self._brokers[follower].fetcher_manager.fetchers[leader, fetcher]
        if session is None or session.dirty or session.quiet is not None or session.parked is not None or not fetching.is_idle():
            return False
        return self.begin(self._brokers[leader], session, fetching, sent=True)

    def begin(self, leader: Broker, session: FetchSession, fetcher: Fetcher, *, sent: bool) -> bool:
        """Whether the round of the two can be quiet from here on: the fetch was `sent` just now, or else expires."""
        follower, network, paused = self._brokers[session.follower], self._network, self._paused
        there = network.steady_latency(leader.address, session.address)
        back = network.steady_latency(session.address, leader.address)
        whole = there + back + follower.fetch_wait
        if (
            there <= 0
            or back <= 0
            or follower.fetch_wait <= 0
            or follower.fetch_min_bytes <= 0
            or whole >= follower.fetch_timeout
            or whole > leader.lag_max
            or session.address in paused
            or leader.address in paused
            or not network.alive.get(leader.address, False)
            or leader.leader_quota is not None
            or follower.follower_quota is not None
            or follower.directories.slow
            or follower.directories.busy_until > leader.journal.now
        ):
            return False
        journal = leader.journal
        began = journal.now - there if sent else journal.now
        quiet = QuietRound(session, fetcher, leader, began, there, back, follower.fetch_wait, journal.cause)
        session.quiet = fetcher.quiet = quiet
        session.parked = None
        del leader.fetch_manager.played[session.follower, session.fetcher]
        return True

    def disturb(self, node: str, other: str | None = None) -> None:
        """Something about a node is going to change, or (with `other`) about the links between the two: end its quiet rounds."""
        for quiet in list(self._of(node)):
            if other is None or other in (quiet.leader.address, quiet.session.address):
                quiet.end()

    def _of(self, node: str) -> Iterator[QuietRound]:
        broker = self._nodes.get(node)
        replicas = getattr(broker, "replicas", None)
        if replicas is None:
            return
        for session in replicas.fetch_manager.sessions.values():
            if session.quiet is not None:
                yield session.quiet
        for fetcher in replicas.fetcher_manager.fetchers.values():
            if fetcher.quiet is not None:
                yield fetcher.quiet
