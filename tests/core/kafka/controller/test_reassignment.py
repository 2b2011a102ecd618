"""Reassignment arithmetic, by Kafka's own vectors: RSN (PartitionReassignmentReplicasTest, PartitionReassignmentRevertTest)."""

from __future__ import annotations

import pytest

from core.kafka.controller.reassignment import CompletedReassignment, PartitionReassignmentReplicas, PartitionReassignmentRevert
from core.kafka.errors import INVALID_REPLICA_ASSIGNMENT, KafkaError
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.release import ReassignmentCompletion

between = PartitionReassignmentReplicas.between


@pytest.mark.parametrize(
    ("current", "target", "removing", "adding", "replicas"),
    [
        pytest.param((3, 2, 1), (3, 6, 2, 1, 5), (), (5, 6), (3, 6, 2, 1, 5), id="RSN-01"),
        pytest.param((3, 2, 1, 0), (3, 1), (0, 2), (), (3, 1, 0, 2), id="RSN-02"),
        pytest.param((0, 1, 2), (3, 4, 5), (0, 1, 2), (3, 4, 5), (3, 4, 5, 0, 1, 2), id="RSN-04"),
        pytest.param((3, 2, 1, 0), (0, 1, 3, 2), (), (), (0, 1, 3, 2), id="RSN-07"),
    ],
)
def test_rsn_lists_of_a_reassignment(
    current: tuple[int, ...], target: tuple[int, ...], removing: tuple[int, ...], adding: tuple[int, ...], replicas: tuple[int, ...]
) -> None:
    lists = between(current, target)
    assert (lists.removing, lists.adding, lists.replicas) == (removing, adding, replicas)


@pytest.mark.parametrize(
    ("current", "target", "isr", "done"),
    [
        pytest.param((0, 1, 2), (3, 4, 5), (0, 1, 2, 3, 4), None, id="RSN-04-incomplete"),
        pytest.param((0, 1, 2), (3, 4, 5), (0, 1, 2, 3, 4, 5), (3, 4, 5), id="RSN-04-complete"),
        pytest.param((0, 1, 2), (0, 1, 3), (0, 1, 2, 3), (0, 1, 3), id="RSN-05"),
        pytest.param((0, 1, 2), (0, 1, 3), (3,), None, id="RSN-06"),
        pytest.param((0, 1, 2), (0, 1, 3), (2,), None, id="RSN-06-isr-would-be-empty"),
        pytest.param((0, 1, 2), (2, 1, 0), (0, 1, 2), None, id="RSN-07-no-lists"),
    ],
)
def test_rsn_completion(current: tuple[int, ...], target: tuple[int, ...], isr: tuple[int, ...], done: tuple[int, ...] | None) -> None:
    expected = None if done is None else CompletedReassignment(done, done)
    assert between(current, target).maybe_complete(isr, ReassignmentCompletion.ALL_TARGETS) == expected


@pytest.mark.parametrize(
    ("target", "isr", "rule", "done"),
    [
        ((1, 4, 2), (3, 4, 2), ReassignmentCompletion.ADDED, True),
        ((1, 4, 2), (3, 4, 2), ReassignmentCompletion.ALL_TARGETS, False),
        ((1, 4, 2), (3, 4, 2), ReassignmentCompletion.ADDED_OR_ALL_TARGETS, True),
        ((1, 4, 2), (3, 4), ReassignmentCompletion.ADDED, False),
        ((1, 4), (3, 4), ReassignmentCompletion.ADDED, True),
        ((1, 4), (3, 4), ReassignmentCompletion.ADDED_OR_ALL_TARGETS, False),
        ((1, 4), (1, 3, 4), ReassignmentCompletion.ADDED_OR_ALL_TARGETS, True),
    ],
)
def test_a_replica_that_stays_must_be_in_sync_depending_on_the_release(
    target: tuple[int, ...], isr: tuple[int, ...], rule: ReassignmentCompletion, done: bool
) -> None:
    """Replica 1 is down while the replicas 3, 1, and 4 are replaced. Recorded with 3.5.2, 3.7.2, 4.0.1, 4.2.0, and 4.3.1."""
    left = tuple(member for member in isr if member != 3)
    expected = CompletedReassignment(target, left) if done else None
    assert between((3, 1, 4), target).maybe_complete(isr, rule) == expected


def test_rsn_07_original_replicas_and_progress() -> None:
    lists = between((0, 1, 2), (0, 1, 3))
    assert lists.in_progress
    assert lists.original_replicas == (0, 1, 2)
    assert not between((3, 2, 1, 0), (0, 1, 3, 2)).in_progress


def test_rsn_cancel_keeps_todays_order() -> None:
    partition = PartitionRegistration((0, 2, 1, 3), (3, 2, 1), 3, 0, 0, adding=(0,), removing=(3,))
    assert PartitionReassignmentRevert.of(partition) == PartitionReassignmentRevert((2, 1, 3), (3, 2, 1), unclean=False)


def test_rsn_cancel_that_empties_the_isr_is_unclean() -> None:
    partition = PartitionRegistration((4, 5, 3, 2), (4, 5), 4, 0, 0, adding=(4, 5), removing=(3, 2))
    assert PartitionReassignmentRevert.of(partition) == PartitionReassignmentRevert((3, 2), (3,), unclean=True)


def test_rsn_cancel_with_nothing_to_go_back_to() -> None:
    partition = PartitionRegistration((4, 5), (4, 5), 4, 0, 0, adding=(4, 5))
    with pytest.raises(KafkaError) as refused:
        PartitionReassignmentRevert.of(partition)
    assert refused.value.code == INVALID_REPLICA_ASSIGNMENT
