"""The retention of committed offsets: the vectors OFF-05 and OFF-06, and what changed with KIP-211."""

from __future__ import annotations

import pytest

from core.kafka import errors
from core.kafka.group_coordinator.classic_group.classic_group_member import ClassicGroupMember
from core.kafka.group_coordinator.classic_group.classic_group_messages import Subscription
from core.kafka.group_coordinator.classic_group.group_records import GroupMetadataKey
from core.kafka.group_coordinator.classic_group.group_state import GroupState
from core.kafka.group_coordinator.group_metadata import GroupMetadata
from core.kafka.group_coordinator.offset_expiry import expiration_base
from core.kafka.group_coordinator.offsets_log import CommittedOffset, OffsetKey
from core.kafka.ids import TopicPartition
from core.kafka.release import Release
from core.sim.units import SECOND, US_PER_MS
from tests.core.kafka.group_coordinator.raw_members import Group

FOO, BAR = TopicPartition("foo", 0), TopicPartition("bar", 0)


def test_off_05_the_bounds() -> None:
    """OFF-05: the retention is inclusive. An entry with an expiry of its own (v2 to v4) does not exist here."""
    group = Group(offsets_retention_minutes=1)
    member = group.member("m1")
    assert member.commit() == errors.NONE
    expiry = group.cluster.brokers[group.broker].groups.expiry
    stamp = group.metadata.offsets[FOO].committed.timestamp
    group.cluster.run_until(stamp + 60 * SECOND - US_PER_MS)
    assert expiry.expired(group.metadata) == []
    group.cluster.run_until(stamp + 60 * SECOND)
    assert expiry.expired(group.metadata) == [FOO]


def test_off_06_topics_that_are_not_subscribed_expire() -> None:
    """OFF-06."""
    group = Group(offsets_retention_minutes=1, offsets_retention_check_interval_ms=500)
    member = group.member("m1", session=600_000)
    group.form(member)
    assert member.commit(offsets=((FOO, 5, -1), (BAR, 6, -1))) == errors.NONE
    began = group.cluster.now
    group.cluster.run_until(began + 500_000)
    assert member.commit(offsets=((TopicPartition("bar", 1), 7, -1),)) == errors.NONE
    group.cluster.run_until(began + 59 * SECOND)
    assert len(group.metadata.offsets) == 3
    group.cluster.run_until(began + 62 * SECOND)
    assert list(group.metadata.offsets) == [FOO], "the topic that the member subscribes to"


def test_an_empty_group_loses_its_offsets_and_is_deleted() -> None:
    group = Group(offsets_retention_minutes=1, offsets_retention_check_interval_ms=500)
    member = group.member("m1")
    group.form(member)
    assert member.commit() == errors.NONE
    group.cluster.run_until(group.cluster.now + 2 * SECOND)
    assert member.leave().error == errors.NONE
    emptied = group.cluster.now
    group.cluster.run_until(emptied + 59 * SECOND)
    assert list(group.metadata.offsets) == [FOO], "the clock begins when the group becomes empty"
    group.cluster.run_until(emptied + 62 * SECOND)
    coordinator = group.cluster.brokers[group.broker]
    assert coordinator.groups.groups.caches[0].groups == {}
    tombstones = coordinator.disk.logs[TopicPartition("__consumer_offsets", 0)].records.terms[-1].batches[-1]
    assert tombstones.content == ((OffsetKey("g", FOO), None), (GroupMetadataKey("g"), None))
    of_no_producer = (
        tombstones.batch_id,
        tombstones.producer_id,
        tombstones.producer_epoch,
        tombstones.first_sequence,
        tombstones.transactional,
    )
    assert of_no_producer == (0, -1, -1, -1, False)


@pytest.mark.parametrize(
    ("release", "state", "base"),
    [("2.0", GroupState.STABLE, 100), ("2.1", GroupState.STABLE, None), ("2.0", GroupState.EMPTY, 100), ("2.1", GroupState.EMPTY, 700)],
)
def test_before_kip_211_offsets_of_active_groups_expire(release: str, state: GroupState, base: int | None) -> None:
    group = GroupMetadata("g")
    group.classic.protocol_type, group.classic.state, group.classic.state_timestamp = "consumer", state, 700
    group.classic.protocol = "" if state is GroupState.EMPTY else "range"
    if state is GroupState.STABLE:
        group.classic.add(ClassicGroupMember("m1", "", "m1", 5000, 5000, (("range", Subscription(("foo",))),)))
    assert expiration_base(group, FOO, CommittedOffset(1, 0, 100), Release.named(release)) == base
