"""The controller's partitions, by Kafka's own vectors: RCM (ReplicationControlManagerTest), and HB for decisions about brokers' partitions.

The controller is the real one and handles real requests. The test plays the brokers.
"""

from __future__ import annotations

import itertools
import statistics

import pytest

from core.kafka import errors, events
from core.kafka.admin_requests import AlterConfig, ElectionMode
from core.kafka.controller import replication_control_manager
from core.kafka.controller.admin_request_handler import handle_admin_request
from core.kafka.controller.metadata_log import BrokerRegistration
from core.kafka.errors import KafkaError
from core.kafka.ids import TopicPartition
from core.kafka.messages import (
    AlterPartitionItem,
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.release import CURRENT, RELEASES
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from tests.core.node_bench import ControllerBench

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
PREFERRED, UNCLEAN = ElectionMode.PREFERRED, ElectionMode.UNCLEAN


def propose(bench: ControllerBench, broker: int, item: AlterPartitionItem, *, broker_epoch: int | None = None) -> AlterPartitionResponse:
    """Send a broker's AlterPartition request with one item."""
    epoch = bench.controller.cluster_control.brokers[broker].epoch if broker_epoch is None else broker_epoch
    bench.controller.handle(AlterPartitionRequest(1, broker, epoch, (item,)), f"b{broker}")
    return bench.one_sent(AlterPartitionResponse, f"b{broker}")


def item(
    bench: ControllerBench,
    isr: tuple[int, ...],
    *,
    tp: TopicPartition = T0,
    leader_epoch: int | None = None,
    partition_epoch: int | None = None,
    broker_epochs: tuple[int, ...] | None = None,
    recovering: bool = False,
) -> AlterPartitionItem:
    """Return an ISR proposal that is correct in all fields that are not given."""
    now = bench.partition(tp.partition, tp.topic)
    known = bench.controller.cluster_control.brokers
    return AlterPartitionItem(
        tp,
        now.leader_epoch if leader_epoch is None else leader_epoch,
        now.partition_epoch if partition_epoch is None else partition_epoch,
        isr,
        tuple(known[b].epoch if b in known else -1 for b in isr) if broker_epochs is None else broker_epochs,
        0,
        recovering,
    )


def alter(bench: ControllerBench, isr: tuple[int, ...], *, tp: TopicPartition = T0, recovering: bool = False) -> str:
    """Let the present leader propose an ISR, and return the error in the response."""
    leader = bench.partition(tp.partition, tp.topic).leader
    ((_, error, _, _),) = propose(bench, leader, item(bench, isr, tp=tp, recovering=recovering)).items
    return error


def shut_down(bench: ControllerBench, broker: int) -> None:
    """Put a broker in controlled shutdown in its registration."""
    known = bench.controller.cluster_control.brokers[broker]
    bench.controller.cluster_control.register(BrokerRegistration(broker, known.epoch, known.incarnation, False, True))


# Creation


def refusal(bench: ControllerBench, spec: TopicSpec) -> tuple[str, str]:
    with pytest.raises(KafkaError) as refused:
        bench.replication.create_topic(spec)
    assert spec.name not in bench.controller.registry.topics
    assert not [tp for tp in bench.controller.registry.partitions if tp.topic == spec.name]
    return refused.value.code, refused.value.message


def test_rcm_01_create_topics() -> None:
    foo = TopicSpec("foo", 1, 3)
    assert refusal(ControllerBench(brokers=()), foo) == (
        errors.INVALID_REPLICATION_FACTOR,
        "Unable to replicate the partition 3 time(s): All brokers are currently fenced.",
    )
    leaving = ControllerBench(fenced=(1, 2))
    shut_down(leaving, 0)
    assert refusal(leaving, foo) == (
        errors.INVALID_REPLICATION_FACTOR,
        "Unable to replicate the partition 3 time(s): All brokers are currently fenced or in controlled shutdown.",
    )
    bench = ControllerBench()
    assert refusal(bench, TopicSpec("foo", 0, 3)) == (
        errors.INVALID_PARTITIONS,
        "Number of partitions was set to an invalid non-positive value.",
    )
    bench.replication.create_topic(foo)
    created = bench.partition(topic="foo")
    assert created == PartitionRegistration(created.replicas, created.replicas, created.replicas[0], 0, 0)
    assert sorted(created.replicas) == [0, 1, 2]
    with pytest.raises(KafkaError) as again:
        bench.replication.create_topic(foo)
    assert (again.value.code, again.value.message) == (errors.TOPIC_ALREADY_EXISTS, "Topic 'foo' already exists.")


def test_rcm_02_inactive_brokers_stay_out_of_a_new_isr() -> None:
    bench = ControllerBench(fenced=(2,))
    shut_down(bench, 1)
    bench.create((1, 0, 2))
    assert bench.partition() == PartitionRegistration((1, 0, 2), (0,), 0, 0, 0)


def test_rcm_16_manual_assignment_on_fenced_brokers() -> None:
    bench = ControllerBench(fenced=(0, 1, 2))
    with pytest.raises(KafkaError) as refused:
        bench.create((0, 1, 2))
    assert (refused.value.code, refused.value.message) == (
        errors.INVALID_REPLICA_ASSIGNMENT,
        "All brokers specified in the manual partition assignment for partition 0 are fenced or in controlled shutdown.",
    )


def test_rcm_16_manual_assignment_on_a_broker_that_is_not_registered() -> None:
    with pytest.raises(KafkaError) as refused:
        ControllerBench().create((0, 1, 7))
    assert refused.value.code == errors.INVALID_REPLICA_ASSIGNMENT


def test_rcm_21_automatic_placement_with_nobody_active() -> None:
    bench = ControllerBench(brokers=(0, 1), fenced=(0,))
    shut_down(bench, 1)
    code, _ = refusal(bench, TopicSpec("foo", 2, 2))
    assert code == errors.INVALID_REPLICATION_FACTOR


# AlterPartition


@pytest.fixture
def bench() -> ControllerBench:
    """Build a bench in which brokers 0 to 3 are unfenced and t-0 on [0, 1, 2] is led by 0."""
    bench = ControllerBench(brokers=(0, 1, 2, 3))
    bench.create((0, 1, 2))
    return bench


@pytest.mark.parametrize(
    ("sender", "fields", "error"),
    [
        pytest.param(1, {"isr": (0, 1)}, errors.INVALID_REQUEST, id="RCM-03-not-the-leader"),
        pytest.param(0, {"isr": (0, 1), "leader_epoch": 500}, errors.NOT_CONTROLLER, id="RCM-03-leader-epoch"),
        pytest.param(0, {"isr": (0, 1), "partition_epoch": 500}, errors.NOT_CONTROLLER, id="RCM-03-partition-epoch"),
        pytest.param(0, {"isr": (0, 1, 3)}, errors.INVALID_REQUEST, id="RCM-03-no-replica"),
        pytest.param(0, {"isr": (1, 2)}, errors.INVALID_REQUEST, id="RCM-03-without-the-leader"),
        pytest.param(0, {"isr": (0, 1, 1)}, errors.INVALID_REQUEST, id="RCM-03-twice"),
        pytest.param(0, {"isr": (0, 1), "leader_epoch": -1}, errors.FENCED_LEADER_EPOCH, id="RCM-03-older-leader-epoch"),
        pytest.param(0, {"isr": (0, 1), "partition_epoch": -1}, errors.INVALID_UPDATE_VERSION, id="RCM-03-older-partition-epoch"),
        pytest.param(0, {"isr": (0, 1), "recovering": True}, errors.INVALID_REQUEST, id="RCM-03-recovering-with-followers"),
        pytest.param(0, {"isr": (0,), "recovering": True}, errors.INVALID_REQUEST, id="RCM-03-recovering-again"),
    ],
)
def test_rcm_03_invalid_requests(bench: ControllerBench, sender: int, fields: dict, error: str) -> None:
    before, length = bench.partition(), len(bench.metadata)
    response = propose(bench, sender, item(bench, **fields))
    assert (response.error, response.items[0][1]) == (errors.NONE, error)
    assert (bench.partition(), len(bench.metadata)) == (before, length)
    assert bench.told(events.AlterPartitionRefused) == [(sender, "t", 0, fields["isr"], error)]


def test_rcm_03_a_recovering_leader_alone_may_say_so(bench: ControllerBench) -> None:
    """After an unclean election, RECOVERING changes nothing. With RECOVERED, the recovery is over."""
    bench.create((0, 1, 2), topic="u", unclean_leader_election_enable="true")
    tp = TopicPartition("u", 0)
    bench.fence(1, 2, 0)
    bench.heartbeat(2)
    recovering = bench.partition(topic="u")
    assert (recovering.leader, recovering.isr, recovering.recovering) == (2, (2,), True)
    assert alter(bench, (2, 1), tp=tp, recovering=True) == errors.INVALID_REQUEST
    assert alter(bench, (2,), tp=tp, recovering=True) == errors.NONE
    assert bench.partition(topic="u").recovering
    assert alter(bench, (2,), tp=tp) == errors.NONE
    assert not bench.partition(topic="u").recovering


def test_rcm_03_stale_sender_epoch_fails_the_whole_request(bench: ControllerBench) -> None:
    epoch = bench.controller.cluster_control.brokers[0].epoch
    response = propose(bench, 0, item(bench, (0, 1)), broker_epoch=epoch - 1)
    assert (response.error, response.items) == (errors.STALE_BROKER_EPOCH, ())
    assert bench.partition().isr == (0, 1, 2)


@pytest.mark.parametrize(
    ("release", "code"), [("2.8", errors.UNKNOWN_TOPIC_OR_PARTITION), ("3.3", errors.UNKNOWN_TOPIC_ID), ("4.1", errors.UNKNOWN_TOPIC_ID)]
)
def test_rcm_04_unknown_partition(release: str, code: str) -> None:
    """Up to version 1, the request names topics. From version 2 (3.3) on, it contains topic IDs."""
    bench = ControllerBench(RELEASES[release])
    bench.create((0, 1, 2))
    ((_, error, registration, _),) = propose(bench, 0, item(bench, (0, 1))._replace(tp=TopicPartition("unknown", 0))).items
    assert (error, registration) == (code, None)


def test_rcm_05_fenced_brokers_may_not_join(bench: ControllerBench) -> None:
    bench.fence(1)
    assert bench.partition().isr == (0, 2)
    assert alter(bench, (0, 1, 2)) == errors.INELIGIBLE_REPLICA
    bench.heartbeat(1)
    assert (bench.partition().isr, alter(bench, (0, 1, 2))) == ((0, 2), errors.NONE)
    assert bench.partition().isr == (0, 1, 2)


def test_rcm_05_shutting_down_brokers_may_not_join(bench: ControllerBench) -> None:
    assert alter(bench, (0, 2)) == errors.NONE
    shut_down(bench, 1)
    assert alter(bench, (0, 1, 2)) == errors.INELIGIBLE_REPLICA


@pytest.mark.parametrize(
    ("epoch", "error"), [(-1, errors.NONE), (0, errors.NONE), (1, errors.INELIGIBLE_REPLICA)], ids=["unknown", "current", "stale"]
)
def test_rcm_05_stale_broker_epochs_may_not_join(bench: ControllerBench, epoch: int, error: str) -> None:
    assert alter(bench, (0, 2)) == errors.NONE
    known = {b: registration.epoch for b, registration in bench.controller.cluster_control.brokers.items()}
    named = -1 if epoch < 0 else known[1] - epoch
    ((_, answered, _, _),) = propose(bench, 0, item(bench, (0, 1, 2), broker_epochs=(known[0], named, known[2]))).items
    assert answered == error


def test_rcm_05_before_kip_841_a_fenced_broker_may_join() -> None:
    bench = ControllerBench(RELEASES["2.8"])
    bench.create((0, 1, 2))
    bench.fence(1)
    assert alter(bench, (0, 1, 2)) == errors.NONE


def test_rcm_19_shrink_and_expand(bench: ControllerBench) -> None:
    for isr in ((0, 1), (0, 1, 2)):
        ((tp, error, registration, _),) = propose(bench, 0, item(bench, isr)).items
        assert (tp, error, registration) == (T0, errors.NONE, bench.partition())
        assert bench.partition().isr == isr
    assert (bench.partition().leader_epoch, bench.partition().partition_epoch) == (0, 2)


@pytest.mark.parametrize(("release", "epochs"), [("3.3", [1, 1]), ("3.6", [0, 0])], ids=["RCM-19-3.3", "RCM-19-3.6"])
def test_rcm_19_pcb_10_a_shrink_raises_the_leader_epoch_before_3_6_only(release: str, epochs: list[int]) -> None:
    bench = ControllerBench(RELEASES[release])
    bench.create((0, 1, 2))
    seen = []
    for isr in ((0, 1), (0, 1, 2)):
        assert alter(bench, isr) == errors.NONE
        seen.append(bench.partition().leader_epoch)
    assert seen == epochs


def test_rcm_19_an_isr_that_is_there_already_changes_nothing(bench: ControllerBench) -> None:
    length = len(bench.metadata)
    assert alter(bench, (0, 1, 2)) == errors.NONE
    assert (bench.partition().partition_epoch, len(bench.metadata)) == (0, length)


@pytest.mark.parametrize(
    ("release", "told"),
    [("2.8", errors.FENCED_LEADER_EPOCH), ("3.3", errors.NEW_LEADER_ELECTED), ("4.1", errors.NEW_LEADER_ELECTED)],
)
def test_rcm_13_completing_a_move_away_from_the_leader_tells_it_so(release: str, told: str) -> None:
    """AlterPartition up to version 1, which names topics, cannot express this."""
    bench = ControllerBench(RELEASES[release], brokers=(0, 1, 2, 3))
    bench.create((3, 2, 1))
    bench.replication.reassign(T0, (0, 2, 1))
    moving = bench.partition()
    assert (moving.replicas, moving.adding, moving.removing, moving.isr) == ((0, 2, 1, 3), (0,), (3,), (3, 2, 1))
    assert (moving.leader, moving.leader_epoch, moving.partition_epoch) == (3, 0, 1)
    assert alter(bench, (3, 0, 2, 1)) == told
    moved = bench.partition()
    assert (moved.replicas, moved.adding, moved.removing, moved.isr) == ((0, 2, 1), (), (), (0, 2, 1))
    assert (moved.leader, moved.leader_epoch) == (0, 1)


def test_rcm_13_reorder_cancel_and_unknown() -> None:
    bench = ControllerBench(brokers=(0, 1, 2, 3))
    bench.create((1, 2, 3), (3, 2, 1))
    bench.replication.reassign(T0, (3, 2, 1))
    assert (bench.partition().replicas, bench.partition().adding, bench.partition().leader) == ((3, 2, 1), (), 1)
    bench.replication.reassign(T1, (0, 2, 1))
    with pytest.raises(KafkaError, match=r"Unable to find partition t:2\.") as unknown:
        bench.replication.check_reassignment(T2, (0, 2, 1))
    with pytest.raises(KafkaError) as idle:
        bench.replication.check_reassignment(T0, None)
    assert (unknown.value.code, idle.value.code) == (errors.UNKNOWN_TOPIC_OR_PARTITION, errors.NO_REASSIGNMENT_IN_PROGRESS)
    bench.replication.check_reassignment(T1, None)
    bench.replication.cancel_reassignment(T1)
    back = bench.partition(1)
    assert (back.replicas, back.adding, back.removing, back.leader) == ((2, 1, 3), (), (), 3)


# Elections asked for


def test_rcm_08_a_preferred_election_is_never_unclean() -> None:
    bench = ControllerBench(brokers=(1, 2, 3))
    bench.create((1, 2, 3), unclean_leader_election_enable="true")
    assert alter(bench, (1,)) == errors.NONE
    handle_admin_request(bench.controller, AlterConfig("unclean.leader.election.enable", "false", "t", None))
    bench.fence(1, 3)
    handle_admin_request(bench.controller, AlterConfig("unclean.leader.election.enable", "true", "t", None))
    before = bench.partition()
    assert before.leader == -1
    assert bench.replication.elect_leaders(T0, PREFERRED) == [(T0, errors.PREFERRED_LEADER_NOT_AVAILABLE)]
    assert bench.partition() == before
    assert bench.replication.elect_leaders(T0, UNCLEAN) == [(T0, errors.NONE)]
    assert (bench.partition().leader, bench.partition().isr, bench.partition().recovering) == (2, (2,), True)


def three_unbalanced() -> ControllerBench:
    """Build the cluster of RCM-09: 0 is fenced and 1 shuts down; 2 leads t-0 [1,2,3], t-1 [2,3,4], and t-2 [0,2,1]."""
    bench = ControllerBench(brokers=(0, 1, 2, 3, 4), fenced=(0,))
    shut_down(bench, 1)
    bench.create((1, 2, 3), (2, 3, 4), (0, 2, 1))
    assert [bench.partition(number).leader for number in range(3)] == [2, 2, 2]
    return bench


def come_back(bench: ControllerBench, broker: int) -> None:
    """Register and unfence a broker."""
    incarnation = bench.controller.cluster_control.brokers[broker].incarnation + 1
    bench.controller.fence(broker, by_session=True)
    bench.controller.handle(BrokerRegistrationRequest(broker, incarnation, True), f"b{broker}")
    assert bench.one_sent(BrokerRegistrationResponse, f"b{broker}").error == errors.NONE
    bench.heartbeat(broker)


def test_rcm_09_elect_preferred_leaders() -> None:
    bench = three_unbalanced()
    asked = [*(bench.replication.elect_leaders(tp, PREFERRED)[0] for tp in (T0, T1, T2))]
    assert [error for _, error in asked] == [
        errors.PREFERRED_LEADER_NOT_AVAILABLE,
        errors.ELECTION_NOT_NEEDED,
        errors.PREFERRED_LEADER_NOT_AVAILABLE,
    ]
    unknown = TopicPartition("bar", 0)
    assert bench.replication.elect_leaders(unknown, PREFERRED) == [(unknown, errors.UNKNOWN_TOPIC_OR_PARTITION)]
    come_back(bench, 0)
    come_back(bench, 1)
    assert alter(bench, (1, 2, 3), tp=T0) == alter(bench, (0, 2, 1), tp=T2) == errors.NONE
    for number in (0, 2):
        now = bench.partition(number)
        assert (now.partition_epoch, now.leader_epoch, now.leader) == (1, 0, 2)
    assert bench.replication.elect_leaders(None, PREFERRED) == [(T0, errors.NONE), (T2, errors.NONE)], "not needed ones are left out"
    assert [bench.partition(number).leader for number in range(3)] == [1, 2, 0]
    assert bench.account.elections == {"preferred": 2}


def test_rcm_10_balancing() -> None:
    bench = three_unbalanced()
    assert list(bench.controller.registry.index.unbalanced) == [T0, T2]
    assert bench.replication.maybe_balance_partition_leaders() is False
    assert [bench.partition(number).leader for number in range(3)] == [2, 2, 2]
    come_back(bench, 1)
    assert alter(bench, (1, 2, 3), tp=T0) == errors.NONE
    assert bench.replication.maybe_balance_partition_leaders() is False
    assert (bench.partition(0).leader, list(bench.controller.registry.index.unbalanced)) == (1, [T2])
    come_back(bench, 0)
    assert alter(bench, (0, 2), tp=T2) == errors.NONE
    assert bench.replication.maybe_balance_partition_leaders() is False
    assert (bench.partition(2).leader, list(bench.controller.registry.index.unbalanced)) == (0, [])


def test_without_the_guard_a_replica_outside_the_isr_leads_even_if_nobody_knows_the_logs() -> None:
    bench = ControllerBench(CURRENT.without(("elect-from-isr",)), brokers=(1, 2, 3))
    bench.create((1, 2, 3))
    assert alter(bench, (1,)) == errors.NONE
    bench.fence(1)
    assert bench.partition().leader == 2, "all logs count as empty, so that the first replica leads"


def test_rcm_10_a_pass_ends_after_the_maximum_number_of_elections(monkeypatch: pytest.MonkeyPatch) -> None:
    """`MAX_ELECTIONS_PER_IMBALANCE`: `#maybeBalancePartitionLeaders` and `#maybeElectUncleanLeaders`."""
    monkeypatch.setattr(replication_control_manager, "MAX_ELECTIONS", 1)
    bench = three_unbalanced()
    for broker, tp, isr in ((0, T2, (0, 2)), (1, T0, (1, 2, 3))):
        come_back(bench, broker)
        assert alter(bench, isr, tp=tp) == errors.NONE
    assert [bench.replication.maybe_balance_partition_leaders() for _ in range(2)] == [True, False]
    assert [bench.partition(number).leader for number in range(3)] == [1, 2, 0]
    bench = ControllerBench(brokers=(1, 2, 3))
    bench.create((1, 2), (1, 3))
    for number, tp in enumerate((T0, T1)):
        assert alter(bench, (1,), tp=tp) == errors.NONE, number
    bench.fence(1)
    assert bench.replication.maybe_elect_unclean_leaders() is False
    assert [bench.partition(number).leader for number in range(2)] == [-1, -1], "unclean election is not allowed"
    handle_admin_request(bench.controller, AlterConfig("unclean.leader.election.enable", "true", "t", None))
    assert [bench.replication.maybe_elect_unclean_leaders() for _ in range(2)] == [True, False]
    assert [bench.partition(number).leader for number in range(2)] == [2, 3]


def test_rcm_10_the_controller_balances_by_itself_every_300_s() -> None:
    bench = three_unbalanced()
    come_back(bench, 1)
    assert alter(bench, (1, 2, 3), tp=T0) == errors.NONE
    for _ in range(149):
        bench.run(2_000)
        for broker in (1, 2, 3, 4):
            bench.heartbeat(broker)
        assert bench.partition(0).leader == 2
    bench.run(2_000)
    assert bench.partition(0).leader == 1


# Fencing, controlled shutdown, return


def test_rcm_18_a_fenced_broker_leads_nothing() -> None:
    bench = ControllerBench(brokers=(0, 1, 2, 3))
    bench.create((0, 1, 2), (1, 2, 3), (2, 3, 0), (0, 2, 1))
    assert (bench.controller.registry.index.leader_counts[0], list(bench.controller.registry.index.brokers_to_isrs[0])) == (
        2,
        [T0, T2, TopicPartition("t", 3)],
    )
    bench.fence(0)
    assert (bench.controller.registry.index.leader_counts[0], list(bench.controller.registry.index.brokers_to_isrs[0])) == (0, [])
    assert [bench.partition(number).leader for number in range(4)] == [1, 1, 2, 2]
    assert [bench.partition(number).isr for number in range(4)] == [(1, 2), (1, 2, 3), (2, 3), (2, 1)]
    assert [bench.partition(number).leader_epoch for number in range(4)] == [1, 0, 0, 1]


def test_rcm_12_controlled_shutdown_by_heartbeat() -> None:
    bench = ControllerBench()
    bench.create((0, 1, 2))
    for broker in (0, 1, 2):
        bench.heartbeat(broker)
    length = len(bench.metadata)
    response = bench.heartbeat(0, want_shutdown=True)
    assert (response.error, response.fenced, response.may_shut_down) == (errors.NONE, False, False)
    registration, change = bench.metadata.records[length:]
    assert isinstance(registration, BrokerRegistration)
    assert (registration.id, registration.fenced, registration.in_controlled_shutdown) == (0, False, True)
    assert (bench.partition().isr, bench.partition().leader, bench.partition().leader_epoch) == ((1, 2), 1, 1)
    assert change.registration == bench.partition()  # type: ignore[union-attr]


def test_rcm_12_hb_04_it_may_stop_once_all_active_brokers_know() -> None:
    bench = ControllerBench()
    bench.create((0, 1, 2))
    for broker in (0, 1, 2):
        bench.heartbeat(broker)
    seen = len(bench.metadata)
    bench.heartbeat(0, want_shutdown=True)
    assert not bench.heartbeat(0, want_shutdown=True).may_shut_down
    bench.heartbeat(1)
    bench.heartbeat(2, read_to=seen)
    assert not bench.heartbeat(0, want_shutdown=True).may_shut_down
    bench.heartbeat(2)
    response = bench.heartbeat(0, want_shutdown=True)
    assert (response.may_shut_down, response.fenced) == (True, True)
    assert bench.controller.cluster_control.brokers[0].fenced


@pytest.mark.parametrize(("release", "epochs"), [("3.3", (1, 2, 2, 3)), ("3.6", (1, 1, 1, 2)), ("3.9", (1, 1, 1, 2))])
def test_a_controlled_shutdown_of_the_last_isr_member_bumps_the_leader_epoch_twice_before_3_6(
    release: str, epochs: tuple[int, ...]
) -> None:
    """Shutdown and fencing each try to remove the last member. The registration of a new process does not (3.3.2-521, 523)."""
    bench = ControllerBench(RELEASES[release], brokers=(0, 1))
    bench.create((0,))
    bench.heartbeat(1)
    bench.heartbeat(0, want_shutdown=True)
    seen = [bench.partition().leader_epoch]
    bench.heartbeat(1)
    assert bench.heartbeat(0, want_shutdown=True).may_shut_down
    seen.append(bench.partition().leader_epoch)
    bench.run(60_000)
    bench.controller.handle(BrokerRegistrationRequest(0, 77, clean=True), "b0")
    seen.append(bench.partition().leader_epoch)
    bench.heartbeat(0)
    seen.append(bench.partition().leader_epoch)
    assert (tuple(seen), bench.partition().isr, bench.partition().leader) == (epochs, (0,), 0)


def test_hb_03_sessions_run_out_one_by_one_oldest_first() -> None:
    bench = ControllerBench(RELEASES["3.9"], settings={"broker.session.timeout.ms": 10})
    bench.create((0, 1, 2))
    for wait, broker in ((2, 1), (1, 2)):
        bench.wait(wait)
        bench.heartbeat(broker)
    bench.run(7)
    assert bench.told(events.BrokerFenced) == [], "10 ms after its last contact 0 is still within its session"
    bench.run(1)
    assert bench.told(events.BrokerFenced) == [(0, 10_001, 10_000)]
    assert (bench.partition().isr, bench.partition().leader) == ((1, 2), 1)
    bench.run(3)
    assert [broker for broker, *_ in bench.told(events.BrokerFenced)] == [0, 1, 2]
    assert [event[1] for event in bench.events if event[3] == "broker-fenced"] == [10_001, 12_001, 13_001]


def test_a_changed_session_timeout_applies_to_sessions_that_have_begun() -> None:
    bench = ControllerBench(RELEASES["3.9"], brokers=(0,), settings={"broker.session.timeout.ms": 10})
    bench.run(5)
    handle_admin_request(bench.controller, AlterConfig("broker.session.timeout.ms", "20", None, None))
    bench.run(15)
    assert bench.told(events.BrokerFenced) == []
    bench.run(1)
    assert bench.told(events.BrokerFenced) == [(0, 20_001, 20_000)]


def test_since_4_0_sessions_are_looked_at_eight_times_per_timeout() -> None:
    """The controller is late by up to an eighth of the timeout, and fences one broker in each check. After a check that found a broker, the
    next check comes 10 ms later.
    """
    bench = ControllerBench(RELEASES["4.0"], settings={"broker.session.timeout.ms": 4_000})
    bench.create((0, 1, 2))
    looks = []
    while len(looks) < 16:
        (due,) = [entry.time for entry in bench.agenda.entries if getattr(entry.message, "name", "") == "session-check"]
        looks.append(due)
        bench.run(-((bench.journal.now - due) // 1_000))
    assert {later - earlier for earlier, later in itertools.pairwise(looks[:8])} == {500_000}
    assert 0 < looks[0] <= 500_000
    assert looks[8] == looks[0] + 4_000_000 > 4_000_000, "the first look after the sessions have run out"
    assert [later - earlier for earlier, later in itertools.pairwise(looks[8:])] == [10_000, 10_000, 10_000, *[500_000] * 4]
    assert [event[1] for event in bench.events if event[3] == "broker-fenced"] == looks[8:11]
    assert [broker for broker, *_ in bench.told(events.BrokerFenced)] == [0, 1, 2]


def test_since_4_0_how_late_a_dead_broker_is_fenced() -> None:
    """In 23 kills on real clusters with a session timeout of 4 s and heartbeats every 0.5 s, the broker was fenced after 3.56 to 4.41 s,
    with a median of 3.95 s.
    """
    after = []
    for seed in range(60):
        settings = (("broker.session.timeout.ms", 4_000), ("broker.heartbeat.interval.ms", 500))
        cluster = Cluster(ClusterSpec((BrokerSpec(1), BrokerSpec(2)), (), settings), RELEASES["4.1"], seed)
        cluster.run_until(5_000_000)
        cluster.do(acts.Kill(2))
        while not cluster.controller.cluster_control.brokers[2].fenced:
            cluster.step()
        after.append((cluster.now - 5_000_000) / 1_000_000)
    assert 3.5 < min(after) < 3.7
    assert 4.3 < max(after) < 4.5
    assert 3.85 < statistics.median(after) < 4.1


def test_hb_04_a_broker_is_unfenced_once_it_has_read_its_registration() -> None:
    bench = ControllerBench(fenced=(2,))
    bench.create((2, 1, 0))
    epoch = bench.controller.cluster_control.brokers[2].epoch
    assert bench.heartbeat(2, read_to=epoch).fenced
    assert bench.controller.cluster_control.brokers[2].fenced
    assert not bench.heartbeat(2, read_to=epoch + 1).fenced
    assert not bench.controller.cluster_control.brokers[2].fenced
    assert (bench.partition().isr, bench.partition().leader) == ((1, 0), 1), "it must fetch its way back"


def test_hb_04_a_fenced_broker_may_stop_at_once() -> None:
    bench = ControllerBench(fenced=(2,))
    assert bench.heartbeat(2, want_shutdown=True).may_shut_down


def test_hb_01_a_heartbeat_of_a_former_process_is_refused() -> None:
    bench = ControllerBench()
    old = bench.controller.cluster_control.brokers[1].epoch
    come_back(bench, 1)
    bench.controller.handle(BrokerHeartbeatRequest(1, old, 99, False), "b1")
    assert bench.one_sent(BrokerHeartbeatResponse).error == errors.STALE_BROKER_EPOCH


def test_hb_01_a_second_process_waits_until_the_first_ones_session_is_over() -> None:
    bench = ControllerBench()
    bench.controller.handle(BrokerRegistrationRequest(1, 5, True), "b1")
    assert bench.one_sent(BrokerRegistrationResponse).error == errors.DUPLICATE_BROKER_REGISTRATION
    bench.run(9_001)
    bench.controller.handle(BrokerRegistrationRequest(1, 5, True), "b1")
    answer = bench.one_sent(BrokerRegistrationResponse)
    assert (answer.error, answer.broker_epoch) == (errors.NONE, bench.controller.cluster_control.brokers[1].epoch)
    assert bench.controller.cluster_control.brokers[1].incarnation == 5


# The last member, and who may lead after it (semantics 3.3, 3.5; ELR)


def test_the_last_member_stays_in_the_isr_without_elr() -> None:
    bench = ControllerBench(RELEASES["3.9"])
    bench.create((0, 1, 2))
    bench.fence(0, 1, 2)
    assert (bench.partition().isr, bench.partition().leader, bench.partition().leader_epoch) == ((2,), -1, 3)
    bench.heartbeat(0)
    assert bench.partition().leader == -1, "what it lacks would be lost"
    bench.heartbeat(2)
    assert (bench.partition().isr, bench.partition().leader, bench.partition().recovering) == ((2,), 2, False)
    assert bench.account.elections.get("unclean", 0) == 0


def test_elr_12_members_that_leave_below_min_isr_stay_eligible() -> None:
    bench = ControllerBench(brokers=(0, 1, 2, 3), settings={"min.insync.replicas": 3})
    bench.create((0, 1, 2, 3))
    assert CURRENT.elr
    bench.fence(1, 2, 3)
    assert (bench.partition().isr, bench.partition().elr) == ((0,), (2, 3))
    bench.controller.handle(BrokerRegistrationRequest(3, 9, False), "b3")
    assert bench.partition().elr == (2,)
    bench.fence(0)
    assert (bench.partition().isr, bench.partition().leader, bench.partition().last_known_elr) == ((), -1, (0,))
    bench.heartbeat(2)
    assert (bench.partition().isr, bench.partition().leader) == ((2,), 2)
    assert bench.account.elections["eligible"] == 1


def test_elr_09_shrink_and_expand_of_the_isr() -> None:
    bench = ControllerBench(settings={"min.insync.replicas": 2})
    bench.create((0, 1, 2))
    assert alter(bench, (0,)) == errors.NONE
    assert bench.partition().elr == (1, 2)
    assert alter(bench, (0, 1)) == errors.NONE
    assert bench.partition().elr == ()


def test_elr_13_min_isr_is_capped_by_the_replication_factor() -> None:
    bench = ControllerBench(settings={"min.insync.replicas": 5})
    bench.create((0, 1, 2))
    assert bench.replication.min_isr(T0) == 3
