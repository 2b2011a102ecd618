"""Which replica a consumer had better read from (KIP-392): a leader with RackAwareReplicaSelector sends it to one in its own rack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from core.kafka import errors
from core.kafka.ids import NO_EPOCH, NO_LEADER

if TYPE_CHECKING:
    from core.kafka.broker.partition import Partition

RACK_AWARE: Final = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
"""The value of `replica.selector.class` that does so."""


class ReplicaView(NamedTuple):
    """A replica as a selector sees it (Kafka: `ReplicaView`); `rack` None if it has none or its broker does not live; times in µs."""

    broker: int
    rack: str | None
    leo: int
    since_caught_up: int


def select_rack_aware(rack: str, leader: ReplicaView, replicas: list[ReplicaView]) -> ReplicaView:
    """The replica for a client in a rack (`RackAwareReplicaSelector#select`): the leader if it is there or nobody is, else the one most caught up.

    The larger LEO, then the shorter time since it was caught up, then the higher id.
    """
    near = [view for view in (leader, *replicas) if rack and view.rack == rack]
    if not near or leader in near:
        return leader
    return max(near, key=lambda view: (view.leo, -view.since_caught_up, view.broker))


def find_preferred_read_replica(partition: Partition, rack: str | None, position: int, leader_epoch: int) -> int:
    """The follower that a consumer is to fetch a position from, NO_LEADER if this broker serves it itself.

    Kafka: `ReplicaManager#findPreferredReadReplica`.

    Only members of the ISR that hold the position as far as the leader knows: one that lags would keep the consumer behind.
    `rack` is None for clients that do not tell theirs (before 2.4).
    """
    broker = partition.broker
    if not rack or not broker.selects_by_rack:
        return NO_LEADER
    if partition.check_leader_epoch(leader_epoch if broker.release.fetch_epoch_fencing else NO_EPOCH) != errors.NONE:
        return NO_LEADER
    now = broker.journal.now
    candidates = [
        ReplicaView(replica.broker, broker.rack_of(replica.broker), replica.leo, now - replica.caught_up_time())
        for replica in partition.remotes.values()
        if replica.broker in partition.isr and replica.log_start <= position <= replica.leo
    ]
    leader = ReplicaView(broker.id, broker.rack, partition.log.leo, 0)
    chosen = select_rack_aware(rack, leader, candidates)
    return NO_LEADER if chosen is leader else chosen.broker
