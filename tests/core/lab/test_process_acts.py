"""What the acts on processes check, and what they give to the process."""

from __future__ import annotations

from typing import Any

import pytest

from core.kafka.applications.processes.process import Process
from core.kafka.clients.producer.producer_sequences import NONE
from core.lab import acts
from core.lab.cluster import Cluster
from core.sim.errors import ActRefused
from core.sim.units import SECOND
from tests.core.kafka.applications.test_process import IN, cluster, counts

MS = SECOND // 1000


def start(run: Cluster, *, seconds: int = 10, name: str = "app", **fields: Any) -> Process:
    run.do(acts.StartProcess("in", "out", name, **fields))
    run.run_until(run.now + seconds * SECOND)
    process = run.clients.process(name)
    assert process is not None
    return process


def steps(told: list[tuple[Any, ...]], instance: int = 1) -> list[tuple[int, str, str]]:
    """Return the times of the steps of an instance, with the steps and the records in them."""
    return [(each[1], each[6], each[7]) for each in told if each[3] == "process-step" and each[5] == instance]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"max_poll_records": 0}, "at least 1"),
        ({"group": ""}, "must not be empty"),
        ({"group": "", "delivery": "at-least-once"}, "must not be empty"),
        ({"transactional_id": ""}, "must not be empty"),
        ({"process": "b7"}, "b7 is the name of a broker"),
        ({"process": "producer"}, "producer is not a process"),
        ({"output": "nothing"}, "there is no topic nothing"),
        ({"protocol": "consumer"}, "are for members of groups; add 'subscribe: true'"),
        ({"instance_id": "i1"}, "are for members of groups; add 'subscribe: true'"),
        ({"subscribe": True, "protocol": "gossip"}, "protocol must be classic or consumer, not gossip"),
        ({"subscribe": True, "instance_id": ""}, "the instance ID must not be empty"),
        ({"config": (("session.timeout.ms", "9000"),)}, r"session\.timeout\.ms"),
        ({"config": (("acks", "1"),)}, "without also enabling idempotence"),
    ],
)
def test_what_is_refused(fields: dict[str, Any], message: str) -> None:
    run = cluster("4.3")
    before = run.now, set(run.clients)
    with pytest.raises(ActRefused, match=message):
        run.do(acts.StartProcess(**({"source": "in", "output": "out", "process": "app"} | fields)))
    assert (run.now, set(run.clients)) == before


def test_an_act_on_a_process_that_does_not_run_names_those_that_do() -> None:
    run = cluster("4.3")
    start(run, name="one", seconds=1)
    start(run, name="two", seconds=1)
    run.do(acts.KillProcess("one"))
    for act in (acts.StopProcess("one"), acts.KillProcess("three")):
        with pytest.raises(ActRefused, match=f"there is no running process {act.process}; the running ones are two$"):
            run.do(act)


def test_a_process_reads_at_most_max_poll_records_in_a_round() -> None:
    told: list[tuple[Any, ...]] = []
    run = cluster("4.3", told, partitions=1)
    start(run, max_poll_records=1)
    assert [records for _, step, records in steps(told) if step == "poll"] == [f"in-0: {offset}–{offset}" for offset in range(10)]


@pytest.mark.parametrize(("delivery", "creates"), [("exactly-once", True), ("at-least-once", False), ("at-most-once", False)])
def test_only_a_transactional_process_creates_the_topic_of_transactions(delivery: str, creates: bool) -> None:
    """`AutoTopicCreationManager`: a topic is created when a client looks for its coordinator."""
    run = cluster("4.3")
    start(run, delivery=delivery, seconds=1)
    topics = run.controller.registry.topics
    assert "__consumer_offsets" in topics
    assert ("__transaction_state" in topics) is creates


def test_settings_of_the_producer_are_in_force() -> None:
    """`ProducerConfig`: without transactions, acks can be 1. Such a producer is not idempotent."""
    process = start(cluster("4.3"), delivery="at-least-once", config=(("acks", "1"),))
    assert (process.accumulator.acks, process.sender.idempotent) == (1, False)


def test_settings_of_the_consumer_are_in_force_in_a_member_of_a_group() -> None:
    """`ConsumerConfig`: the coordinator removes a killed member after the session timeout that it asked for."""
    run = cluster("4.3")
    start(run, subscribe=True, instance_id="i1", config=(("session.timeout.ms", "9000"),))
    (group,) = run.view().groups
    assert [member.instance_id for member in group.members] == ["i1"]
    run.do(acts.KillProcess("app"))
    killed = run.now
    run.run_until(killed + 5 * SECOND)
    assert len(run.view().groups[0].members) == 1
    run.run_until(killed + 10 * SECOND)
    assert not run.view().groups[0].members


def test_a_timeout_of_the_transaction_is_in_force() -> None:
    """`TransactionCoordinator#abortTimedOutTransactions`: the coordinator looks for such transactions every 10 s."""
    told: list[tuple[Any, ...]] = []
    run = cluster("4.3", told)
    start(run, crash_after="produce", config=(("transaction.timeout.ms", "5000"),), seconds=0)
    run.run_until(run.now + 20 * SECOND)
    (timed_out,) = [each[1] for each in told if each[3] == "transaction-timed-out"]
    begun = next(time for time, step, _ in steps(told) if step == "begin")
    assert begun + 5 * SECOND <= timed_out <= begun + 16 * SECOND


def test_an_idempotent_producer_asks_for_its_id_before_it_has_records() -> None:
    """`Sender#runOnce`."""
    run = cluster("4.3")
    process = start(run, delivery="at-least-once", reset="latest", seconds=1)
    assert counts(run).input == 10
    assert process.rounds == 0
    assert process.sender.producer_id != NONE


@pytest.mark.parametrize(
    ("fields", "work"),
    [({}, 0), ({"poll_time": 300 * MS}, 300 * MS), ({"record_time": 40 * MS}, 200 * MS), ({"poll_time": 300 * MS, "record_time": 40 * MS}, 500 * MS)],
)  # fmt: skip
def test_the_application_works_for_each_round_and_for_each_record(fields: dict[str, int], work: int) -> None:
    """The work comes between the poll and the output: 5 records in the first round."""
    told: list[tuple[Any, ...]] = []
    run = cluster("4.3", told, partitions=1)
    start(run, delivery="at-least-once", max_poll_records=5, **fields)
    found = steps(told)
    polled = next(time for time, step, _ in found if step == "poll")
    produced = next(time for time, step, _ in found if step == "produce")
    assert work <= produced - polled < work + 100 * MS


def test_a_new_instance_continues_the_numbers_of_the_former_one() -> None:
    """Timers of the former instance, and late responses to it, have no effect on the new one, and its batches are other batches."""
    run = cluster("4.3")
    former = start(run, delivery="at-least-once")
    run.do(acts.KillProcess("app"))
    run.do(acts.Produce("in", 6))
    new = start(run, delivery="at-least-once")
    assert (former.instance, new.instance) == (1, 2)
    assert new.incarnation > former.incarnation
    assert counts(run).input == 16
    logs = [
        log
        for broker in run.brokers.values()
        for tp, log in broker.disk.logs.items()
        if tp.topic == "out" and broker.partitions[tp].is_leader
    ]
    batches = [batch.batch_id for log in logs for term in log.records.terms for batch in term.batches]
    assert len(batches) == len(set(batches)) > 2
    assert run.account.processing.committed("app", IN) == 8
