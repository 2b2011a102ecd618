"""A KRaft broker's registration, heartbeats, and controlled shutdown: semantics 3.11, and `BrokerLifecycleManager` for everything that 3.11
does not cover.
"""

from __future__ import annotations

import itertools

import pytest

from core.kafka import errors, events
from core.kafka.broker.broker_state import BrokerState
from core.kafka.messages import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    MetadataFetchRequest,
)
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND, US_PER_MS
from tests.core.node_bench import TP, BrokerBench

CONTROLLER = "controller"


def starting(bench: BrokerBench) -> None:
    """Build a bench in which the process was killed and starts again immediately."""
    bench.broker.stop("killed")
    bench.network.alive["b1"] = True
    bench.broker.start(0, 0, 0)
    bench.run(0)


def test_3_11_a_refused_registration_is_tried_again_with_a_doubling_backoff() -> None:
    bench = BrokerBench(settings={"broker.session.timeout.ms": 3_000})
    starting(bench)
    waits = []
    for _ in range(7):
        assert len(bench.sent(BrokerRegistrationRequest)) == 1
        bench.broker.handle(BrokerRegistrationResponse(errors.DUPLICATE_BROKER_REGISTRATION, -1), CONTROLLER)
        waited = 0
        while not any(type(entry.message) is BrokerRegistrationRequest for entry in bench.agenda.entries):
            bench.run(50)
            waited += 50
        waits.append(waited)
    assert waits == [100, 200, 400, 800, 1_600, 3_000, 3_000], "at most broker.session.timeout.ms"


def test_3_11_an_unanswered_registration_is_sent_again_after_a_second() -> None:
    bench = BrokerBench()
    starting(bench)
    assert len(bench.sent(BrokerRegistrationRequest)) == 1
    bench.run(999)
    assert bench.sent(BrokerRegistrationRequest) == []
    bench.run(1)
    assert len(bench.sent(BrokerRegistrationRequest)) == 1


@pytest.mark.parametrize("controllers", [(), ("c1", "c2", "c3")])
def test_3_11_a_killed_broker_that_starts_at_once_waits_for_its_own_session(controllers: tuple[str, ...]) -> None:
    spec = ClusterSpec(
        (BrokerSpec(1), BrokerSpec(2)), (TopicSpec("t", assignment=(PartitionSpec((1, 2)),)),), controllers=controllers, startup=US_PER_MS
    )
    told: list[tuple] = []
    run = Cluster(spec, sink=told.append)
    run.run_until(5 * SECOND)
    run.do(acts.Kill(1))
    run.do(acts.Start(1))
    run.run_until(30 * SECOND)
    refused = [event[1] for event in told if event[3] == events.RegistrationRefused.kind]
    assert 5 <= len(refused) <= 8, "one every second would be seven to nine"
    gaps = [later - earlier for earlier, later in itertools.pairwise(refused)]
    assert all(later > 1.5 * earlier for earlier, later in itertools.pairwise(gaps))
    assert run.brokers[1].context.state is BrokerState.RUNNING


def test_a_broker_that_dies_while_it_looks_for_the_controller_looks_for_it_again_when_it_starts() -> None:
    """The former process died before it asked the next voter. The new process asks one voter every 50 ms, and so soon finds the controller."""
    told: list[tuple] = []
    spec = ClusterSpec((BrokerSpec(1), BrokerSpec(2)), controllers=("c1", "c2", "c3"), startup=US_PER_MS)
    run = Cluster(spec, sink=told.append)
    run.run_until(SECOND)
    run.do(acts.KillController("c1"))
    run.run_until(SECOND + 10 * US_PER_MS)
    run.do(acts.Kill(1))
    run.do(acts.Start(1))
    run.run_until(4 * SECOND)
    elected = [event[1] for event in told if event[3] == events.ControllerElected.kind][-1]
    refused = [event[1] for event in told if event[3] == events.RegistrationRefused.kind]
    assert 0 <= refused[0] - elected < 200 * US_PER_MS, "refused, because its former session still lives"


def test_a_process_reads_no_metadata_before_it_is_registered() -> None:
    """A controller that has not noticed the end of the former process still responds to that process's metadata fetch."""
    bench = BrokerBench()
    starting(bench)
    bench.sent(MetadataFetchRequest)
    bench.tell()
    assert (bench.sent(MetadataFetchRequest), bench.broker.context.metadata_cache.offset) == ([], 0)
    bench.broker.handle(BrokerRegistrationResponse(errors.NONE, bench.register(1, tell=False)), CONTROLLER)
    assert bench.one_sent(MetadataFetchRequest).offset == 0
    bench.tell()
    assert bench.broker.context.metadata_cache.offset == len(bench.metadata)


# Controlled shutdown


def shutting_down() -> BrokerBench:
    """Build a bench in which broker 1 leads `TP` and wants to shut down. Its first heartbeat that says so has been taken."""
    bench = BrokerBench()
    bench.partition_is((1, 2), (1, 2))
    bench.broker.begin_shutdown()
    assert bench.one_sent(BrokerHeartbeatRequest).want_shutdown
    return bench


def test_3_11_the_second_heartbeat_of_a_shutdown_comes_sooner() -> None:
    bench = shutting_down()
    bench.broker.handle(BrokerHeartbeatResponse(errors.NONE, False, False), CONTROLLER)
    bench.run(49)
    assert bench.sent(BrokerHeartbeatRequest) == []
    bench.run(1)
    assert len(bench.sent(BrokerHeartbeatRequest)) == 1
    bench.broker.handle(BrokerHeartbeatResponse(errors.NONE, False, False), CONTROLLER)
    bench.run(50)
    assert bench.sent(BrokerHeartbeatRequest) == [], "only the first answer does it"


def test_3_11_without_the_controllers_consent_a_broker_ends_after_five_minutes() -> None:
    bench = shutting_down()
    bench.run(299_999)
    assert bench.broker.context.state is BrokerState.STOPPING
    bench.run(1)
    assert bench.told(events.BrokerStopped) == [(1, "shutdown")]


@pytest.mark.parametrize(
    ("leader", "isr", "state"), [(2, (2,), "idle"), (-1, (2,), "idle"), (2, (2, 1), "fetching")], ids=["out-of-the-isr", "no-leader", "in-the-isr"]
)  # fmt: skip
def test_3_11_in_controlled_shutdown_a_replica_outside_the_isr_fetches_no_more(leader: int, isr: tuple[int, ...], state: str) -> None:
    bench = BrokerBench()
    bench.partition_is((2, 1), (2, 1), leader=2)
    assert bench.broker.fetcher_manager.fetch_state(TP) == "fetching"
    bench.broker.begin_shutdown()
    bench.partition_is((2, 1), isr, leader=leader, partition_epoch=2)
    assert bench.broker.fetcher_manager.fetch_state(TP) == state


def test_3_11_outside_a_shutdown_it_fetches_on() -> None:
    bench = BrokerBench()
    bench.partition_is((2, 1), (2, 1), leader=2)
    bench.partition_is((2, 1), (2,), leader=2, partition_epoch=2)
    assert bench.broker.fetcher_manager.fetch_state(TP) == "fetching"


def test_a_leader_answers_waiting_fetches_after_a_pause() -> None:
    """The timers of a paused broker come late, and end the waits of the followers' fetches."""
    heard: list[events.EventTuple] = []
    cluster = Cluster(ClusterSpec(tuple(BrokerSpec(broker) for broker in (1, 2, 3)), (TopicSpec("t", 1, 3),)), sink=heard.append)
    cluster.run_until(3 * SECOND)
    leader = cluster.view().partitions[0].leader
    cluster.do(acts.Pause(leader))
    cluster.run_until(8 * SECOND)
    cluster.do(acts.Resume(leader))
    cluster.run_until(60 * SECOND)
    assert "fetcher-disconnected" not in {event[3] for event in heard}
