"""Events about ISR changes: proposals by leaders, and their results."""

from __future__ import annotations

from core.kafka.events.base import NOTABLE, ReplicaEvent, brokers, ids


class IsrShrinkProposed(ReplicaEvent, kind="isr-shrink-proposed", source="Partition#maybeShrinkIsr"):
    """A leader wants to remove followers that have not caught up in time (before 0.9: that have not fetched in time)."""

    isr: tuple[int, ...]
    out: tuple[int, ...]
    lag_us: int
    limit_us: int

    template = (
        "b{broker} wants to remove {out:brokers} from the ISR of {tp}: "
        "a lag time of {lag_us:duration} exceeds replica.lag.time.max.ms ({limit_us:duration})"
    )


class IsrShrinkByCount(ReplicaEvent, kind="isr-shrink-by-count", source="Partition#getOutOfSyncReplicas"):
    """A leader wants to remove followers that fetch in time but lack too many records (only before 0.9)."""

    isr: tuple[int, ...]
    out: tuple[int, ...]
    missing: int
    limit_records: int

    template = (
        "b{broker} wants to remove {out:brokers} from the ISR of {tp}: "
        "a lag of {missing:count record} exceeds replica.lag.max.messages ({limit_records:,})"
    )


class IsrExpandProposed(ReplicaEvent, kind="isr-expand-proposed", source="Partition#maybeExpandIsr"):
    """A leader wants to add a follower that has reached the high watermark. The leader asks the controller to commit the new ISR; before
    2.7, it writes the ISR to ZooKeeper itself."""

    follower: int
    isr: tuple[int, ...]
    offset: int
    high_watermark: int

    template = "b{broker} wants to add b{follower} to the ISR of {tp}: the LEO of b{follower} ({offset}) has reached the high watermark ({high_watermark})"


class IsrShrunk(
    ReplicaEvent, kind="isr-shrunk", source="Partition#handleAlterPartitionUpdate, before 2.7 Partition#maybeShrinkIsr", level=NOTABLE
):
    """A smaller ISR was committed. Since 2.7, the controller commits the ISR that the leader has proposed. Before 2.7, the leader itself
    writes the ISR to ZooKeeper.
    """

    isr: tuple[int, ...]
    out: tuple[int, ...]
    partition_epoch: int

    def sentence(self) -> str:
        them = "it" if len(self.out) == 1 else "them"
        return f"{brokers(self.out)} left the ISR of {self.tp}, which is now {ids(self.isr)}; the high watermark no longer waits for {them}"


class IsrExpanded(
    ReplicaEvent, kind="isr-expanded", source="Partition#handleAlterPartitionUpdate, before 2.7 Partition#maybeExpandIsr", level=NOTABLE
):
    """A larger ISR was committed. Since 2.7, the controller commits the ISR that the leader has proposed. Before 2.7, the leader itself
    writes the ISR to ZooKeeper.
    """

    isr: tuple[int, ...]
    joined: tuple[int, ...]
    partition_epoch: int

    template = "{joined:brokers} joined the ISR of {tp}, which is now {isr:ids}"


class IsrChangeFailed(ReplicaEvent, kind="isr-change-failed", source="Partition#handleAlterPartitionError"):
    """A leader could not change an ISR."""

    isr: tuple[int, ...]
    error: str

    template = "b{broker} could not change the ISR of {tp} to {isr:ids}: {error}"
