"""Which replica a consumer had better read from (KIP-392): a leader with RackAwareReplicaSelector sends it to one in its own rack."""

from __future__ import annotations

from typing import Final, NamedTuple

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
