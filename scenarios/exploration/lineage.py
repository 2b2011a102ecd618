"""The lineage of acknowledged records: which brokers a write depended on before it was acknowledged.

The causes of events lead from an acknowledgment back to the append on the leader and to the fetches of the followers. A fault of a broker
that is not in this lineage cannot have kept the write from being acknowledged, so a search tries it last (lineage-driven fault injection,
Alvaro et al., SIGMOD 2015).
"""

from __future__ import annotations

from typing import Final

from core.kafka.events import Appended, FollowerAppended, FollowerFetched, ProduceAcked
from core.sim.events import EventTuple, causes_of, kind_of, seq_of

LEADER: Final = 0
"""The rank of a broker that led the partition of an acknowledged write."""

FOLLOWER: Final = 1
"""The rank of a broker whose copy an acknowledged write has waited for."""

BYSTANDER: Final = 2
"""The rank of all other brokers."""


class Lineage:
    """Notes which brokers acknowledged writes depended on. Its method `note` is the sink of a run without faults."""

    def __init__(self) -> None:
        self._causes: dict[int, tuple[int, ...]] = {}
        self._broker: dict[int, tuple[int, int]] = {}  # the rank and the number of a broker, by the event that names it
        self._ranks: dict[int, int] = {}

    def note(self, event: EventTuple) -> None:
        """Note an event."""
        seq, kind = seq_of(event), kind_of(event)
        self._causes[seq] = causes_of(event)
        if kind == Appended.kind:
            self._broker[seq] = (LEADER, Appended(event).broker)
        elif kind == FollowerAppended.kind:
            self._broker[seq] = (FOLLOWER, FollowerAppended(event).broker)
        elif kind == FollowerFetched.kind:
            self._broker[seq] = (FOLLOWER, FollowerFetched(event).follower)
        elif kind == ProduceAcked.kind:
            self._follow(seq)

    def _follow(self, seq: int) -> None:
        """Rank the brokers that led to an acknowledgment."""
        ahead, known = [seq], {seq}
        while ahead:
            at = ahead.pop()
            if at in self._broker:
                rank, broker = self._broker[at]
                self._ranks[broker] = min(rank, self._ranks.get(broker, BYSTANDER))
            more = [cause for cause in self._causes.get(at, ()) if cause not in known]
            known.update(more)
            ahead += more

    def rank(self, brokers: tuple[int, ...]) -> int:
        """Return the least rank of some brokers."""
        return min((self._ranks.get(broker, BYSTANDER) for broker in brokers), default=FOLLOWER)
