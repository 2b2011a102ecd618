"""The controller's partition changes, by Kafka's own vectors: PCB (PartitionChangeBuilderTest) and the pure ELR vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from core.kafka.admin_requests import ElectionMode
from core.kafka.controller.partition_change import PartitionChange, PartitionChangeBuilder, merge
from core.kafka.controller.reassignment import PartitionReassignmentReplicas, PartitionReassignmentRevert
from core.kafka.health import effective_min_isr
from core.kafka.ids import NO_LEADER
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.release import ReassignmentCompletion

FOO = PartitionRegistration(replicas=(2, 1, 3), isr=(2, 1, 3), leader=1, leader_epoch=100, partition_epoch=200)
BAR = PartitionRegistration((1, 2, 3, 4), (1, 2, 3), 1, 100, 200, removing=(1,), adding=(4,))
BAZ = PartitionRegistration((2, 1, 3), (1, 3), 3, 100, 200)
FOUR = PartitionRegistration((1, 2, 3, 4), (1, 2, 3, 4), 1, 100, 200)

ONLINE, UNCLEAN, PREFERRED = ElectionMode.ONLINE, ElectionMode.UNCLEAN, ElectionMode.PREFERRED


def anyone(_: int) -> bool:
    return True


def nobody(_: int) -> bool:
    return False


def but(*down: int) -> Callable[[int], bool]:
    return lambda broker: broker not in down


def only(*up: int) -> Callable[[int], bool]:
    return lambda broker: broker in up


but_3 = but(3)


def change(partition: PartitionRegistration, acceptable: Callable[[int], bool] = but_3, **targets: Any) -> PartitionChange | None:
    rules: dict[str, Any] = {
        "min_isr": 2,
        "elr_enabled": False,
        "bump_epoch_on_shrink": False,
        "reassignment_completion": ReassignmentCompletion.ALL_TARGETS,
    }
    lists = {name: targets.pop(f"target_{name}") for name in ("replicas", "adding", "removing") if f"target_{name}" in targets}
    if lists:
        targets["target"] = attrs.evolve(PartitionReassignmentReplicas.of(partition), **lists)
    return PartitionChangeBuilder(partition, acceptable=acceptable, **{**rules, **targets}).build()


def leader_after(partition: PartitionRegistration, acceptable: Callable[[int], bool] = but_3, **targets: Any) -> int:
    record = change(partition, acceptable, **targets)
    return partition.leader if record is None else merge(partition, record).leader


# Election of a leader


def test_pcb_01_preferred_election_takes_the_first_replica() -> None:
    assert change(FOO, election=PREFERRED) == PartitionChange(leader=2, election="preferred")


@pytest.mark.parametrize("election", [ONLINE, UNCLEAN], ids=["PCB-02", "PCB-03"])
def test_pcb_02_03_a_valid_leader_stays(election: ElectionMode) -> None:
    assert change(FOO, election=election) is None


@pytest.mark.parametrize("election", [ONLINE, UNCLEAN])
def test_pcb_04_leader_within_the_target_isr_stays(election: ElectionMode) -> None:
    assert change(FOO, target_isr=(1, 3), election=election) == PartitionChange(isr=(1, 3))


def test_pcb_05_online_election_finds_nobody() -> None:
    assert change(FOO, target_isr=(3,)) == PartitionChange(isr=(3,), leader=NO_LEADER, election="none")


def test_pcb_07_unclean_mode_prefers_a_clean_leader() -> None:
    record = change(FOO, target_isr=(4,), target_replicas=(2, 1, 3, 4), election=UNCLEAN)
    assert record == PartitionChange(replicas=(2, 1, 3, 4), isr=(4,), leader=4, election="clean")


@pytest.mark.parametrize("election", list(ElectionMode))
def test_pcb_08_preferred_outside_the_isr_keeps_the_leader(election: ElectionMode) -> None:
    assert leader_after(BAZ, anyone, election=election) == 3


@pytest.mark.parametrize(
    ("partition", "acceptable", "election"),
    [(FOO, but(3), ONLINE), (FOO, but(3), UNCLEAN), (BAR, but(3), ONLINE), (BAR, but(3), UNCLEAN), (BAZ, anyone, PREFERRED)],
)
def test_pcb_09_no_change_no_record(partition: PartitionRegistration, acceptable: Callable[[int], bool], election: ElectionMode) -> None:
    assert change(partition, acceptable, election=election) is None


# Epochs


def test_pcb_10_isr_shrink_bumps_the_leader_epoch_only_in_old_releases() -> None:
    assert change(FOO, target_isr=(2, 1)) == PartitionChange(isr=(2, 1))
    old = change(FOO, target_isr=(2, 1), bump_epoch_on_shrink=True)
    assert old == PartitionChange(isr=(2, 1), leader=1)
    assert merge(FOO, old).leader_epoch == 101


@pytest.mark.parametrize("old", [False, True])
def test_pcb_10_isr_expansion_never_bumps_the_leader_epoch(old: bool) -> None:
    partition = attrs.evolve(FOO, replicas=(2, 1, 3, 4))
    assert change(partition, target_isr=(2, 1, 3, 4), bump_epoch_on_shrink=old) == PartitionChange(isr=(2, 1, 3, 4))


@pytest.mark.parametrize("old", [False, True])
def test_pcb_11_a_replica_leaving_the_list_bumps_the_leader_epoch(old: bool) -> None:
    record = change(FOO, target_replicas=(2, 1, 4), bump_epoch_on_shrink=old)
    assert record == PartitionChange(replicas=(2, 1, 4), leader=1)
    assert merge(FOO, record).leader_epoch == 101


@pytest.mark.parametrize("old", [False, True])
def test_pcb_12_an_empty_target_isr_that_cannot_be_written_bumps_the_leader_epoch_only_in_old_releases(old: bool) -> None:
    """Since 3.7, Kafka compares the ISR of the record. Before, it compared the target ISR (`#triggerLeaderEpochBumpIfNeeded` in 3.3.2)."""
    partition = PartitionRegistration((2,), (2,), 2, 100, 200)
    record = change(partition, nobody, target_isr=(), bump_epoch_on_shrink=old)
    assert record == PartitionChange(leader=NO_LEADER, election="none")
    again = merge(partition, record)
    assert (again.leader_epoch, again.isr) == (101, (2,))
    assert change(again, nobody, target_isr=(), bump_epoch_on_shrink=old) == (PartitionChange(leader=NO_LEADER) if old else None)


def test_pcb_13_isr_and_leader_change_together() -> None:
    assert change(FOO, target_isr=(2, 3)) == PartitionChange(isr=(2, 3), leader=2, election="clean")


@pytest.mark.parametrize(
    ("record", "leader_epoch"),
    [
        (PartitionChange(isr=(1,)), 100),
        (PartitionChange(leader=1), 101),
        (PartitionChange(leader=NO_LEADER), 101),
        (PartitionChange(elr=(3,)), 100),
    ],
)
def test_merge_raises_the_partition_epoch_always_and_the_leader_epoch_with_the_leader_field(
    record: PartitionChange, leader_epoch: int
) -> None:
    merged = merge(FOO, record)
    assert (merged.partition_epoch, merged.leader_epoch) == (201, leader_epoch)


# Reassignment


def test_pcb_14_a_reorder_changes_the_replicas_only() -> None:
    assert change(FOO, target_replicas=(3, 2, 1)) == PartitionChange(replicas=(3, 2, 1))


def test_pcb_15_isr_enlargement_completes_the_reassignment() -> None:
    record = change(BAR, target_isr=(1, 2, 3, 4))
    assert record == PartitionChange(replicas=(2, 3, 4), isr=(2, 3, 4), leader=2, adding=(), removing=(), election="clean")


def test_reverting_a_reassignment_bumps_the_leader_epoch() -> None:
    revert = PartitionReassignmentRevert.of(BAR)
    assert (revert.replicas, revert.isr, revert.unclean) == ((1, 2, 3), (1, 2, 3), False)
    record = change(BAR, target_replicas=revert.replicas, target_isr=revert.isr, target_adding=(), target_removing=())
    assert record == PartitionChange(replicas=(1, 2, 3), leader=1, adding=(), removing=())


def test_removal_of_a_replica_completes_in_the_same_record() -> None:
    lists = PartitionReassignmentReplicas.between(FOO.replicas, (1, 2))
    assert (lists.replicas, lists.adding, lists.removing) == ((1, 2, 3), (), (3,))
    record = change(FOO, target_replicas=lists.replicas, target_removing=lists.removing)
    assert record == PartitionChange(replicas=(1, 2), isr=(2, 1), leader=1)


def test_pcb_18_adding_a_replica_leaves_the_leader_epoch() -> None:
    lists = PartitionReassignmentReplicas.between(FOO.replicas, (1, 2, 3, 4))
    record = change(FOO, target_replicas=lists.replicas, target_adding=lists.adding)
    assert record == PartitionChange(replicas=(1, 2, 3, 4), adding=(4,))


def test_a_leader_that_is_removed_goes_even_if_nobody_can_follow() -> None:
    partition = PartitionRegistration((2, 3, 0, 1), (0, 1), 0, 0, 0, adding=(2, 3), removing=(0, 1))
    record = change(partition, nobody, target_isr=(0, 1, 2, 3))
    assert record == PartitionChange(replicas=(2, 3), isr=(2, 3), leader=NO_LEADER, adding=(), removing=(), election="none")


# Unclean election and recovery


def test_pcb_19_unclean_election_forces_the_isr() -> None:
    assert change(FOO, target_isr=(3,), election=UNCLEAN) == PartitionChange(isr=(2,), leader=2, recovering=True, election="unclean")


@pytest.mark.parametrize("target", [None, (2,)])
def test_pcb_19_unclean_election_of_an_offline_partition(target: tuple[int, ...] | None) -> None:
    offline = PartitionRegistration((1, 2, 3), (3,), NO_LEADER, 100, 200)
    record = change(offline, only(1), target_isr=target, election=UNCLEAN)
    assert record == PartitionChange(isr=(1,), leader=1, recovering=True, election="unclean")
    with_elr = PartitionRegistration((1, 2, 3), (), NO_LEADER, 100, 200, elr=(3,), last_known_elr=(2,))
    record = change(with_elr, only(1), target_isr=target, election=UNCLEAN, elr_enabled=True)
    assert record == PartitionChange(isr=(1,), leader=1, elr=(), last_known_elr=(), recovering=True, election="unclean")


def test_pcb_20_a_change_of_leadership_leaves_the_recovery_state() -> None:
    partition = PartitionRegistration((1, 2, 3), (1,), 1, 100, 200, recovering=True)
    offline = change(partition, nobody, target_isr=())
    assert offline == PartitionChange(leader=NO_LEADER, election="none")
    down = merge(partition, offline)
    assert (down.isr, down.recovering) == ((1,), True)
    online = change(down, anyone)
    assert online == PartitionChange(leader=1, election="clean")
    assert merge(down, online).recovering


@pytest.mark.parametrize("supported", [True, False])
def test_pcb_21_unclean_election_marks_recovering_where_supported(supported: bool) -> None:
    partition = PartitionRegistration((1, 2, 3), (2, 3), NO_LEADER, 100, 200)
    record = change(partition, only(1), election=UNCLEAN, recovery_state=supported)
    assert record == PartitionChange(isr=(1,), leader=1, recovering=True if supported else None, election="unclean")


def test_the_leader_reports_that_it_has_recovered() -> None:
    partition = attrs.evolve(FOO, isr=(1,), recovering=True)
    assert change(partition, target_isr=(1, 2), target_recovering=False) == PartitionChange(isr=(1, 2), recovering=False)
    assert change(partition, target_recovering=True) is None


def test_preferred_election_never_goes_unclean() -> None:
    partition = PartitionRegistration((1, 2, 3), (1,), NO_LEADER, 100, 200)
    assert change(partition, only(2), election=PREFERRED) is None


# Eligible leader replicas


def test_elr_01_isr_below_min_isr_fills_the_elr() -> None:
    on = change(FOUR, target_isr=(1, 2), min_isr=3, elr_enabled=True, election=PREFERRED)
    assert on == PartitionChange(isr=(1, 2), elr=(3, 4))
    off = change(FOUR, target_isr=(1, 2), min_isr=3, election=PREFERRED)
    assert off == PartitionChange(isr=(1, 2))


def test_elr_02_isr_back_at_min_isr_clears_the_elr() -> None:
    partition = attrs.evolve(FOUR, isr=(1, 2), elr=(3,), last_known_elr=(4,))
    record = change(partition, target_isr=(1, 2, 3), min_isr=3, elr_enabled=True, election=PREFERRED)
    assert record == PartitionChange(isr=(1, 2, 3), elr=(), last_known_elr=())


def test_a_new_member_that_was_not_eligible_leaves_the_elr() -> None:
    partition = attrs.evolve(FOUR, isr=(1,), elr=(3,), last_known_elr=(2,))
    record = change(partition, target_isr=(1, 4), min_isr=3, elr_enabled=True, election=PREFERRED, use_last_known_leader=False)
    assert record == PartitionChange(isr=(1, 4))


def test_elr_04_an_unclean_shutdown_leaves_the_elr() -> None:
    partition = attrs.evolve(FOUR, isr=(1,), elr=(2, 3))
    rules = {"min_isr": 3, "elr_enabled": True, "election": PREFERRED, "unclean_shutdown": (3,)}
    assert change(partition, use_last_known_leader=False, **rules) == PartitionChange(elr=(2,), last_known_elr=(3,))
    assert change(partition, **rules) == PartitionChange(elr=(2,))


def test_the_last_isr_member_becomes_eligible_and_last_known() -> None:
    partition = attrs.evolve(FOUR, isr=(1,), elr=(2,))
    record = change(partition, nobody, target_isr=(), min_isr=3, elr_enabled=True)
    assert record == PartitionChange(isr=(), leader=NO_LEADER, elr=(1, 2), last_known_elr=(1,), election="none")
    down = merge(partition, record)
    assert change(down, nobody, min_isr=3, elr_enabled=True) is None


def test_an_eligible_replica_is_elected_cleanly() -> None:
    partition = attrs.evolve(FOUR, isr=(), leader=NO_LEADER, elr=(1, 2), last_known_elr=(1,))
    record = change(partition, only(2, 4), min_isr=3, elr_enabled=True, election=UNCLEAN)
    assert record == PartitionChange(isr=(2,), leader=2, elr=(1,), last_known_elr=(), election="eligible")


def test_elr_07_the_last_known_leader_is_elected_uncleanly() -> None:
    partition = attrs.evolve(FOUR, isr=(), leader=NO_LEADER, last_known_elr=(1,))
    for mode in (ONLINE, PREFERRED):
        record = change(partition, anyone, min_isr=3, elr_enabled=True, election=mode)
        assert record == PartitionChange(isr=(1,), leader=1, last_known_elr=(), recovering=True, election="last-known")


def test_elr_07_a_last_known_leader_that_is_down_is_not_elected() -> None:
    partition = attrs.evolve(FOUR, isr=(), leader=NO_LEADER, last_known_elr=(1,))
    assert change(partition, only(2, 3), min_isr=3, elr_enabled=True) is None


def test_elr_09_shrink_and_expand_isr() -> None:
    partition = PartitionRegistration((0, 1, 2), (0, 1, 2), 0, 0, 0)
    shrunk = change(partition, anyone, target_isr=(0,), elr_enabled=True)
    assert shrunk == PartitionChange(isr=(0,), elr=(1, 2))
    assert change(merge(partition, shrunk), anyone, target_isr=(0, 1), elr_enabled=True) == PartitionChange(isr=(0, 1), elr=())


def test_elr_12_unclean_shutdown_of_eligible_and_last_isr_members() -> None:
    partition = PartitionRegistration((0, 1, 2, 3), (0, 1, 2, 3), 0, 0, 0)
    # Fenced one by one: broker 1 leaves while the ISR still has three, so it never becomes eligible.
    for broker in (1, 2, 3):
        isr = tuple(member for member in partition.isr if member != broker)
        record = change(partition, only(0), target_isr=isr, min_isr=3, elr_enabled=True)
        assert record is not None
        partition = merge(partition, record)
    assert (partition.isr, partition.elr) == ((0,), (2, 3))
    record = change(partition, only(0), min_isr=3, elr_enabled=True, unclean_shutdown=(3,))
    assert record == PartitionChange(elr=(2,))
    partition = merge(partition, record)
    record = change(partition, nobody, target_isr=(), min_isr=3, elr_enabled=True, unclean_shutdown=(0,))
    assert record is not None
    partition = merge(partition, record)
    assert (partition.isr, partition.elr, partition.last_known_elr, partition.leader) == ((), (2,), (0,), NO_LEADER)


def test_elr_13_min_isr_is_capped_by_the_replication_factor() -> None:
    assert effective_min_isr(5, 3, capped=True) == 3
    assert effective_min_isr(2, 3, capped=True) == 2
    assert effective_min_isr(5, 3, capped=False) == 5
