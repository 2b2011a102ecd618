"""How far a fetcher is with one partition (Kafka: `PartitionFetchState`)."""

from __future__ import annotations

from typing import Final

from core.kafka.broker.partition import Partition
from core.kafka.ids import NO_EPOCH
from core.kafka.log.replica_log import ReplicaLog
from core.sim.journal import Column

TRUNCATING: Final = "truncating"
"""The fetcher must find the truncation point first."""

FETCHING: Final = "fetching"
"""Ready to fetch from the LEO."""


class PartitionFetchState:
    """One partition of a fetcher.

    Attributes:
        partition, topic, number: which; log: its log.
        leader_epoch: in which it fetches.
        state: TRUNCATING or FETCHING.
        asked_epoch: whose end it asks for, while it truncates.
        leader_high_watermark: the leader's as an answer last told it; -1 before the first answer.
        sent_epoch: the leader epoch of the last request that named it. An answer counts while it equals `leader_epoch`: not if the
            request is of a former epoch, and not while the partition backs off (-1).
        delayed_until: until when it backs off, µs; 0 if it does not.
        out_of_range: it must ask for the bounds of the leader's log first.
        checked: the first records from this leader were compared for the durability account.
    """

    __slots__ = (
        "asked_epoch", "checked", "delayed_until", "leader_epoch", "leader_high_watermark", "log", "number", "out_of_range", "partition",
        "sent_epoch", "state", "topic",
    )  # fmt: skip

    partition: Final[Partition]
    log: Final[ReplicaLog]
    topic: Final[str]
    number: Final[Column]

    def __init__(self, partition: Partition, leader_epoch: int) -> None:
        self.partition = partition
        self.log = partition.log
        self.topic = partition.topic
        self.number = partition.number
        self.leader_epoch = leader_epoch
        self.state = FETCHING
        self.asked_epoch = NO_EPOCH
        self.sent_epoch = NO_EPOCH
        self.delayed_until = 0
        self.out_of_range = False
        self.checked = False
        self.leader_high_watermark = -1

    @property
    def lag(self) -> int | None:
        """How many committed records the follower lacks, as far as answers have told it; None before the first (`FetcherLagMetrics#lag`)."""
        return None if self.leader_high_watermark < 0 else max(0, self.leader_high_watermark - self.log.leo)
