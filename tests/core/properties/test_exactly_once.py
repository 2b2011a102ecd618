"""I2: a process with exactly-once delivery is killed, or loses a broker, after every single step, and its output remains exact.

The undisturbed run determines the moments: the events after which something can be lost. At each moment, the client, the transaction
coordinator, the group coordinator, the leader of the input, or the leader of an output partition dies in turn, and starts again. In the
end, each input record has its complete output exactly once.
"""

from __future__ import annotations

import pytest

from core.kafka.applications.processes.process import Process
from core.kafka.broker.broker_state import BrokerState
from core.kafka.ids import TopicPartition
from core.kafka.release import RELEASES
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.lab.views.process_views import process_counts, process_outputs
from core.sim.units import SECOND

RECORDS = 6
COPIES = 2
MOMENTS = (
    "process-started", "process-step", "transaction-state", "transaction-begun", "transaction-ended", "appended", "offset-pending",
    "offset-materialized", "marker-appended", "produce-acked",
)  # fmt: skip
ROLES = {"input leader": 1, "output leader": 2, "transaction coordinator": 3, "group coordinator": 4}


def cluster(release: str, told: list[tuple] | None = None) -> Cluster:
    """Build a cluster in which each role has its own broker."""
    topics = (
        TopicSpec("in", assignment=(PartitionSpec((1, 2, 3)),)),
        TopicSpec("out", assignment=(PartitionSpec((2, 3, 4)), PartitionSpec((1, 3, 4)))),
        TopicSpec("__transaction_state", assignment=(PartitionSpec((3, 4, 1)),), config=(("min.insync.replicas", "2"),)),
        TopicSpec("__consumer_offsets", assignment=(PartitionSpec((4, 1, 2)),)),
    )
    settings = (("broker.session.timeout.ms", "3000"), ("broker.heartbeat.interval.ms", "500"), ("replica.lag.time.max.ms", "3000"))
    run = Cluster(
        ClusterSpec(tuple(BrokerSpec(broker) for broker in (1, 2, 3, 4)), topics, settings=settings),
        RELEASES[release],
        sink=None if told is None else told.append,
    )
    run.do(acts.Produce("in", RECORDS))
    run.run_until(SECOND)
    return run


def start(run: Cluster) -> Process:
    run.do(acts.StartProcess("in", "out", "app", copies=COPIES, max_poll_records=4))
    process = run.clients.process("app")
    assert process is not None
    return process


def moments(release: str) -> list[int]:
    """Return the sequence numbers of the events after which something dies."""
    told: list[tuple] = []
    run = cluster(release, told)
    start(run)
    run.run_until(run.now + 2 * SECOND)
    begun = next(event[0] for event in told if event[3] == "process-started")
    return [event[0] for event in told if event[0] >= begun and event[3] in MOMENTS]


def outcome(run: Cluster, seq: int, victim: str) -> str:
    """Run to an event, kill a process, start it again, and return the errors in the final output."""
    start(run)
    while run.journal.seq < seq and run.now < 3 * SECOND:
        run.run_steps(1, seq, 3 * SECOND)
    process = run.clients.process("app")
    assert process is not None
    if victim == "client":
        run.do(acts.KillProcess("app"))
    else:
        run.do(acts.Kill(ROLES[victim]))
    for _ in range(25):
        run.run_until(run.now + 2 * SECOND)
        process = run.clients.process("app")
        assert process is not None
        if not process.running:
            process = start(run)
        if victim != "client" and run.brokers[ROLES[victim]].context.state is BrokerState.STOPPED and run.now > 12 * SECOND:
            run.do(acts.Start(ROLES[victim]))
        if run.now > 30 * SECOND and process_counts(run, process).processed == RECORDS:
            break
    counts = process_counts(run, process)
    committed = run.account.processing.committed("app", TopicPartition("in", 0))
    visible = sum(each.content.end - each.content.start for each in process_outputs(run, process) if each.visible)
    if run.release.ignores_late_marker_answers:
        right = counts == (RECORDS, RECORDS, 0, 0, 0) and committed == RECORDS and visible == RECORDS * COPIES
    else:  # a late answer can leave the transaction in PrepareCommit for ever (KAFKA-16352), but nothing is wrong
        right = counts[2:] == (0, 0, 0) and visible <= RECORDS * COPIES
    return "" if right else f"after event {seq}: {counts}, committed {committed}, {visible} output records, step {process.step}"


@pytest.mark.parametrize("victim", ["client", *ROLES])
def test_exactly_once_survives_a_death_after_every_step(victim: str) -> None:
    wrong = [found for seq in moments("4.3") if (found := outcome(cluster("4.3"), seq, victim))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("victim", ["client", *ROLES])
@pytest.mark.parametrize("release", ["0.11", "2.4", "2.7", "3.3", "3.9", "4.0"])
def test_exactly_once_survives_a_death_after_some_steps_of_other_releases(release: str, victim: str) -> None:
    wrong = [found for seq in moments(release)[::6] if (found := outcome(cluster(release), seq, victim))]
    assert not wrong, "\n".join(wrong)
