"""Rules of the ZooKeeper controller that Kafka's vectors do not cover, read from the sources at their tags: semantics 3.9, 3.10, and
AlterIsr of 2.7.
"""

from __future__ import annotations

import itertools

import pytest

from core.kafka import errors, events
from core.kafka.ids import NO_LEADER, TopicPartition
from core.kafka.messages import AlterPartitionItem, AlterPartitionRequest, AlterPartitionResponse
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.release import RELEASES
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.kafka.zookeeper_mode.control_plane import ZooKeeperControlPlane
from core.kafka.zookeeper_mode.controller.reassignments import reassign_to
from core.kafka.zookeeper_server.paths import PartitionState
from core.kafka.zookeeper_server.protocol import BAD_VERSION, NO_NODE, NODE_EXISTS, OK, Result
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec, Pace
from core.sim.kernel_messages import Timer
from core.sim.units import SECOND, US_PER_MS

HERE, MOVING = TopicPartition("here", 0), TopicPartition("moving", 0)


def cluster(release: str, told: list[tuple]) -> Cluster:
    topics = (TopicSpec("here", assignment=(PartitionSpec((1, 2)),)), TopicSpec("moving", assignment=(PartitionSpec((2, 3)),)))
    return Cluster(ClusterSpec(tuple(BrokerSpec(each) for each in (1, 2, 3, 4)), topics), RELEASES[release], sink=told.append)


@pytest.mark.parametrize("moves", [False, True])
def test_3_9_nothing_is_balanced_while_any_partition_moves(moves: bool) -> None:
    """`partitionsBeingReassigned` must be empty, whatever the topic, and also if replicas are only added."""
    run = cluster("2.4", [])
    run.do(acts.Shutdown(1))
    run.run_until(10 * SECOND)
    run.do(acts.Start(1))
    run.do(acts.Cut(("b2", "b4")))
    run.run_until(30 * SECOND)
    if moves:
        run.do(acts.Reassign(MOVING, (2, 3, 4)))
    run.run_until(660 * SECOND)
    assert run.partition_view(HERE).leader == (2 if moves else 1)
    if moves:
        assert run.partition_view(MOVING).adding == (4,)
        run.do(acts.CancelReassignment(MOVING))
        run.run_until(1_000 * SECOND)
        assert run.partition_view(HERE).leader == 1


@pytest.mark.parametrize(
    ("original", "target", "replicas", "adding", "removing"),
    [
        ((3, 1, 2), (4,), (4, 3, 1, 2), (4,), (3, 1, 2)),
        ((1, 2, 3), (3, 5, 4), (3, 5, 4, 1, 2), (5, 4), (1, 2)),
        ((1, 2), (2, 1), (2, 1), (), ()),
    ],
)
def test_3_10_the_lists_keep_their_order(
    original: tuple[int, ...], target: tuple[int, ...], replicas: tuple[int, ...], adding: tuple[int, ...], removing: tuple[int, ...]
) -> None:
    """A KRaft controller sorts the replicas that are added and removed; a ZooKeeper controller does not."""
    assert reassign_to(original, target) == (replicas, adding, removing)


@pytest.mark.parametrize(("release", "published"), [("0.8.2", False), ("2.4", True), ("2.7", False)])
def test_3_10_a_move_is_complete_as_soon_as_its_target_is_in_sync(release: str, published: bool) -> None:
    """The controller watches the state of a moving partition. It does not wait until the leader publishes, which would be 5 s later or
    (before 0.9) never.
    """
    told: list[tuple] = []
    run = cluster(release, told)
    run.do(acts.Produce("moving", 10))
    run.run_until(SECOND)
    run.do(acts.Reassign(MOVING, (2, 4)))
    run.run_until(20 * SECOND)
    assert run.partition_view(MOVING).replicas == (2, 4)
    changes = [event for event in told if event[3] == events.PartitionChanged.kind and event[4] == "moving"]
    in_sync = next(event for event in changes if 4 in event[10])
    done = next(event for event in changes if event[9] == (2, 4) and not event[14])
    assert done[1] - in_sync[1] < SECOND
    assert any(event[3] == events.IsrChangesPublished.kind for event in told) == published


def test_3_6_alter_isr_of_a_former_registration_is_refused_as_a_whole() -> None:
    told: list[tuple] = []
    run = cluster("2.7", told)
    run.run_until(SECOND)
    controller = next(broker for broker in run.brokers.values() if broker.address == run.controller_address)
    before = run.partition_view(MOVING)
    item = AlterPartitionItem(MOVING, before.leader_epoch, before.partition_epoch, (2,), (-1,), 0)
    for epoch, error in (
        (run.brokers[2].context.broker_epoch - 1, errors.STALE_BROKER_EPOCH),
        (run.brokers[2].context.broker_epoch, errors.NONE),
    ):
        controller.handle(AlterPartitionRequest(77, 2, epoch, (item,)), "b2")
        answers: list[AlterPartitionResponse] = []
        run.brokers[2].handlers[AlterPartitionResponse] = lambda answer, _, taken=answers: taken.append(answer)
        run.run_until(run.now + SECOND)
        assert [answer.error for answer in answers] == [error]
        written = [tuple(event[10]) for event in told if event[3] == events.PartitionChanged.kind and event[4] == "moving"]
        assert ((2,) in written) == (error == errors.NONE)


@pytest.mark.parametrize(("release", "left"), [("0.10.2", ()), ("2.1", (3,)), ("2.8", (3,))])
def test_each_dead_member_of_an_isr_costs_a_leader_epoch(release: str, left: tuple[int, ...]) -> None:
    """2 and 3 die at the same moment. 2, the leader, leaves the ISR. 3 would also leave it if it were not the last member
    (`#doRemoveReplicasFromIsr`). It does leave it in 0.10.2, where unclean election is enabled by default.
    """
    told: list[tuple] = []
    run = cluster(release, told)
    run.run_until(SECOND)
    control = run.controller
    assert isinstance(control, ZooKeeperControlPlane)
    for broker in (2, 3):
        run.do(acts.Kill(broker))
        control.fence(broker, by_session=True)
    run.run_until(run.now + SECOND)
    seen = [(event[6], event[7], event[10]) for event in told if event[3] == events.PartitionChanged.kind and event[4] == "moving"]
    assert seen == [(2, 0, (2, 3)), (NO_LEADER, 1, (3,)), (NO_LEADER, 2, left)]


@pytest.mark.parametrize(("release", "unclean", "left"), [("0.11", True, ()), ("0.11", False, (3,)), ("1.1", True, (3,))])
def test_the_last_member_leaves_the_isr_of_a_topic_with_unclean_election_before_1_1(
    release: str, unclean: bool, left: tuple[int, ...]
) -> None:
    """`KafkaController#removeReplicaFromIsr`: the last member stays only so that it can be restored as the leader."""
    run = cluster(release, [])
    run.do(acts.Set("unclean.leader.election.enable", str(unclean).lower(), topic="moving"))
    run.run_until(SECOND)
    for broker in (2, 3):
        run.do(acts.Kill(broker))
        run.run_until(run.now + 20 * SECOND)
    view = run.partition_view(MOVING)
    assert (view.leader, view.isr) == (NO_LEADER, left)
    run.do(acts.Start(2))
    run.run_until(run.now + 20 * SECOND)
    view = run.partition_view(MOVING)
    assert (view.leader, view.isr) == ((2, (2,)) if unclean else (NO_LEADER, (3,)))


@pytest.mark.parametrize(("release", "leader"), [("0.9", 2), ("0.10.2", 1)])
def test_a_shutdown_follows_the_order_of_the_isr_before_0_10(release: str, leader: int) -> None:
    """Broker 1 was away, so it is the last member of the ISR (4, 2, 1) of the replicas 4, 1, 2. Recorded with 0.9.0.1."""
    topics = (TopicSpec("t", assignment=(PartitionSpec((4, 1, 2)),)),)
    run = Cluster(ClusterSpec(tuple(BrokerSpec(each) for each in (1, 2, 3, 4)), topics, controller="b3"), RELEASES[release])
    run.do(acts.Kill(1))
    run.run_until(30 * SECOND)
    run.do(acts.Start(1))
    run.run_until(60 * SECOND)
    assert run.partition_view(TopicPartition("t", 0)).isr == (4, 2, 1)
    run.do(acts.Shutdown(4))
    run.run_until(65 * SECOND)
    assert run.partition_view(TopicPartition("t", 0)).leader == leader


@pytest.mark.parametrize(("release", "epoch"), [("0.11", 0), ("1.1", 1)])
def test_a_preferred_election_takes_a_dead_leader_for_online_before_1_1(release: str, epoch: int) -> None:
    """`PartitionStateMachine#electLeaderForPartition` ignores that no election is needed, and the partition becomes online. The leader died
    together with the controller, so ZooKeeper still names it as the leader.
    """
    topics = (TopicSpec("t", assignment=(PartitionSpec((4,)),)),)
    spec = ClusterSpec(
        tuple(BrokerSpec(each) for each in (1, 2, 3, 4)), topics, (("auto.leader.rebalance.enable", False),), controller="b4"
    )
    run = Cluster(spec, RELEASES[release])
    run.run_until(SECOND)
    assert run.controller_address == "b4"
    run.do(acts.Kill(4))
    run.run_until(30 * SECOND)
    run.do(acts.Elect("preferred"))
    run.run_until(40 * SECOND)
    run.do(acts.Start(4))
    run.run_until(80 * SECOND)
    view = run.partition_view(TopicPartition("t", 0))
    assert (view.leader, view.leader_epoch) == (4, epoch)


@pytest.mark.parametrize(("release", "takes_out"), [("0.10.2", False), ("2.1", False), ("2.4", True), ("2.8", True)])
def test_a_controller_that_starts_takes_the_dead_out_since_2_3(release: str, takes_out: bool) -> None:
    """KAFKA-3143, "Triggering offline replica state changes": the controller removes dead members from an ISR, and once more from the ISR
    of a partition without a leader.
    """
    told: list[tuple] = []
    run = cluster(release, told)
    run.run_until(SECOND)
    control = run.controller
    assert isinstance(control, ZooKeeperControlPlane)
    for broker in (1, 3):
        run.do(acts.Kill(broker))
    control.fence(3, by_session=True)
    control.fence(1, by_session=True)  # the controller, before it could do anything about 3
    run.run_until(run.now + SECOND)
    moving, here = run.partition_view(MOVING), run.partition_view(HERE)
    assert (moving.leader, moving.leader_epoch, moving.isr) == ((2, 1, (2,)) if takes_out else (2, 0, (2, 3)))
    assert (here.leader, here.isr) == (2, (2,)), "who led is replaced by every controller"
    before = {view.tp: view.leader_epoch for view in (moving, here)}
    run.do(acts.Kill(2))
    control.fence(2, by_session=True)
    run.run_until(run.now + SECOND)
    offline = run.partition_view(HERE)
    assert (offline.leader, offline.isr) == ((NO_LEADER if takes_out else 2), (2,))
    assert offline.leader_epoch == before[HERE] + takes_out, "nobody leads, and the one in the ISR is still dead"


@pytest.mark.parametrize(("release", "raised"), [("0.11", 0), ("1.1", 1), ("2.0", 1), ("2.1", 1), ("2.4", 0), ("2.8", 0)])
@pytest.mark.parametrize("asked", [None, HERE])
def test_a_preferred_election_of_the_leader_writes_a_new_epoch_from_1_1_to_2_1(
    release: str, raised: int, asked: TopicPartition | None
) -> None:
    """`#leaderForPreferredReplica` did not check who leads (1.1.1-k41, k43). Before 1.1, LeaderElectionNotNeededException did; since 2.2,
    `KafkaController#processPreferredReplicaLeaderElection` does.
    """
    told: list[tuple] = []
    run = cluster(release, told)
    run.run_until(SECOND)
    run.do(acts.Elect("preferred", asked))
    run.run_until(2 * SECOND)
    here, moving = run.partition_view(HERE), run.partition_view(MOVING)
    assert (here.leader, here.isr, here.leader_epoch, here.partition_epoch) == (1, (1, 2), raised, raised)
    assert moving.leader_epoch == (raised if asked is None else 0)
    assert run.brokers[1].partitions[HERE].leader_epoch == raised
    assert not [event for event in told if event[3] == events.LeaderElected.kind], "the leader stays"


def test_a_controller_that_learns_of_another_one_resigns() -> None:
    told: list[tuple] = []
    run = cluster("2.4", told)
    run.run_until(SECOND)
    (controller,) = [broker.kafka_controller for broker in run.brokers.values() if broker.kafka_controller.active]
    winner = controller.broker.id % 4 + 1
    controller._election_completed((Result(NODE_EXISTS), Result(OK, data=controller.broker.id)))
    assert controller.active, "it is the controller already"
    controller._election_completed((Result(NODE_EXISTS), Result(OK, data=winner)))
    assert not controller.active
    ((address, _, reason, _),) = [event[4:] for event in told if event[3] == events.ControllerResigned.kind]
    assert (address, reason) == (controller.broker.node.address, f"b{winner} is controller")


def test_a_controller_does_not_change_partitions_that_a_newer_controller_has_changed_or_that_are_deleted() -> None:
    """`PartitionStateMachine#doElectLeaderForPartitions` leaves out states of a higher controller epoch and states that do not exist."""
    run = cluster("2.4", [])
    run.run_until(SECOND)
    (controller,) = [broker.kafka_controller for broker in run.brokers.values() if broker.kafka_controller.active]
    epoch, asked, completed = controller.context.epoch, list[TopicPartition](), list[bool]()

    def state(controller_epoch: int) -> Result:
        return Result(OK, PartitionState(1, 0, (1, 2), controller_epoch, "test"), 3)

    def decide(tp: TopicPartition, _: object) -> None:
        asked.append(tp)

    gone = TopicPartition("gone", 0)
    results = (state(epoch + 1), state(epoch), Result(NO_NODE))
    controller.partitions._states_read(results, [HERE, MOVING, gone], decide, "test", None, lambda *_: completed.append(True), ())
    assert (asked, completed) == ([MOVING], [True])


def test_a_request_that_a_dead_broker_refuses_is_sent_again_after_100_ms() -> None:
    """`RequestSendThread#doWork`: until the session of the dead broker expires, the controller keeps sending to it."""
    run = cluster("2.4", [])
    run.run_until(SECOND)
    (controller,) = [broker.kafka_controller for broker in run.brokers.values() if broker.kafka_controller.active]
    dead = controller.broker.id % 4 + 1
    run.do(acts.Kill(dead))
    run.do(acts.CreateTopic("new", replicas=((controller.broker.id, dead),)))
    run.run_until(SECOND + 450 * US_PER_MS)
    to_dead = sorted(entry.time for entry in run.agenda.entries if _times_out(entry.message, dead))
    assert len(to_dead) > 3
    assert {later - earlier for earlier, later in itertools.pairwise(to_dead)} == {101 * US_PER_MS}, "the refusal takes 1 ms to arrive"


def _times_out(message: object, broker: int) -> bool:
    """Return whether a message in the agenda is the timeout of a request to a broker, which is armed when the request is sent."""
    return isinstance(message, Timer) and message.name == "controller-socket-timeout" and message.about[0] == broker  # type: ignore[index]


def test_by_hand_each_isr_change_is_published_at_once_and_the_first_publication_counts_from_the_start() -> None:
    """`ReplicaManager` sets `lastIsrPropagationMs` to the time at which it begins."""
    told: list[tuple] = []
    spec = ClusterSpec((BrokerSpec(1), BrokerSpec(2)), (TopicSpec("here", assignment=(PartitionSpec((1, 2)),)),), pace=Pace.BY_HAND)
    run = Cluster(spec, RELEASES["2.4"], sink=told.append)
    for seconds in (80, 100):
        run.run_until(seconds * SECOND)
        for act in (acts.Kill(2), acts.Fence(2), acts.Start(2), acts.Fetch(2)):
            run.do(act)
    published = [events.decode(event) for event in told if event[3] == events.IsrChangesPublished.kind]
    assert [(event.partitions, event.rested_us, event.since_us) for event in published] == [(1, 0, 80 * SECOND), (1, 0, 20 * SECOND)]  # type: ignore[attr-defined]


def test_a_broker_whose_isr_write_fails_keeps_the_isr_and_publishes_nothing() -> None:
    """`ZkIsrManager`: the version of the state znode has changed, so somebody else has changed the partition."""
    run = cluster("2.4", [])
    run.run_until(SECOND)
    leader = run.brokers[1]
    partition, manager = leader.partitions[HERE], leader.isr_manager
    assert manager is not None
    item = AlterPartitionItem(HERE, partition.leader_epoch, partition.partition_epoch, (1,), (), 0)
    manager._written((Result(BAD_VERSION),), item)
    assert (partition.isr, list(manager.changes)) == ((1, 2), [])


def test_requested_elections_that_are_not_possible_are_refused() -> None:
    """`KafkaController#processReplicaLeaderElection`: no replica is alive, or the preferred replica is not."""
    told: list[tuple] = []
    run = cluster("2.4", told)
    for broker in (1, 2):
        run.do(acts.Kill(broker))
    run.run_until(20 * SECOND)
    run.do(acts.Elect("unclean", HERE))
    run.run_until(21 * SECOND)
    run.do(acts.Elect("preferred", MOVING))
    run.run_until(22 * SECOND)
    assert [event[4:] for event in told if event[3] == events.ElectionRefused.kind] == [
        ("here", 0, "unclean", errors.ELIGIBLE_LEADERS_NOT_AVAILABLE),
        ("moving", 0, "preferred", errors.PREFERRED_LEADER_NOT_AVAILABLE),
    ]


def test_a_new_partition_has_the_version_of_its_new_znode() -> None:
    """`PartitionStateMachine#initializeLeaderAndIsrForPartitions` creates the znode, whose version is then 0."""
    run = cluster("2.4", [])
    run.run_until(SECOND)
    run.do(acts.CreateTopic("new", replicas=((3, 4),)))
    run.run_until(2 * SECOND)
    new = TopicPartition("new", 0)
    (controller,) = [broker.kafka_controller for broker in run.brokers.values() if broker.kafka_controller.active]
    assert controller.context.states[new] == PartitionRegistration((3, 4), (3, 4), 3, 0, 0)
    assert run.brokers[3].partitions[new].partition_epoch == 0
    run.do(acts.Kill(4))
    run.run_until(20 * SECOND)
    assert run.partition_view(new).isr == (3,)


def test_a_broker_whose_session_expires_is_fenced_until_it_has_registered_again() -> None:
    """`KafkaController#processRegisterBrokerAndReelect`."""
    run = cluster("2.4", [])
    run.run_until(SECOND)
    (controller,) = [broker for broker in run.brokers.values() if broker.kafka_controller.active]
    run.do(acts.Pause(controller.id))
    run.run_until(20 * SECOND)
    run.do(acts.Resume(controller.id))
    seen = {}
    while run.now < 21 * SECOND:
        run.step()
        seen[controller.context.fenced, controller.registration.incarnation, controller.kafka_controller.active] = None
    assert list(seen) == [(False, controller.incarnation, True), (True, -1, False), (False, controller.incarnation, False)]
