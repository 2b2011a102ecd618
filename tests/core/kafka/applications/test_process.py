"""What a process does with its input, by delivery guarantee and release, and through crashes after each of its steps."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from core.kafka import events
from core.kafka.applications.processes.process import Process
from core.kafka.applications.processes.process_step import LOOP, START, Delivery, ProcessStep, next_step
from core.kafka.ids import TopicPartition
from core.kafka.messages import MetadataResponse
from core.kafka.release import RELEASES
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.accounts.processing_account import Counts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.lab.views.process_views import process_counts, process_outputs
from core.sim.errors import ActRefused
from core.sim.units import SECOND

RELEASES_OF_TRANSACTIONS = ("0.11", "2.7", "3.3", "4.0", "4.3")
IN = TopicPartition("in", 0)


def cluster(release: str, told: list[tuple] | None = None, *, partitions: int = 2) -> Cluster:
    settings = (("offsets.topic.num.partitions", "2"), ("transaction.state.log.num.partitions", "2"))
    topics = (TopicSpec("in", partitions, 3), TopicSpec("out", 2, 3))
    spec = ClusterSpec(tuple(BrokerSpec(broker) for broker in (1, 2, 3)), topics, settings=settings)
    run = Cluster(spec, RELEASES[release], sink=None if told is None else told.append)
    run.do(acts.Produce("in", 10))
    run.run_until(SECOND)
    return run


def start(run: Cluster, delivery: str = "exactly-once", crash_after: str | None = None, seconds: int = 10, **fields: object) -> Process:
    run.do(acts.StartProcess("in", "out", "app", delivery=delivery, copies=2, max_poll_records=3, crash_after=crash_after, **fields))  # type: ignore[arg-type]
    run.run_until(run.now + seconds * SECOND)
    process = run.clients.process("app")
    assert process is not None
    return process


def counts(run: Cluster) -> Counts:
    process = run.clients.process("app")
    assert process is not None
    return process_counts(run, process)


def said(told: list[tuple], kind: str) -> list[str]:
    return [events.explain(each) for each in told if each[3] == kind]


# --- the steps -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delivery", Delivery)
def test_the_loop_returns_to_the_poll(delivery: Delivery) -> None:
    assert next_step(delivery, START[delivery][-1]) is ProcessStep.POLL
    step, steps = ProcessStep.POLL, []
    for _ in LOOP[delivery]:
        steps.append(step)
        step = next_step(delivery, step)
    assert tuple(steps) == LOOP[delivery]
    assert step is ProcessStep.POLL
    assert next_step(delivery, ProcessStep.ABORT) is ProcessStep.FETCH_OFFSETS


# --- without crashes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delivery", Delivery)
@pytest.mark.parametrize("release", RELEASES_OF_TRANSACTIONS)
def test_every_input_record_is_processed_once(release: str, delivery: str) -> None:
    run = cluster(release)
    process = start(run, delivery)
    assert counts(run) == (10, 10, 0, 0, 0)
    assert sorted(process.consumer.positions) == [5, 5]
    assert run.account.processing.committed("app", IN) == 5


def test_a_process_can_write_the_topic_that_it_reads() -> None:
    run = cluster("4.3", partitions=1)
    run.do(acts.StartProcess("in", "in", "loop", max_poll_records=4))
    run.run_until(run.now + SECOND)
    process = run.clients.process("loop")
    assert process is not None
    assert process.rounds > 10, "its own output is its input"
    found = process_counts(run, process)
    assert found.twice == found.half == 0


def test_a_release_without_transactions_has_the_other_guarantees() -> None:
    run = cluster("0.10.2")
    with pytest.raises(ActRefused, match="has no transactions"):
        start(run)
    start(run, "at-least-once")
    assert counts(run) == (10, 10, 0, 0, 0)


def test_the_output_names_its_input() -> None:
    run = cluster("4.3", partitions=1)
    process = start(run)
    for output in process_outputs(run, process):
        content = output.content
        assert content.source == IN
        assert output.tp == TopicPartition("out", content.copy)
    ranges = sorted((each.content.start, each.content.end) for each in process_outputs(run, process) if each.content.copy == 0)
    assert ranges[0][0] == 0
    assert ranges[-1][1] == 10
    assert all(one[1] == other[0] for one, other in pairwise(ranges))


# --- crashes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [*START[Delivery.EXACTLY_ONCE], *LOOP[Delivery.EXACTLY_ONCE]])
@pytest.mark.parametrize("release", RELEASES_OF_TRANSACTIONS)
def test_exactly_once_after_a_crash_after_each_step(release: str, step: str) -> None:
    run = cluster(release)
    assert not start(run, crash_after=step, seconds=3).running
    assert counts(run).twice == counts(run).half == counts(run).never == 0
    process = start(run)
    assert process.instance == 2
    assert counts(run) == (10, 10, 0, 0, 0)


@pytest.mark.parametrize("release", ["0.10.2", *RELEASES_OF_TRANSACTIONS])
def test_at_least_once_repeats_what_was_produced_and_not_committed(release: str) -> None:
    told: list[tuple] = []
    run = cluster(release, told)
    start(run, "at-least-once", "produce", 3)
    start(run, "at-least-once")
    assert counts(run) == (10, 10, 3, 0, 0)
    (sentence,) = said(told, "processed-twice")
    # In older releases, instance 2 first hears from the leader of in-1, and its second poll has one record of in-0.
    assert f"PROCESSED TWICE: {'1 record' if release in ('0.10.2', '0.11', '2.7') else '3 records'}" in sentence
    assert "instance 2 of process app produced the output again" in sentence
    (harm,) = {(each[-1], each[1]) for each in told if each[3] == "processed-twice"}
    (cause,) = [events.explain(each) for each in told if each[0] == harm[0]]
    assert cause.startswith("instance 2 of process app completed the poll step")


@pytest.mark.parametrize("release", ["0.10.2", *RELEASES_OF_TRANSACTIONS])
def test_at_most_once_loses_what_was_committed_and_not_produced(release: str) -> None:
    told: list[tuple] = []
    run = cluster(release, told)
    start(run, "at-most-once", "commit-offsets", 3)
    assert counts(run) == (10, 0, 0, 0, 3)
    start(run, "at-most-once")
    assert counts(run) == (10, 7, 0, 0, 3)
    (sentence,) = said(told, "never-processed")
    doomed_by = next(each[-1] for each in told if each[3] == "never-processed")
    assert "there is no output" in sentence
    assert next(each[3] for each in told if each[0] == doomed_by) == "offset-committed"


@pytest.mark.parametrize(
    ("delivery", "after", "in_the_end"),
    [
        ("at-least-once", (10, 0, 0, 3, 0), (10, 10, 3, 0, 0)),
        ("at-most-once", (10, 0, 0, 3, 0), (10, 7, 0, 3, 0)),
        ("exactly-once", (10, 0, 0, 0, 0), (10, 10, 0, 0, 0)),
    ],
)
def test_a_death_between_two_output_partitions_leaves_half(delivery: str, after: Counts, in_the_end: Counts) -> None:
    """The batch for one output partition is acknowledged; the other one waits for a cut link when the process dies. The machine of the process
    would still send it, but the broker that gets it has restarted and does not know the connection.
    """
    told: list[tuple] = []
    run = cluster("4.3", told, partitions=1)
    one, other = (run.partition_view(TopicPartition("out", number)).leader for number in (0, 1))
    assert one != other
    run.do(acts.StartProcess("in", "out", "app", delivery=delivery, copies=2, max_poll_records=3))
    run.do(acts.Cut(("app", f"b{other}"), one_way=True))
    while not any(each[3] == "produce-acked" and each[4] == "app" for each in told):
        run.step()
    assert counts(run)[3] == 0, "the running instance has the records in hand"
    run.do(acts.KillProcess("app"))
    run.run_until(run.now + SECOND)
    assert counts(run) == after
    run.do(acts.Kill(other))
    run.run_until(run.now + 20 * SECOND)
    run.do(acts.Start(other))
    run.run_until(run.now + 10 * SECOND)
    run.do(acts.Heal())
    start(run, delivery, seconds=30)
    assert counts(run) == in_the_end
    if delivery != "exactly-once":
        (sentence,) = said(told, "half-visible")
        assert "HALF VISIBLE: 3 records of in-0 (offsets 0–2)" in sentence
        assert "of the output that instance 1 of process app produced" in sentence


# --- instances -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("release", RELEASES_OF_TRANSACTIONS)
def test_a_second_process_with_the_same_transactional_id_fences_the_first(release: str) -> None:
    told: list[tuple] = []
    run = cluster(release, told)
    first = start(run)
    run.do(acts.StartProcess("in", "out", "app-2", group="app", transactional_id="app", copies=2, max_poll_records=3))
    run.run_until(run.now + 2 * SECOND)
    run.do(acts.Produce("in", 6))
    run.run_until(run.now + 20 * SECOND)
    assert not first.running
    (ended,) = [each for each in said(told, "process-ended") if "process app " in each]
    assert re.search(r"failed during the [a-z-]+ step", ended)
    assert "PRODUCER_EPOCH" in ended or "PRODUCER_FENCED" in ended
    second = run.clients.process("app-2")
    assert second is not None
    assert second.running
    assert process_counts(run, second).twice == 0
    assert run.account.processing.committed("app", IN) == 8


@pytest.mark.parametrize("release", RELEASES_OF_TRANSACTIONS)
def test_a_process_that_stops_aborts_its_transaction(release: str) -> None:
    told: list[tuple] = []
    run = cluster(release, told)
    run.do(acts.StartProcess("in", "out", "app", copies=2))
    while not any(each[3] == "process-step" and each[6] == "begin" for each in told):
        run.step()
    run.do(acts.StopProcess("app"))
    run.run_until(run.now + 5 * SECOND)
    process = run.clients.process("app")
    assert process is not None
    assert not process.running
    assert counts(run) == (10, 0, 0, 0, 0)
    assert all(each.decided for each in process_outputs(run, process))


def test_a_restart_needs_the_same_work() -> None:
    run = cluster("4.3")
    start(run)
    with pytest.raises(ActRefused, match="is already running"):
        start(run)
    run.do(acts.KillProcess("app"))
    with pytest.raises(ActRefused, match="was started with other fields"):
        run.do(acts.StartProcess("out", "out", "app"))
    with pytest.raises(ActRefused, match="there is no running process app"):
        run.do(acts.KillProcess("app"))
    with pytest.raises(ActRefused, match="app is not a producer"):
        run.do(acts.Produce("out", 1, producer="app"))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"delivery": "twice"}, "delivery must be"),
        ({"crash_after": "commit-offsets"}, "has the steps init, fetch-offsets, poll, begin"),
        ({"delivery": "at-least-once", "transactional_id": "x"}, "has no transactional.id"),
        ({"reset": "middle"}, "reset must be"),
        ({"copies": 0}, "at least 1"),
        ({"source": "nothing"}, "there is no topic nothing"),
    ],
)
def test_what_is_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ActRefused, match=message):
        cluster("4.3").do(acts.StartProcess(**({"source": "in", "output": "out", "process": "app"} | fields)))


def test_internal_topics_need_enough_brokers() -> None:
    spec = ClusterSpec((BrokerSpec(1),), (TopicSpec("in", 1, 1), TopicSpec("out", 1, 1)))
    run = Cluster(spec)
    with pytest.raises(ActRefused, match=r"offsets\.topic\.replication\.factor is 3, but the cluster has 1 broker"):
        run.do(acts.StartProcess("in", "out", delivery="at-least-once"))


# --- a paused coordinator ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delivery", ["exactly-once", "at-least-once"])
def test_a_silent_coordinator_is_given_up(delivery: str) -> None:
    """The request times out, and the process asks for the coordinator again."""
    run = cluster("4.3")
    process = start(run, delivery, config=(("request.timeout.ms", "2000"),))
    coordinator = process.consumer.coordinator
    run.do(acts.Pause(int(coordinator[1:])))
    run.do(acts.Produce("in", 6))
    run.run_until(run.now + 60 * SECOND)
    run.do(acts.Resume(int(coordinator[1:])))
    run.run_until(run.now + 60 * SECOND)
    assert counts(run)[:2] == (16, 16)
    assert counts(run).never == 0


# --- time travel ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delivery", Delivery)
def test_a_copy_goes_on_in_the_same_way(delivery: str) -> None:
    """The complete state of a process is declared at every step."""
    for steps in range(0, 400, 23):
        told: list[tuple] = []
        run = cluster("4.3", told)
        run.do(acts.StartProcess("in", "out", "app", delivery=delivery, copies=2, max_poll_records=4))
        run.run_steps(steps, 10**9, 2 * SECOND)
        seen: list[tuple] = []
        copy = Cluster.restore(run.snapshot(), seen.append)
        before = len(told)
        run.run_until(4 * SECOND)
        copy.run_until(4 * SECOND)
        assert seen == told[before:]
        assert copy.view() == run.view()


def test_a_process_asks_again_for_metadata_of_a_topic_that_a_broker_does_not_know_yet() -> None:
    """A broker that has just started answers without partitions; the producer of the process asks again after retry.backoff.ms."""
    run = cluster("1.1")
    process = start(run, seconds=0)
    answered = process._metadata_correlation
    run.network.disconnect(process.address, process._metadata_node)
    process.handle(MetadataResponse(answered, "out", ()), process._metadata_node)
    assert process.leaders == []
    run.run_until(run.now + SECOND)
    assert len(process.leaders) == 2


def test_a_new_instance_takes_the_epoch_of_a_committed_offset() -> None:
    """Metadata from a former leader that does not know this epoch are too old for the process, so it does not fetch (KIP-320)."""
    run = cluster("4.3", partitions=1)
    run.do(acts.Kill(run.partition_view(IN).leader))
    run.run_until(run.now + 20 * SECOND)
    epoch = run.partition_view(IN).leader_epoch
    run.do(acts.Produce("in", 5))
    start(run)
    run.do(acts.KillProcess("app"))
    process = start(run)
    consumer = process.consumer
    consumer.leaders[:] = [(consumer.leader_of(0), epoch - 1)]
    consumer.in_flight.clear()
    consumer.wait_for_records()
    assert epoch > 0
    assert not consumer.in_flight
    run.run_until(run.now + SECOND)
    assert consumer.epoch_of(0) == epoch
    assert consumer.in_flight


def test_the_consumer_of_a_process_drops_its_fetch_when_the_producer_closes_the_connection() -> None:
    """Both share one connection to each broker."""
    process = start(cluster("4.3"))
    fetched_from = next(iter(process.consumer.in_flight))
    process.abandon_connection(fetched_from)
    assert fetched_from not in process.consumer.in_flight
