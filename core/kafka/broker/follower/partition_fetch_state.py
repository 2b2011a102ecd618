"""A fetcher's state for one partition (Kafka: `PartitionFetchState`)."""

from __future__ import annotations

from typing import Final

from core.kafka.broker.partition import Partition
from core.kafka.ids import NO_EPOCH
from core.kafka.log.replica_log import ReplicaLog
from core.sim.journal import Column

TRUNCATING: Final = "truncating"
"""The fetcher must find the truncation point before it can fetch."""

FETCHING: Final = "fetching"
"""The fetcher fetches from the LEO."""


class PartitionFetchState:
    """A fetcher's state for one partition.

    Attributes:
        partition, topic, number: the partition, its topic, and its number.
        log: the partition's log on this broker.
        leader_epoch: the leader epoch in which the fetcher fetches.
        state: TRUNCATING or FETCHING.
        asked_epoch: the epoch whose end offset the fetcher requests while it truncates.
        leader_high_watermark: the leader's high watermark in the last response; -1 before the first response.
        sent_epoch: the leader epoch in the last request that contained the partition; -1 during a backoff. A response is valid only if
            `sent_epoch` equals `leader_epoch`; otherwise, the request belongs to a former epoch.
        delayed_until: the time when the backoff ends, in µs; 0 if no backoff is in progress.
        out_of_range: whether the fetcher must first ask for the bounds of the leader's log.
        throttled: whether the follower's replication quota holds the partition back.
        checked: whether the durability account knows that the follower has received its first response from this leader.
    """

    __slots__ = (
        "asked_epoch", "checked", "delayed_until", "leader_epoch", "leader_high_watermark", "log", "number", "out_of_range", "partition",
        "sent_epoch", "state", "throttled", "topic",
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
        self.throttled = False
        self.checked = False
        self.leader_high_watermark = -1

    @property
    def lag(self) -> int | None:
        """The number of committed records that the follower lacks as of the last response; None before the first response
        (`FetcherLagMetrics#lag`).
        """
        return None if self.leader_high_watermark < 0 else max(0, self.leader_high_watermark - self.log.leo)
