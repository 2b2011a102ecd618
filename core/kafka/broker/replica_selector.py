"""The replica that a consumer should read from (KIP-392).

A leader that uses RackAwareReplicaSelector tells consumers to read from a replica in their own rack.
"""

from __future__ import annotations

from typing import Final, NamedTuple

RACK_AWARE: Final = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
"""The class name in `replica.selector.class` that selects replicas by rack."""


class ReplicaView(NamedTuple):
    """What a selector knows about a replica (Kafka: `ReplicaView`).

    Attributes:
        rack: the rack of the replica's broker; None if the broker has no rack or is not alive.
        since_caught_up: the time since the replica was last caught up, in µs.
    """

    broker: int
    rack: str | None
    leo: int
    since_caught_up: int


def select_rack_aware(rack: str, leader: ReplicaView, replicas: list[ReplicaView]) -> ReplicaView:
    """Return the replica for a client in a rack (`RackAwareReplicaSelector#select`).

    If the leader is in the client's rack, or if no replica is in that rack, the result is the leader. Otherwise, the result is the replica
    with the largest LEO in the client's rack. The replica that was caught up most recently wins a tie, and then the replica with the
    highest ID.
    """
    near = [view for view in (leader, *replicas) if rack and view.rack == rack]
    if not near or leader in near:
        return leader
    return max(near, key=lambda view: (view.leo, -view.since_caught_up, view.broker))
