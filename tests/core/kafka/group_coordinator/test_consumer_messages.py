"""Messages of the consumer protocol."""

from __future__ import annotations

import pytest

from core.kafka.group_coordinator.consumer_group.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest


@pytest.mark.parametrize("missing", [None, "rebalance_timeout", "topics", "owned"])
def test_a_heartbeat_is_full_if_it_carries_all_fields_or_joins(missing: str | None) -> None:
    """`ConsumerGroupHeartbeatRequest` in a joined member is full only if the timeout, the subscription, and the owned partitions are set."""
    fields = {"rebalance_timeout": 1, "topics": ("t",), "owned": ()}
    given = {name: value for name, value in fields.items() if name != missing}
    request = ConsumerGroupHeartbeatRequest(1, "c", "g", "m", 5)._replace(**given)
    assert request.is_full() is (missing is None)
    assert request._replace(member_epoch=0).is_full()
