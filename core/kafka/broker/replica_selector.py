"""The replica that a consumer should read from (KIP-392).

A leader with RackAwareReplicaSelector sends consumers to a replica in their own rack.
"""

from __future__ import annotations

from typing import Final, NamedTuple

RACK_AWARE: Final = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
"""The value of `replica.selector.class` for that."""


class ReplicaView(NamedTuple):
    """A replica as a selector sees it (Kafka: `ReplicaView`).

    Attributes:
        rack: None if it has none, or if its broker is not alive.
        since_caught_up: µs since it was last caught up.
    """

    broker: int
    rack: str | None
    leo: int
    since_caught_up: int


def select_rack_aware(rack: str, leader: ReplicaView, replicas: list[ReplicaView]) -> ReplicaView:
    """The replica for a client in a rack (`RackAwareReplicaSelector#select`).

    It is the leader if it is in that rack or no replica is. Otherwise it is the most caught-up replica in the rack: the one with the largest
    LEO, then the shortest time since it was caught up, then the highest id.
    """
    near = [view for view in (leader, *replicas) if rack and view.rack == rack]
    if not near or leader in near:
        return leader
    return max(near, key=lambda view: (view.leo, -view.since_caught_up, view.broker))
