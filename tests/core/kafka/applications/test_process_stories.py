"""Processes in stories with a known outcome: a new owner that reads offsets too early (KIP-447), and a recorded drill with crashes at each step."""

from __future__ import annotations

import pytest

from core.kafka import errors, events
from core.kafka.applications.processes.process import Process
from core.kafka.group_coordinator.group_requests import OffsetFetchRequest
from core.kafka.ids import TopicPartition
from core.kafka.release import RELEASES
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.lab.views.process_views import process_counts, process_harms
from core.sim.units import SECOND
from tests.core.kafka.group_coordinator.raw_client import RawClient

OUT = TopicPartition("out", 0)


def cluster(release: str, told: list[tuple] | None = None) -> Cluster:
    """Build a cluster in which the transaction coordinator is b3, the group coordinator is b4, and neither replicates the other's topic."""
    topics = (
        TopicSpec("in", assignment=(PartitionSpec((1, 2)),)),
        TopicSpec("out", assignment=(PartitionSpec((2, 1)),)),
        TopicSpec("__transaction_state", assignment=(PartitionSpec((3, 1, 2)),)),
        TopicSpec("__consumer_offsets", assignment=(PartitionSpec((4, 1, 2)),)),
    )
    spec = ClusterSpec(tuple(BrokerSpec(broker) for broker in (1, 2, 3, 4)), topics)
    run = Cluster(spec, RELEASES[release], sink=None if told is None else told.append)
    run.do(acts.Produce("in", 6))
    run.run_until(SECOND)
    return run


def process_of(run: Cluster, name: str) -> Process:
    process = run.clients.process(name)
    assert process is not None
    return process


# --- T5 ------------------------------------------------------------------------------------------------------------


def takeover(release: str, transactional_id: str) -> tuple[Cluster, list[tuple]]:
    """Delay the marker for the committed offsets. Another process takes over the input before the marker arrives."""
    told: list[tuple] = []
    run = cluster(release, told)
    run.do(acts.StartProcess("in", "out", "first", group="g", transactional_id="first", crash_after="commit"))
    while not any(each[3] == "process-step" and each[6] == "send-offsets" for each in told):
        run.step()
    run.do(acts.Hold(("b3", "b4")))
    run.run_until(run.now + 3 * SECOND)
    assert not process_of(run, "first").running
    run.do(acts.StartProcess("in", "out", "second", group="g", transactional_id=transactional_id))
    run.run_until(run.now + 3 * SECOND)
    run.do(acts.Release(("b3", "b4")))
    run.run_until(run.now + 20 * SECOND)
    return run, told


@pytest.mark.parametrize("release", ["0.11", "2.4"])
def test_t5_a_new_owner_that_reads_too_early_processes_twice(release: str) -> None:
    run, told = takeover(release, "second")
    assert process_counts(run, process_of(run, "second")) == (6, 6, 6, 0, 0)
    (harm,) = process_harms(run, process_of(run, "second"))
    assert (harm.kind, harm.start, harm.end, harm.process) == ("twice", 0, 6, "second")
    cause = next(events.explain(each) for each in told if each[0] == harm.event)
    assert cause.startswith("instance 1 of process second completed the begin step (in-0: 0–5)")


@pytest.mark.parametrize("release", ["2.7", "3.3", "4.0", "4.3"])
def test_t5_stable_offsets_make_the_new_owner_wait(release: str) -> None:
    run, told = takeover(release, "second")
    assert process_counts(run, process_of(run, "second")) == (6, 6, 0, 0, 0)
    refused = [each for each in told if each[3] == "group-refused" and each[-1] == errors.UNSTABLE_OFFSET_COMMIT]
    assert len(refused) > 10, "it asks every retry.backoff.ms"


@pytest.mark.parametrize("release", ["0.11", "2.4", "4.3"])
def test_t5_with_the_same_transactional_id_init_waits_for_the_markers(release: str) -> None:
    run, _ = takeover(release, "first")
    assert process_counts(run, process_of(run, "second")) == (6, 6, 0, 0, 0)


# --- the drill h-consume-transform-produce, recorded on 4.1.1 ---------------------------------------------------------


class Drill:
    """Two records in each round. The process is killed at a step and started again."""

    def __init__(self, release: str = "4.1") -> None:
        self.told: list[tuple] = []
        self.run = cluster(release, self.told)
        self.raw = RawClient(self.run)

    def crash(self, step: str) -> None:
        self.run.do(acts.StartProcess("in", "out", "th", group="gh", max_poll_records=2, crash_after=step))
        self.run.run_until(self.run.now + 3 * SECOND)
        assert not process_of(self.run, "th").running

    def restart(self) -> int:
        """Start another instance that initializes and waits. Return its epoch."""
        self.crash("init")
        return self.epochs()[-1]

    def epochs(self) -> list[int]:
        return [each[7] for each in self.told if each[3] == "transaction-state"]

    def states(self) -> list[tuple[str, int, str]]:
        """Return (state, epoch, partitions) of each record of `__transaction_state`, in order."""
        return [(each[9], each[7], each[10]) for each in self.told if each[3] == "transaction-state"]

    def ends(self) -> tuple[int, int]:
        """Return the high watermark and the last stable offset of the output."""
        log = self.run.brokers[2].disk.logs[OUT]
        return log.high_watermark, log.last_stable_offset()

    def committed(self, *, stable: bool) -> int | str:
        response = self.raw.ask(4, OffsetFetchRequest, "gh", (TopicPartition("in", 0),), stable)
        ((_, offset, _, error),) = response.offsets
        return offset if error == errors.NONE else error


def test_the_recorded_drill_of_consume_transform_produce() -> None:
    drill = Drill()
    drill.crash("produce")
    assert drill.ends() == (2, 0)
    assert (drill.committed(stable=False), drill.committed(stable=True)) == (-1, -1)
    assert drill.restart() == 2, "the epochs of the fence and of the new instance"
    assert drill.ends() == (3, 3), "the ABORT marker takes an offset"
    assert [state for state, _, _ in drill.states()] == ["Empty", "Ongoing", "PrepareAbort", "CompleteAbort", "Empty"]

    drill = Drill()
    drill.crash("send-offsets")
    assert drill.ends() == (2, 0)
    assert (drill.committed(stable=False), drill.committed(stable=True)) == (-1, errors.UNSTABLE_OFFSET_COMMIT)
    assert drill.states()[-1] == ("Ongoing", 0, "out-0,__consumer_offsets-0")
    assert drill.restart() == 2
    assert drill.ends() == (3, 3)
    assert (drill.committed(stable=False), drill.committed(stable=True)) == (-1, -1)
    log = drill.run.brokers[4].disk.logs[TopicPartition("__consumer_offsets", 0)]
    offsets, marker = (batch for run in log.runs() for batch in run.term.batches_within(run.start, run.end))
    assert (offsets.producer_epoch, offsets.first_sequence, offsets.transactional) == (0, 0, True)
    assert marker.marker is not None
    assert (marker.marker.name, marker.producer_epoch, marker.first_sequence) == ("ABORT", 1, -1)

    drill = Drill()
    drill.crash("commit")
    assert drill.ends() == (3, 3)
    assert (drill.committed(stable=False), drill.committed(stable=True)) == (2, 2)
    assert [(state, epoch) for state, epoch, _ in drill.states()[-2:]] == [("PrepareCommit", 1), ("CompleteCommit", 1)]
    assert drill.restart() == 2
    process = process_of(drill.run, "th")
    assert process_counts(drill.run, process) == (6, 2, 0, 0, 0)
