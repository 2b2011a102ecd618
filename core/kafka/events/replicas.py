"""Events about replicas: roles, appends, fetches, high watermarks, and truncations."""

from __future__ import annotations

from typing import Final

from core.kafka.events.base import BROKER, DETAIL, NOTABLE, OFFSETS, Event, ReplicaEvent, count_of, ids, leader_name, offsets, records


class BecameLeader(ReplicaEvent, kind="became-leader", source="Partition#makeLeader"):
    """A broker became leader, and its log is now authoritative. `offset` is the leader's LEO, where its epoch starts."""

    leader_epoch: int
    offset: int
    high_watermark: int
    isr: tuple[int, ...]

    template = "b{broker} became leader of {tp} in epoch {leader_epoch}, which starts at offset {offset}; its high watermark stays at {high_watermark}"


class BecameFollower(ReplicaEvent, kind="became-follower", source="Partition#makeFollower"):
    """A broker became a follower. `offset` is the LEO of the new follower."""

    leader: int
    leader_epoch: int
    offset: int
    high_watermark: int

    def sentence(self) -> str:
        follows = f"follows {leader_name(self.leader)} for {self.tp}" if self.leader >= 0 else f"has no leader to follow for {self.tp}"
        return f"b{self.broker} {follows} in epoch {self.leader_epoch}; its LEO is {self.offset}, and its high watermark is {self.high_watermark}"


class Appended(ReplicaEvent, kind="append", source="Partition#appendRecordsToLeader", changes=OFFSETS):
    """A leader appended a batch from a producer."""

    leader_epoch: int
    from_offset: int
    to_offset: int
    bytes: int
    producer: str
    acks: int

    def sentence(self) -> str:
        acks = "all" if self.acks < 0 else str(self.acks)
        return (
            f"b{self.broker} appended {offsets(self.from_offset, self.to_offset)} from {self.producer} to "
            f"{self.tp} (acks={acks}); its LEO is now {self.to_offset}"
        )


class AppendRefused(ReplicaEvent, kind="append-refused", source="Partition#appendRecordsToLeader", level=NOTABLE):
    """A broker refused a batch from a producer, and appended nothing."""

    producer: str
    records: int
    error: str
    isr: tuple[int, ...]
    min_isr: int

    def sentence(self) -> str:
        why = (
            f", because the ISR {ids(self.isr)} is smaller than min.insync.replicas ({self.min_isr})"
            if self.error == "NOT_ENOUGH_REPLICAS" and len(self.isr) < self.min_isr
            else ""
        )
        return f"b{self.broker} refused {records(self.records)} from {self.producer} for {self.tp}: {self.error}{why}"


class FollowerFetched(ReplicaEvent, kind="follower-fetched", source="Partition#updateFollowerFetchState", level=DETAIL, changes=OFFSETS):
    """The leader learned the LEO of a follower, which is the offset at which the follower's fetch starts."""

    follower: int
    old_offset: int
    new_offset: int

    template = "b{follower} asked b{broker} for {tp} from offset {new_offset}, which b{broker} now considers the LEO of b{follower}"


class FollowerAppended(
    ReplicaEvent, kind="follower-append", source="ReplicaFetcherThread#processPartitionData", level=DETAIL, changes=OFFSETS
):
    """A follower appended the records in a fetch response. `high_watermark` is the follower's own high watermark after the append."""

    leader: int
    from_offset: int
    to_offset: int
    high_watermark: int

    template = (
        "b{broker} copied {offset_range} of {tp} from b{leader}; its LEO is now {to_offset}, and its high watermark is {high_watermark}"
    )


class FollowerHighWatermark(
    ReplicaEvent, kind="follower-high-watermark", source="UnifiedLog#maybeUpdateHighWatermark", level=DETAIL, changes=OFFSETS
):
    """A follower's high watermark changed, but the response contained no new records."""

    old_offset: int
    new_offset: int

    template = "b{broker} updated its high watermark of {tp} from {old_offset} to {new_offset}, after a response from its leader"


class HighWatermarkAdvanced(ReplicaEvent, kind="high-watermark", source="Partition#maybeIncrementLeaderHW", changes=OFFSETS):
    """A leader's high watermark rose. `held_by` is the broker with the lowest LEO among the replicas that the high watermark waits for."""

    leader_epoch: int
    old_offset: int
    new_offset: int
    held_by: int

    def sentence(self) -> str:
        limit = ", which is the leader's LEO" if self.held_by == self.broker else f"; b{self.held_by} now holds it back"
        return f"b{self.broker} raised the high watermark of {self.tp} from {self.old_offset} to {self.new_offset}{limit}"


class EpochAnswered(ReplicaEvent, kind="epoch-answered", source="AbstractFetcherThread#getOffsetTruncationState, KIP-101, KIP-279"):
    """A follower asked where its last epoch ends (OffsetsForLeaderEpoch), and the leader answered with `epoch` and `end_offset`.

    If the leader does not know the epoch, `epoch` and `end_offset` are -1. Before 2.0, the response to OffsetsForLeaderEpoch does not
    contain an epoch.
    """

    leader: int
    asked_epoch: int
    epoch: int
    end_offset: int

    def sentence(self) -> str:
        which = f"epoch {self.epoch}" if self.epoch >= 0 else "it"
        answer = f"b{self.leader} does not know" if self.end_offset < 0 else f"{which} ends at {self.end_offset}"
        return f"b{self.broker} asked b{self.leader} where epoch {self.asked_epoch} of {self.tp} ends: {answer}"


_TRUNCATED: Final = {
    "high-watermark": "it used its own high watermark, because no leader epoch was available",
    "leader-epoch": "b{leader} reported where the leader epoch ends (KIP-101)",
    "diverging-epoch": "b{leader} answered its fetch with a diverging epoch (KIP-595)",
    "out-of-range": "the log of b{leader} ends at that offset",
}


class Truncated(ReplicaEvent, kind="truncated", source="UnifiedLog#truncateTo", level=NOTABLE, words={"rule": tuple(_TRUNCATED)}):
    """A replica truncated its log to `from_offset`.

    Before the truncation, the log ended at `to_offset`. `rule` is `high-watermark`, `leader-epoch`, `diverging-epoch`, or `out-of-range`.
    """

    leader: int
    from_offset: int
    to_offset: int
    high_watermark: int
    rule: str

    def sentence(self) -> str:
        return (
            f"b{self.broker} truncated {self.tp} to {self.from_offset}, "
            f"dropping {offsets(self.from_offset, self.to_offset)}: {_TRUNCATED[self.rule].format(leader=self.leader)}"
        )


class FetchFailed(ReplicaEvent, kind="fetch-failed", source="AbstractFetcherThread#processFetchRequest"):
    """A follower's fetch failed. The follower retries after replica.fetch.backoff.ms, or waits for new metadata."""

    leader: int
    error: str

    template = "b{broker} could not fetch {tp} from b{leader}: {error}"


class FetcherLags(ReplicaEvent, kind="fetcher-lags", source="FetcherLagMetrics#lag", level=DETAIL):
    """A follower appended the records in a fetch response, but still lacks committed records. `high_watermark` is the leader's high
    watermark."""

    leader: int
    offset: int
    high_watermark: int

    def sentence(self) -> str:
        return (
            f"b{self.broker} lacks {count_of(self.high_watermark - self.offset, 'committed record')} of {self.tp}: "
            f"its LEO is {self.offset}, and the high watermark of b{self.leader} is {self.high_watermark}"
        )


class FetcherDisconnected(Event, kind="fetcher-disconnected", source="ReplicaFetcherBlockingSend", level=DETAIL, changes=BROKER):
    """A follower lost its connection to a leader. The follower fetches the partitions again after a backoff."""

    broker: int
    leader: int
    partitions: int
    error: str

    template = "b{broker} got no response from b{leader} ({error}); b{broker} will fetch {partitions:count partition} again after replica.fetch.backoff.ms"
