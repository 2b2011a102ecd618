"""What replicas do: roles, appends, fetches, high watermarks, truncation."""

from __future__ import annotations

from typing import ClassVar, Final

from core.kafka.events.base import DETAIL, NORMAL, NOTABLE, Event, ids, leader_name, name_of, offsets, records


class BecameLeader(Event):
    """A broker took up leadership: its log is now what counts."""

    kind: ClassVar[str] = "became-leader"
    source: ClassVar[str] = "Partition#makeLeader"
    broker: int
    topic: str
    partition: int
    leader_epoch: int
    offset: int
    high_watermark: int
    isr: tuple[int, ...]

    def sentence(self) -> str:
        return (
            f"b{self.broker} leads {name_of(self.topic, self.partition)} from offset {self.offset} in epoch {self.leader_epoch}; "
            f"it keeps its own high watermark {self.high_watermark}"
        )


class BecameFollower(Event):
    """A broker follows a leader; `offset` is its LEO."""

    kind: ClassVar[str] = "became-follower"
    source: ClassVar[str] = "Partition#makeFollower"
    broker: int
    topic: str
    partition: int
    leader: int
    leader_epoch: int
    offset: int
    high_watermark: int

    def sentence(self) -> str:
        return (
            f"b{self.broker} follows {leader_name(self.leader)} for {name_of(self.topic, self.partition)} in epoch {self.leader_epoch}, "
            f"with LEO {self.offset} and high watermark {self.high_watermark}"
        )


class Appended(Event):
    """A leader appended a produced batch."""

    kind: ClassVar[str] = "append"
    level: ClassVar[int] = NORMAL
    source: ClassVar[str] = "Partition#appendRecordsToLeader"
    broker: int
    topic: str
    partition: int
    leader_epoch: int
    from_offset: int
    to_offset: int
    bytes: int
    producer: str
    acks: int

    def sentence(self) -> str:
        acks = "all" if self.acks < 0 else str(self.acks)
        return (
            f"b{self.broker} appended {offsets(self.from_offset, self.to_offset)} of {self.producer} to "
            f"{name_of(self.topic, self.partition)} (acks={acks}): LEO {self.to_offset}"
        )


class AppendRefused(Event):
    """A leader (or a broker that is none) refused a produced batch; nothing was appended."""

    kind: ClassVar[str] = "append-refused"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "Partition#appendRecordsToLeader"
    broker: int
    topic: str
    partition: int
    producer: str
    records: int
    error: str
    isr: tuple[int, ...]
    min_isr: int

    def sentence(self) -> str:
        why = f": ISR {ids(self.isr)} is smaller than min.insync.replicas {self.min_isr}" if self.error == "NOT_ENOUGH_REPLICAS" else ""
        return f"b{self.broker} refused {records(self.records)} of {self.producer} for {name_of(self.topic, self.partition)}, nothing appended: {self.error}{why}"


class FollowerFetched(Event):
    """The leader learned how far a follower's log reaches: the offset its fetch asks from."""

    kind: ClassVar[str] = "follower-fetched"
    level: ClassVar[int] = DETAIL
    source: ClassVar[str] = "Partition#updateFollowerFetchState"
    broker: int
    topic: str
    partition: int
    follower: int
    old_offset: int
    new_offset: int

    def sentence(self) -> str:
        return f"b{self.follower} asked b{self.broker} for {name_of(self.topic, self.partition)} from offset {self.new_offset}: so it holds all below"


class FollowerAppended(Event):
    """A follower appended what it was handed; `high_watermark` is its own after that."""

    kind: ClassVar[str] = "follower-append"
    level: ClassVar[int] = DETAIL
    source: ClassVar[str] = "ReplicaFetcherThread#processPartitionData"
    broker: int
    topic: str
    partition: int
    leader: int
    from_offset: int
    to_offset: int
    high_watermark: int

    def sentence(self) -> str:
        return (
            f"b{self.broker} copied {offsets(self.from_offset, self.to_offset)} of {name_of(self.topic, self.partition)} from "
            f"b{self.leader}: LEO {self.to_offset}, high watermark {self.high_watermark}"
        )


class FollowerHighWatermark(Event):
    """A follower's high watermark moved without new records."""

    kind: ClassVar[str] = "follower-high-watermark"
    level: ClassVar[int] = DETAIL
    source: ClassVar[str] = "UnifiedLog#maybeUpdateHighWatermark"
    broker: int
    topic: str
    partition: int
    old_offset: int
    new_offset: int

    def sentence(self) -> str:
        return f"b{self.broker} learned the high watermark of {name_of(self.topic, self.partition)}: {self.old_offset} → {self.new_offset}"


class HighWatermarkAdvanced(Event):
    """A leader's high watermark rose; `held_by` is the replica with the smallest LEO that counts."""

    kind: ClassVar[str] = "high-watermark"
    level: ClassVar[int] = NORMAL
    source: ClassVar[str] = "Partition#maybeIncrementLeaderHW"
    broker: int
    topic: str
    partition: int
    leader_epoch: int
    old_offset: int
    new_offset: int
    held_by: int

    def sentence(self) -> str:
        why = (
            "every replica that counts has all"
            if self.held_by == self.broker
            else f"b{self.held_by} has fetched up to there, the others that count no less"
        )
        return f"high watermark of {name_of(self.topic, self.partition)} {self.old_offset} → {self.new_offset} on b{self.broker}: {why}"


class EpochAnswered(Event):
    """A follower asked where its last epoch ends (OffsetsForLeaderEpoch) and was told (`epoch`, `end_offset`).

    -1 where the leader cannot tell; before 2.0 it tells no epoch.
    """

    kind: ClassVar[str] = "epoch-answered"
    source: ClassVar[str] = "AbstractFetcherThread#getOffsetTruncationState, KIP-101, KIP-279"
    broker: int
    topic: str
    partition: int
    leader: int
    asked_epoch: int
    epoch: int
    end_offset: int

    def sentence(self) -> str:
        which = f"epoch {self.epoch}" if self.epoch >= 0 else "it"
        told = "nobody can tell by its leader's log" if self.end_offset < 0 else f"{which} ends at {self.end_offset}"
        return f"b{self.broker} asked b{self.leader} where epoch {self.asked_epoch} of {name_of(self.topic, self.partition)} ends: {told}"


_TRUNCATED: Final = {
    "high-watermark": "before 0.11 a follower cuts to its own high watermark, since then only where no leader epoch tells better (KIP-101)",
    "leader-epoch": "b{leader} said where the epoch ends that it was asked for (KIP-101)",
    "diverging-epoch": "b{leader} answered the fetch with a diverging epoch (KIP-595)",
    "out-of-range": "the log of b{leader} ends there",
}


class Truncated(Event):
    """A replica cut its log to `from_offset`.

    It reached to `to_offset`. `rule`: high-watermark, leader-epoch, diverging-epoch or out-of-range.
    """

    kind: ClassVar[str] = "truncated"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "UnifiedLog#truncateTo"
    words: ClassVar[dict[str, tuple[str, ...]]] = {"rule": tuple(_TRUNCATED)}
    broker: int
    topic: str
    partition: int
    leader: int
    from_offset: int
    to_offset: int
    high_watermark: int
    rule: str

    def sentence(self) -> str:
        return (
            f"b{self.broker} truncated {name_of(self.topic, self.partition)} from {self.to_offset} to {self.from_offset} "
            f"({offsets(self.from_offset, self.to_offset)} gone from it): {_TRUNCATED[self.rule].format(leader=self.leader)}"
        )


class FetchFailed(Event):
    """A follower's fetch came back with an error; it tries again after replica.fetch.backoff.ms, or waits for metadata."""

    kind: ClassVar[str] = "fetch-failed"
    source: ClassVar[str] = "AbstractFetcherThread#processFetchRequest"
    broker: int
    topic: str
    partition: int
    leader: int
    error: str

    def sentence(self) -> str:
        return f"b{self.broker} could not fetch {name_of(self.topic, self.partition)} from b{self.leader}: {self.error}"


class FetcherLags(Event):
    """A follower appended what it was handed, and knows that more is committed: `high_watermark` is its leader's."""

    kind: ClassVar[str] = "fetcher-lags"
    level: ClassVar[int] = DETAIL
    source: ClassVar[str] = "FetcherLagMetrics#lag"
    broker: int
    topic: str
    partition: int
    leader: int
    offset: int
    high_watermark: int

    def sentence(self) -> str:
        return (
            f"b{self.broker} lacks {records(self.high_watermark - self.offset)} of {name_of(self.topic, self.partition)} that are committed: "
            f"its LEO is {self.offset}, the high watermark of b{self.leader} {self.high_watermark}"
        )


class FetcherDisconnected(Event):
    """A follower lost the connection to a leader; all partitions of that fetcher back off."""

    kind: ClassVar[str] = "fetcher-disconnected"
    level: ClassVar[int] = DETAIL
    source: ClassVar[str] = "ReplicaFetcherBlockingSend"
    broker: int
    leader: int
    partitions: int
    error: str

    def sentence(self) -> str:
        return (
            f"b{self.broker} got no answer from b{self.leader} ({self.error}): {self.partitions} partitions wait replica.fetch.backoff.ms"
        )
