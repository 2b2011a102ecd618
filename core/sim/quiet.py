"""Fetch rounds that carry nothing are not played out: a follower that has all, and its leader without news, cost no time.

An idle fetcher and its leader go round and round: the fetch waits `replica.fetch.wait.max.ms` in the purgatory, is answered
with nothing, and is sent again. Nothing comes of it but the time of the last fetch. So when a fetch expires without news, and
nothing can disturb the two, the round begins to be *quiet*: it has no entry in the agenda; where its one message would be
now, and when the last fetch arrived, is computed from the time at which the quiet began. Whatever touches the two ends it
first: news for the follower (`QuietDirty`), a partition more or less to fetch, another setting, a stop, a pause, a link that
changes. Then the one entry that would be under way is put into the agenda, and all goes on as if the rounds had been played.

For that to be exact, the entries of empty rounds have an order of their own: at one and the same time they come before all
others, sorted by who fetches from whom (`round_order`), whether they are played or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import attrs

from core.errors import NONE
from core.messages import FetchRequest, FetchResponse, Timer

if TYPE_CHECKING:
    from core.broker.broker import Broker
    from core.broker.fetch_session import FetchSession
    from core.broker.fetcher import Fetcher
    from core.sim.cluster import Cluster


class QuietDirty(dict[Any, Any]):
    """Stands for a quiet session's empty `dirty`: the first partition put into it ends the quiet."""

    __slots__ = ("quiet",)

    def __init__(self, quiet: QuietRound) -> None:
        super().__init__()
        self.quiet = quiet

    def __setitem__(self, tp: Any, value: Any) -> None:
        session = self.quiet.session
        self.quiet.end()
        session.dirty[tp] = value


@attrs.define(slots=True, eq=False)
class QuietRound:
    """The rounds of one fetcher of one follower, not played since `began`.

    Attributes:
        session, fetcher: what leader and follower know of each other.
        leader: the broker that leads.
        began: when the last played fetch expired, µs.
        there, back: µs from the leader to the follower, and from the follower to the leader.
        wait: µs that each fetch waits in the purgatory.
        cause: of every entry of the rounds.
    """

    session: FetchSession
    fetcher: Fetcher
    leader: Broker
    began: int
    there: int
    back: int
    wait: int
    cause: int

    def _stands(self) -> tuple[int, int]:
        """When the latest expiry was, and how many µs ago; what is due now counts as done if its turn has come."""
        scheduler = self.leader.network.scheduler
        now = self.leader.journal.now
        until = now if self.session.order <= scheduler.at else now - 1
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

    def end(self) -> None:
        """Put the one entry that is under way into the agenda, and let the rounds be played."""
        session, fetcher, leader = self.session, self.fetcher, self.leader
        session.last_fetch_time, fetcher.sent_at = self.fetched_at(), self.sent_at()
        expiry, since = self._stands()
        session.quiet = fetcher.quiet = None
        session.dirty = {}
        network = leader.network
        here, there = leader.address, session.address
        add = network.scheduler.add_in_order
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
        session.parked = request
        session.deadline = session.timer_due = due = expiry + self.there + self.back + self.wait
        expired = Timer("fetch-expiry", (session.follower, session.fetcher))
        add(due, session.order, here, here, leader.incarnation, expired, self.cause)


class QuietRounds:
    """Decides in a cluster which rounds become quiet, and ends them for whoever is about to disturb them."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        cluster.network.disturbed = self.disturb

    def begin(self, leader: Broker, session: FetchSession, request: FetchRequest) -> bool:
        """A fetch expires now with nothing to tell: whether the round is quiet from here on."""
        cluster = self._cluster
        follower = cluster.brokers.get(session.follower)
        network = cluster.network
        if follower is None or session.address in cluster.paused or leader.address in cluster.paused:
            return False
        fetcher = follower.fetcher_manager.fetchers.get((leader.id, session.fetcher))
        there = network.steady_latency(leader.address, session.address)
        back = network.steady_latency(session.address, leader.address)
        if (
            fetcher is None
            or there <= 0
            or back <= 0
            or follower.fetch_wait <= 0
            or follower.fetch_min_bytes <= 0
            or fetcher.in_flight != request.correlation
            or not fetcher.is_idle()
            or leader.leader_quota is not None
            or follower.follower_quota is not None
            or follower.directories.slow
            or follower.directories.busy_until > leader.journal.now
        ):
            return False
        journal = leader.journal
        quiet = QuietRound(session, fetcher, leader, journal.now, there, back, follower.fetch_wait, journal.cause)
        session.quiet = fetcher.quiet = quiet
        session.dirty = QuietDirty(quiet)
        session.parked = None
        return True

    def disturb(self, node: str, other: str | None = None) -> None:
        """Something about a node is going to change, or (with `other`) about the links between the two: end its quiet rounds."""
        for quiet in list(self._of(node)):
            if other is None or other in (quiet.leader.address, quiet.session.address):
                quiet.end()

    def _of(self, node: str) -> Iterator[QuietRound]:
        broker = self._cluster.nodes.get(node)
        replicas = getattr(broker, "replicas", None)
        if replicas is None:
            return
        for session in replicas.fetch_manager.sessions.values():
            if session.quiet is not None:
                yield session.quiet
        for fetcher in replicas.fetcher_manager.fetchers.values():
            if fetcher.quiet is not None:
                yield fetcher.quiet


def round_order(follower: int, leader: int, fetcher: int) -> int:
    """The place of an empty round's entries among those of the same time: before all others, by who fetches from whom."""
    return -1 - ((follower << 48) | (leader << 16) | fetcher)
