"""Clusters of three releases, read from recorded sessions: the same as the text import where both know a field, and as Kafka's tools and disks say.

`make test-live` makes the recordings, and runs the same tests on the new ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import attrs
import pytest

from core.kafka.ids import TopicPartition
from core.kafka.topic_spec import PartitionSpec
from core.lab.cluster import Cluster
from scenarios.describe.parse import parse_describe
from scenarios.groups.parse import parse_groups
from scenarios.language.script import read_script
from scenarios.live.facts import LiveCluster
from scenarios.live.imported import import_live, release_for
from scenarios.live.network.reading_apis import ALLOWED
from scenarios.releases import release_named
from scenarios.running.imported_cluster import as_script, imported_scenario
from tests.scenarios.live.real_cluster import read
from tests.scenarios.live.recording import FakeBrokers, Recording, load
from tui.cli import main

VERSIONS = {"4.3.1": "4.3", "3.9.1": "3.9", "2.8.2": "2.8"}


@attrs.frozen
class Replayed:
    """A recorded cluster that answers on loopback, and what was read from it."""

    recording: Recording
    brokers: FakeBrokers
    live: LiveCluster


@pytest.fixture(scope="module", params=VERSIONS)
def replayed(request: pytest.FixtureRequest) -> Iterator[Replayed]:
    recording = load(request.param)
    with FakeBrokers(recording) as brokers:
        yield Replayed(recording, brokers, read(brokers.bootstrap)[0])


def test_the_release_is_inferred(replayed: Replayed) -> None:
    release, notes = release_for(replayed.live, None)
    assert release.name == replayed.live.release == VERSIONS[replayed.recording.version]
    assert notes[0].startswith(f"the brokers run Kafka {release.name}: ")


def test_only_reading_requests_were_sent(replayed: Replayed) -> None:
    assert {key for _, key in replayed.brokers.asked} <= ALLOWED
    assert replayed.live.requests < 60


def test_what_is_unknown_is_said(replayed: Replayed) -> None:
    """Everything could be read, but for what the release does not tell."""
    assert all("the release does not" in note for note in replayed.live.unknown), replayed.live.unknown
    assert ("fenced brokers" in "".join(replayed.live.unknown)) == (replayed.recording.version != "4.3.1")


@pytest.mark.parametrize("command", ["topics", "groups", "transactions"])
def test_the_output_is_that_of_kafkas_tools(replayed: Replayed, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    done = 0
    for line, text in replayed.recording.texts.items():
        tool, *words = line.split()
        if tool != command:
            continue
        isrlab = ["describe", *words[1:]] if tool == "topics" else [tool, *words]
        assert main([*isrlab, "--bootstrap-server", replayed.brokers.bootstrap]) == 0
        printed = capsys.readouterr().out
        for real, own in replayed.brokers.ports.items():  # the tool prints the port of the coordinator
            printed = printed.replace(f":{own}", f":{real}")
        if "transactional-id" in line:  # it is open for longer now
            printed, text = (re.sub(r"(\t179\d{10} *\t)\d+ *", r"\1", each) for each in (printed, text))
            printed, text = (re.sub(r" +", " ", each) for each in (printed, text))
        assert printed == text, line
        done += 1
    assert done or (command == "transactions" and replayed.recording.version == "2.8.2")


def test_it_equals_the_text_import_where_both_know_a_field(replayed: Replayed) -> None:
    recording, live = replayed.recording, replayed.live
    release = release_named(live.release)
    topics = parse_describe(recording.texts["topics --describe"], "describe.txt")
    groups = parse_groups([(text, line) for line, text in recording.texts.items() if line.startswith("groups --describe")])
    from_text = imported_scenario(topics, groups, release).scenario
    from_network = import_live(live, release).scenario
    assert [attrs.evolve(topic, assignment=()) for topic in from_text.spec.topics] == [
        attrs.evolve(topic, assignment=()) for topic in from_network.spec.topics
    ]

    def known(partition: PartitionSpec) -> PartitionSpec:
        """Return what both know: text has no leader epochs, and no offsets of single replicas but those in the ISR that groups imply."""
        return attrs.evolve(partition, leader_epoch=0, logs=())

    for texts, networks in zip(from_text.spec.topics, from_network.spec.topics, strict=True):
        assert [known(each) for each in texts.assignment] == [known(each) for each in networks.assignment]
        for text_partition, network_partition in zip(texts.assignment, networks.assignment, strict=True):
            leos = {log.broker: log.leo for log in network_partition.logs}
            assert all(leos[log.broker] == log.leo for log in text_partition.logs)
    assert [(broker.id, broker.up) for broker in from_text.spec.brokers] == [(broker.id, broker.up) for broker in from_network.spec.brokers]
    offsets = [
        {group.name: {tp: offset for tp, offset, _ in group.offsets} for group in each.spec.groups} for each in (from_text, from_network)
    ]
    assert offsets[0] == offsets[1]
    joined = [sorted(str(act) for step in each.steps for act in step.acts) for each in (from_text, from_network)]
    assert joined[0] == joined[1]


def test_offsets_and_epochs_are_those_on_the_disks(replayed: Replayed) -> None:
    """Kafka's `leader-epoch-checkpoint` and segments, which no request tells directly."""
    compared = 0
    for topic in replayed.live.topics:
        for number, each in topic.partitions.items():
            name = f"{topic.name}-{number}"
            for broker, end in each.log_ends.items():
                assert end == replayed.recording.disk[str(broker)][name]["leo"], name
                compared += 1
            checkpoint = replayed.recording.disk[str(each.leader)][name]["epochs"]
            assert [list(entry) for entry in each.epochs or ()] == checkpoint, name
    assert compared > 15


def test_the_cluster_is_more_than_the_text_says_and_runs(replayed: Replayed) -> None:
    live = replayed.live
    release = release_named(live.release)
    imported = import_live(live, release)
    spec = imported.scenario.spec
    assert {broker.id: broker.rack for broker in spec.brokers if broker.up} == {1: "a", 2: "b"}
    settings = dict(spec.settings)
    assert (settings["log.retention.ms"], settings["offsets.topic.num.partitions"]) == (360_000_000, 4)
    if live.release == "2.8":
        assert spec.controller in ("b1", "b2")
        assert settings["replica.lag.time.max.ms"] == 4_000
    assert any(topic.assignment[0].leader_epoch for topic in spec.topics)
    if live.release != "2.8":
        assert any(note.startswith("transactions are open: payments-1 (Ongoing: ") for note in imported.notes)
    script = read_script(as_script(imported, release_known=True), "mine.yaml")
    assert (script.spec, script.releases) == (spec, (live.release,))
    cluster = Cluster(spec, release)
    cluster.run_until(20_000_000)
    led = {each.tp: each.leader for each in cluster.view().partitions}
    assert led == {TopicPartition(topic.name, number): each.leader for topic in live.topics for number, each in topic.partitions.items()}
