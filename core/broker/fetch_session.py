"""A follower's fetch session as its leader keeps it (KIP-227), and the fetch that waits in it.

Only partitions with news are looked at: those the follower named because their state changed, and those that became
`dirty` here since (records to hand out, another high watermark, another leadership). Quiet partitions cost nothing.
"""

from __future__ import annotations

import attrs

from core.ids import TopicPartition
from core.messages import FetchPartition, FetchRequest


@attrs.define(slots=True, eq=False)
class SessionPartition:
    """One partition of a session: what the follower last asked, and what it was last told."""

    asked: FetchPartition
    told_high_watermark: int = -1
    told_log_start: int = -1


@attrs.define(slots=True, eq=False)
class FetchSession:
    """The session of one fetcher of one follower.

    Attributes:
        address: the follower on the network.
        follower, fetcher: who fetches.
        partitions: all of the session, in the order they came.
        dirty: those with news, in order (a dict used as an ordered set).
        last_fetch_time: when the last fetch arrived, µs.
        parked: the fetch that waits in the purgatory; `deadline` when it is answered at the latest.
        timer_due: when the armed expiry timer fires; -1 if none is armed.
    """

    address: str
    follower: int
    fetcher: int
    partitions: dict[TopicPartition, SessionPartition] = attrs.field(factory=dict)
    dirty: dict[TopicPartition, None] = attrs.field(factory=dict)
    last_fetch_time: int = -(2**62)
    parked: FetchRequest | None = None
    deadline: int = 0
    timer_due: int = -1

    def update(self, request: FetchRequest) -> None:
        """Take over what the follower says of its partitions (`FetchSession#update`)."""
        if request.full:
            self.partitions.clear()
            self.dirty.clear()
        for asked in request.changed:
            known = self.partitions.get(asked.tp)
            if known is None:
                self.partitions[asked.tp] = SessionPartition(asked)
            else:
                known.asked = asked
            self.dirty[asked.tp] = None
        for tp in request.forgotten:
            self.partitions.pop(tp, None)
            self.dirty.pop(tp, None)
