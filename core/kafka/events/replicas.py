"""What replicas do: roles, appends, fetches, high watermarks, truncation."""

from __future__ import annotations

from typing import Final

from core.kafka.events.base import DETAIL, NOTABLE, Event, ids, leader_name, offsets, records


class BecameLeader(Event, kind="became-leader", source="Partition#makeLeader"):
    """A broker took up leadership: its log is now what counts."""

    broker: int
    topic: str
    partition: int
    leader_epoch: int
    offset: int
    high_watermark: int
    isr: tuple[int, ...]

    def sentence(self) -> str:
        return (
            f"b{self.broker} leads {self.tp} from offset {self.offset} in epoch {self.leader_epoch}; "
            f"it keeps its own high watermark {self.high_watermark}"
        )


class BecameFollower(Event, kind="became-follower", source="Partition#makeFollower"):
    """A broker follows a leader; `offset` is its LEO."""

    broker: int
    topic: str
    partition: int
    leader: int
    leader_epoch: int
    offset: int
    high_watermark: int

    def sentence(self) -> str:
        return (
            f"b{self.broker} follows {leader_name(self.leader)} for {self.tp} in epoch {self.leader_epoch}, "
            f"with LEO {self.offset} and high watermark {self.high_watermark}"
        )


class Appended(Event, kind="append", source="Partition#appendRecordsToLeader"):
    """A leader appended a produced batch."""

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
            f"{self.tp} (acks={acks}): LEO {self.to_offset}"
        )


class AppendRefused(Event, kind="append-refused", source="Partition#appendRecordsToLeader", level=NOTABLE):
    """A leader (or a broker that is none) refused a produced batch; nothing was appended."""

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
        return f"b{self.broker} refused {records(self.records)} of {self.producer} for {self.tp}, nothing appended: {self.error}{why}"


class FollowerFetched(Event, kind="follower-fetched", source="Partition#updateFollowerFetchState", level=DETAIL):
    """The leader learned how far a follower's log reaches: the offset its fetch asks from."""

    broker: int
    topic: str
    partition: int
    follower: int
    old_offset: int
    new_offset: int

    def sentence(self) -> str:
        return f"b{self.follower} asked b{self.broker} for {self.tp} from offset {self.new_offset}: so it holds all below"


class FollowerAppended(Event, kind="follower-append", source="ReplicaFetcherThread#processPartitionData", level=DETAIL):
    """A follower appended what it was handed; `high_watermark` is its own after that."""

    broker: int
    topic: str
    partition: int
    leader: int
    from_offset: int
    to_offset: int
    high_watermark: int

    def sentence(self) -> str:
        return (
            f"b{self.broker} copied {offsets(self.from_offset, self.to_offset)} of {self.tp} from "
            f"b{self.leader}: LEO {self.to_offset}, high watermark {self.high_watermark}"
        )


class FollowerHighWatermark(Event, kind="follower-high-watermark", source="UnifiedLog#maybeUpdateHighWatermark", level=DETAIL):
    """A follower's high watermark moved without new records."""

    broker: int
    topic: str
    partition: int
    old_offset: int
    new_offset: int

    def sentence(self) -> str:
        return f"b{self.broker} learned the high watermark of {self.tp}: {self.old_offset} → {self.new_offset}"


class HighWatermarkAdvanced(Event, kind="high-watermark", source="Partition#maybeIncrementLeaderHW"):
    """A leader's high watermark rose; `held_by` is the replica with the smallest LEO that counts."""

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
        return f"high watermark of {self.tp} {self.old_offset} → {self.new_offset} on b{self.broker}: {why}"


class EpochAnswered(Event, kind="epoch-answered", source="AbstractFetcherThread#getOffsetTruncationState, KIP-101, KIP-279"):
    """A follower asked where its last epoch ends (OffsetsForLeaderEpoch) and was told (`epoch`, `end_offset`).

    -1 where the leader cannot tell; before 2.0 it tells no epoch.
    """

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
        return f"b{self.broker} asked b{self.leader} where epoch {self.asked_epoch} of {self.tp} ends: {told}"


_TRUNCATED: Final = {
    "high-watermark": "before 0.11 a follower cuts to its own high watermark, since then only where no leader epoch tells better (KIP-101)",
    "leader-epoch": "b{leader} said where the epoch ends that it was asked for (KIP-101)",
    "diverging-epoch": "b{leader} answered the fetch with a diverging epoch (KIP-595)",
    "out-of-range": "the log of b{leader} ends there",
}


class Truncated(Event, kind="truncated", source="UnifiedLog#truncateTo", level=NOTABLE, words={"rule": tuple(_TRUNCATED)}):
    """A replica cut its log to `from_offset`.

    It reached to `to_offset`. `rule`: high-watermark, leader-epoch, diverging-epoch or out-of-range.
    """

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
            f"b{self.broker} truncated {self.tp} from {self.to_offset} to {self.from_offset} "
            f"({offsets(self.from_offset, self.to_offset)} gone from it): {_TRUNCATED[self.rule].format(leader=self.leader)}"
        )


class FetchFailed(Event, kind="fetch-failed", source="AbstractFetcherThread#processFetchRequest"):
    """A follower's fetch came back with an error; it tries again after replica.fetch.backoff.ms, or waits for metadata."""

    broker: int
    topic: str
    partition: int
    leader: int
    error: str

    def sentence(self) -> str:
        return f"b{self.broker} could not fetch {self.tp} from b{self.leader}: {self.error}"


class FetcherLags(Event, kind="fetcher-lags", source="FetcherLagMetrics#lag", level=DETAIL):
    """A follower appended what it was handed, and knows that more is committed: `high_watermark` is its leader's."""

    broker: int
    topic: str
    partition: int
    leader: int
    offset: int
    high_watermark: int

    def sentence(self) -> str:
        return (
            f"b{self.broker} lacks {records(self.high_watermark - self.offset)} of {self.tp} that are committed: "
            f"its LEO is {self.offset}, the high watermark of b{self.leader} {self.high_watermark}"
        )


class FetcherDisconnected(Event, kind="fetcher-disconnected", source="ReplicaFetcherBlockingSend", level=DETAIL):
    """A follower lost the connection to a leader; all partitions of that fetcher back off."""

    broker: int
    leader: int
    partitions: int
    error: str

    def sentence(self) -> str:
        return (
            f"b{self.broker} got no answer from b{self.leader} ({self.error}): {self.partitions} partitions wait replica.fetch.backoff.ms"
        )
