"""What a leader knows about a follower: the follower's fetch position, and the time when the follower was last caught up (Kafka: `Replica`,
`ReplicaState`).

All values describe the follower at the time when it sent the fetch: the offset that it asks for is its LEO, no matter how many records the
response contains.
"""

from __future__ import annotations

from typing import Final

from core.kafka.broker.abstract_fetch_session import AbstractFetchSession

NEVER: Final = -(2**62)
"""A time that is earlier than every time in a simulation. For a time that never occurred, Kafka uses 0, which means January 1, 1970."""


class Replica:
    """The leader's view of one follower.

    Attributes:
        broker: the follower's broker ID.
        in_maximal_isr: whether the follower is in the partition's `maximal_isr`; set by `Partition.set_maximal_isr`.
        leo, log_start: the follower's LEO and log start as of its last fetch; -1 before the first fetch.
        last_caught_up_time: the last time when the follower had everything that the leader had, in µs.
        last_fetch_leader_leo: the leader's LEO at the follower's last fetch.
        last_fetch_time: the time when the follower's last fetch arrived, in µs.
        broker_epoch: the broker epoch in the last fetch; -1 if unknown.
        last_sent_high_watermark: the leader's high watermark when the leader last read records for a fetch. `last_sent_high_watermark` is
            used only in releases in which a new high watermark completes delayed fetches.
        caught_up_session: the follower's fetch session while the follower is at the leader's LEO; otherwise None. Each fetch in the session
            implicitly updates `last_fetch_time` and `last_caught_up_time`.
    """

    __slots__ = (
        "broker", "broker_epoch", "caught_up_session", "in_maximal_isr", "last_caught_up_time", "last_fetch_leader_leo", "last_fetch_time", "last_sent_high_watermark", "leo", "log_start",
    )  # fmt: skip

    broker: Final[int]

    def __init__(self, broker: int) -> None:
        self.broker = broker
        self.in_maximal_isr = False
        self.leo = -1
        self.log_start = -1
        self.last_caught_up_time = NEVER
        self.last_fetch_leader_leo = 0
        self.last_fetch_time = NEVER
        self.broker_epoch = -1
        self.last_sent_high_watermark = 0
        self.caught_up_session: AbstractFetchSession | None = None

    def leave_caught_up_session(self) -> None:
        """Before the leader's LEO advances, copy the times of the session's fetches to the replica."""
        session = self.caught_up_session
        if session is not None:
            fetched = session.fetched_at()
            if fetched > self.last_fetch_time:
                self.last_fetch_time = fetched
                if fetched > self.last_caught_up_time:
                    self.last_caught_up_time = fetched
            self.caught_up_session = None

    def caught_up_time(self) -> int:
        """Return the last time when the follower was caught up, taking the session's fetches into account."""
        session = self.caught_up_session
        return self.last_caught_up_time if session is None else max(self.last_caught_up_time, session.fetched_at())

    def fetched_time(self) -> int:
        """Return the time of the follower's last fetch. If the follower has not fetched since the leader's term began, but counted as
        caught up at the start of the term, return the time of this start.

        Before 0.9: `Replica#logEndOffsetUpdateTimeMs`.
        """
        session = self.caught_up_session
        seen = max(self.last_fetch_time, self.last_caught_up_time)
        return max(seen, session.fetched_at()) if session is not None else seen

    def update_fetch_state(
        self, fetch_offset: int, log_start: int, now: int, leader_leo: int, broker_epoch: int, as_of_last_fetch: bool = True
    ) -> None:
        """Update the follower's state from a fetch (`Replica#updateFetchStateOrThrow`). `leader_leo` is the leader's LEO before the read.

        With `as_of_last_fetch`, if the fetch reaches the LEO that the leader had at the previous fetch, the follower counts as caught up at
        the time of the previous fetch.
        """
        if fetch_offset >= leader_leo:
            self.last_caught_up_time = now
        elif as_of_last_fetch and fetch_offset >= self.last_fetch_leader_leo and self.last_fetch_time > self.last_caught_up_time:
            self.last_caught_up_time = self.last_fetch_time
        self.leo = fetch_offset
        self.log_start = log_start
        if leader_leo > self.last_fetch_leader_leo:
            self.last_fetch_leader_leo = leader_leo
        self.last_fetch_time = now
        self.broker_epoch = broker_epoch

    def update_last_sent_high_watermark(self, high_watermark: int) -> bool:
        """Record the leader's high watermark at the time of a fetch. Return True if the last response contained a high watermark that is
        older than the given one.

        Kafka: `Replica#lastSentHighWatermark`, since 2.4.
        """
        stale = self.last_sent_high_watermark < high_watermark
        self.last_sent_high_watermark = high_watermark
        return stale

    def reset(self, now: int, leader_leo: int, *, new_leader: bool, in_isr: bool) -> None:
        """Reset the state when this leader begins a higher leader epoch (`Replica#resetReplicaState`).

        Args:
            new_leader: whether the broker has just become the leader, so that it has no state for its followers yet.
            in_isr: whether the follower is in the ISR and therefore counts as caught up now.
        """
        self.leave_caught_up_session()
        if new_leader:
            self.leo = self.log_start = -1
            self.last_sent_high_watermark = 0
            self.last_fetch_leader_leo = -1
            self.last_fetch_time = NEVER
            self.broker_epoch = -1
        else:
            self.last_fetch_leader_leo = leader_leo
            self.last_fetch_time = now if in_isr else NEVER
        self.last_caught_up_time = now if in_isr else NEVER

    def is_caught_up(self, leader_leo: int, now: int, lag_max: int) -> bool:
        """Return whether the follower is at the leader's LEO, or was caught up at most `lag_max` µs ago (`ReplicaState#isCaughtUp`)."""
        return leader_leo == self.leo or now - self.caught_up_time() <= lag_max
