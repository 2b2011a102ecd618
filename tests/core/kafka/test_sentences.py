"""The sentence of an event is true under every release, and for every cause, with which the event occurs."""

from __future__ import annotations

import re

import pytest

from core.kafka import events
from core.kafka.ids import CONTROLLER, TopicPartition
from core.kafka.release import RELEASES
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND
from tests.core.events import made
from tests.core.kafka import sentence_samples


def cluster(told: list[tuple], release: str = "4.1", *, log_dirs: int = 1, **config: str) -> Cluster:
    topic = TopicSpec(
        "t", assignment=(PartitionSpec((1, 2)),), config=tuple((name.replace("_", "."), value) for name, value in config.items())
    )
    brokers = tuple(BrokerSpec(broker, log_dirs=log_dirs) for broker in (1, 2, 3))
    return Cluster(ClusterSpec(brokers, (topic,)), RELEASES[release], sink=told.append)


def said(told: list[tuple], kind: type[events.Event]) -> list[str]:
    return [events.decode(event).sentence() for event in told if event[3] == kind.kind]


@pytest.mark.parametrize("release", ["2.4", "4.0"])
def test_an_unclean_election_that_was_asked_for_is_not_said_to_be_by_the_setting(release: str) -> None:
    told: list[tuple] = []
    run = cluster(told, release, min_insync_replicas="1", unclean_leader_election_enable="false")
    for act, after in ((acts.Kill(2), 30), (acts.Kill(1), 30), (acts.Start(2), 20)):
        run.do(act)
        run.run_until(run.now + after * SECOND)
    run.do(acts.Elect("unclean", TopicPartition("t", 0)))
    run.run_until(run.now + SECOND)
    (sentence,) = [each for each in said(told, events.LeaderElected) if each.startswith("b2 leads t-0")]
    assert "the election was unclean, so the records that b2 lacks are lost (as requested)" in sentence


def test_a_partition_goes_offline_also_where_unclean_election_is_allowed() -> None:
    told: list[tuple] = []
    run = cluster(told, "4.0", unclean_leader_election_enable="true")
    for act in (acts.Kill(2), acts.Kill(1)):
        run.do(act)
        run.run_until(run.now + 15 * SECOND)
    (sentence,) = said(told, events.PartitionOffline)
    assert "no member of the ISR [1] can lead" in sentence
    assert "and no unclean election is possible" in sentence


def test_a_broker_that_could_not_tell_of_a_failed_directory_has_another() -> None:
    """`log.dir.failure.timeout.ms` has elapsed: the broker halts, although it has a working directory."""
    told: list[tuple] = []
    run = cluster(told, log_dirs=2)
    run.do(acts.Cut(("b1", CONTROLLER)))
    run.do(acts.FailDir(1, 1))
    run.run_until(31 * SECOND)
    (sentence,) = said(told, events.BrokerStopped)
    assert sentence.startswith(
        "b1 halted: it could not report its failed log directory to the controller within log.dir.failure.timeout.ms"
    )


def test_what_a_leader_answers_about_epochs_is_what_it_can_tell() -> None:
    def asked(epoch: int, end: int) -> str:
        return made(events.EpochAnswered, 1, "t", 0, 2, 3, epoch, end).sentence().partition("ends: ")[2]

    assert [asked(2, 7), asked(-1, 7), asked(-1, -1)] == ["epoch 2 ends at 7", "it ends at 7", "b2 does not know"]


def test_a_committed_offset_of_0_is_a_former_offset_but_none_is_not() -> None:
    def committed(former: int) -> str:
        return made(events.OffsetCommitted, 1, "g", "t", 0, 7, former).sentence()

    assert committed(-1) == "the committed offset of group g for t-0 is now 7 on b1"
    assert committed(0) == "the committed offset of group g for t-0 is now 7 (it was 0) on b1"
    assert " is now 7 (it was 0) on b1: the transaction " in made(events.OffsetMaterialized, 1, "g", "t", 0, 7, 0, 13).sentence()


def test_zookeeper_and_not_the_controller_refuses_a_registration() -> None:
    told: list[tuple] = []
    run = cluster(told, "2.7")
    run.do(acts.Kill(2))
    run.run_until(run.now + SECOND)
    run.do(acts.Start(2))
    run.run_until(run.now + 10 * SECOND)
    assert said(told, events.RegistrationRefused)[0].startswith("ZooKeeper refused to register b2: NODE_EXISTS")


@pytest.mark.parametrize(
    ("to_offset", "acknowledged", "read", "sentence"),
    [
        (8, 1, 0, "offset 7 of t-0 (epoch 2) was acknowledged to the producer after it was lost"),
        (9, 0, 2, "offsets 7–8 of t-0 (epoch 2) were read by a consumer after they were lost"),
    ],
)
def test_lost_records_that_are_seen_later(to_offset: int, acknowledged: int, read: int, sentence: str) -> None:
    assert made(events.LostRecordsSeen, "t", 0, 2, 7, to_offset, acknowledged, read).sentence() == sentence


@pytest.mark.parametrize(
    ("acks", "sentence"),
    [
        (0, "p sent 2 records to t-0 and expects no response (acks=0)"),
        (1, "p received the acknowledgment for offsets 7–8 of t-0 after 5ms (acks=1, attempt 3)"),
        (-1, "p received the acknowledgment for offsets 7–8 of t-0 after 5ms (acks=all, attempt 3)"),
    ],
)
def test_a_producer_that_asks_for_no_acknowledgement_gets_none(acks: int, sentence: str) -> None:
    assert made(events.ProduceAcked, "p", "t", 0, 7, 9, 2, acks, 5_000, 3).sentence() == sentence


@pytest.mark.parametrize(
    ("isr", "why"),
    [((1,), ", because the ISR [1] is smaller than min.insync.replicas (2)"), ((1, 2), "")],
)
def test_a_leader_with_enough_replicas_is_not_said_to_lack_them(isr: tuple[int, ...], why: str) -> None:
    """NOT_ENOUGH_REPLICAS also stands for a verification of a transactional batch that can be tried again (KIP-890)."""
    sentence = made(events.AppendRefused, 1, "t", 0, "p", 2, "NOT_ENOUGH_REPLICAS", isr, 2).sentence()
    assert sentence == f"b1 refused 2 records from p for t-0: NOT_ENOUGH_REPLICAS{why}"


def test_every_kind_says_what_it_said() -> None:
    """`python -m tests.core.kafka.sentence_samples` writes the samples again. Read the difference."""
    assert sentence_samples.text() == sentence_samples.FILE.read_text(encoding="utf-8")


def test_no_sentence_names_releases() -> None:
    """An event does not contain its release, so its sentence must be true under every release with this event."""
    texts = sentence_samples.FILE.read_text(encoding="utf-8").splitlines()
    assert not [text for text in texts if re.search(r"\b(?:before|since|until|from|to) \d+\.\d|\bas of now\b", text)]


@pytest.mark.parametrize(("release", "halts"), [("1.1", False), ("3.3", True), ("4.1", False)])
def test_a_failed_directory_is_not_said_to_leave_the_broker_running(release: str, halts: bool) -> None:
    """Some releases end the process even if another directory works."""
    told: list[tuple] = []
    run = cluster(told, release, log_dirs=2)
    run.run_until(SECOND)
    run.do(acts.FailDir(1, 1))
    assert [each.startswith("log directory 1 of b1 failed, which took") for each in said(told, events.LogDirFailed)] == [True]
    stopped = said(told, events.BrokerStopped)
    assert bool(stopped) == halts
    assert all(each.startswith("b1 halted: it cannot run without the failed log directory") for each in stopped)


def test_a_power_loss_is_not_said_to_lose_what_reached_the_disk() -> None:
    told: list[tuple] = []
    run = cluster(told)
    run.do(acts.Produce("t", 5))
    run.run_until(SECOND)
    run.do(acts.PowerLoss(2, unflushed="kept"))
    assert not said(told, events.UnflushedLost)
    assert said(told, events.BrokerStopped) == ["b2 lost power; records that were not flushed can be lost"]


def test_jitter_only_adds_to_the_latency() -> None:
    sentence = made(events.LinkChanged, "b1", "b2", 20_000, 5_000, 0).sentence()
    assert sentence == "the link b1 → b2 now has a latency of 20ms plus up to 5ms of jitter"


def test_a_batch_that_was_not_sent_does_not_wait_for_a_response() -> None:
    def waiting(attempt: int) -> str:
        return made(events.ProduceWaiting, "app", "t", 0, 3, -1, attempt, 1_200_000).sentence()

    assert waiting(0) == "app has waited 1.2s to send 3 records to t-0 (acks=all)"
    assert waiting(1) == "app has waited 1.2s for a response to 3 records for t-0 (acks=all, attempt 1)"


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("b3 b4 has no znode any more", "b3 and b4 no longer have a znode"),
        ("b1 b2 b3 is back", "b1, b2, and b3 are back"),
        ("b3 is back", "b3 is back"),
        ("b3 fenced", "b3 was fenced"),
        ("the move of t-0 is given up", "the move of t-0 was cancelled"),
        ("new controller", "new controller"),
    ],
)
def test_a_reason_of_the_log_reads_as_a_sentence(reason: str, words: str) -> None:
    assert (
        made(events.PartitionOffline, "t", 0, 1, 2, (1,), reason)
        .sentence()
        .startswith(f"t-0 is offline ({words}): no member of the ISR [1] can lead, ")
    )
