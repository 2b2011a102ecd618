"""Fetch rounds that carry nothing: their place in the agenda, and what the two sides know of those that are not played (`core.kafka.broker.quiet`)."""

from __future__ import annotations

from typing import Final, Protocol

WATCHES: Final = -(1 << 96)
"""Added to the order of a round: the order of the timer that looks whether its fetch has been out for too long."""


def round_order(follower: int, leader: int, fetcher: int) -> int:
    """The place of an empty round's entries among those of the same time: before all others, by who fetches from whom."""
    return -1 - ((follower << 48) | (leader << 16) | fetcher)


class Quiet(Protocol):
    """The rounds of one fetcher while they are not played."""

    def end(self, *, at_once: bool = False) -> None:
        """Let them be played; `at_once`: a fetch that waits is about to be answered."""

    def fetched_at(self) -> int:
        """When the last fetch arrived at the leader."""

    def expires_at(self) -> int:
        """When the fetch that waits at the leader expires; -1 while none does."""


class Elision(Protocol):
    """Decides which rounds need not be played."""

    def begin_expired(self, leader: int, follower: int, fetcher: int) -> bool:
        """A fetch expires now at its leader with nothing to tell: whether the round is quiet from here on."""

    def begin_sent(self, leader: int, follower: int, fetcher: int) -> bool:
        """A fetch that carries nothing is sent now: whether the round is quiet from here on."""
