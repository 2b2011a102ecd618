"""A copy of a watched cluster at one moment: what was seen is in it, and what was not seen is told, not invented."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import attrs
import pytest

from core.kafka.release import CURRENT
from core.kafka.topic_spec import LogSpec, PartitionSpec, TopicSpec
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from scenarios.errors import InputError
from scenarios.language.script import load_script
from scenarios.live.facts import LiveBroker, LivePartition, LiveTopic
from scenarios.live.read_cluster import Metadata
from scenarios.live.watch import observed_header
from scenarios.live.watched_moment import import_watched
from scenarios.live.watcher import Watcher
from scenarios.logs.log_header import make_header
from scenarios.logs.log_writer import LogWriter
from tui.arguments.live import add_live_options
from tui.cli import main
from tui.commands.play import add_target_options, target_of

SECOND: Final = 1_000_000
IDS: Final = {"orders": "AAAAAAAAAAAAAAAAAAAAAQ", "audit": "AAAAAAAAAAAAAAAAAAAAAg", "jobs": "AAAAAAAAAAAAAAAAAAAAAw"}


def at_offset(broker: int, leo: int) -> LogSpec:
    return LogSpec(broker, leo, min(leo, 90), epochs=((0, 0), (2, 40)) if leo > 40 else ((0, 0),))


SPEC: Final = ClusterSpec(
    tuple(BrokerSpec(broker, rack) for broker, rack in ((1, "a"), (2, "b"), (3, "c"), (4, None))),
    (
        TopicSpec(
            "orders",
            3,
            3,
            (
                PartitionSpec((1, 2, 3), (1, 2, 3), 1, leader_epoch=2, logs=(at_offset(1, 100), at_offset(2, 95), at_offset(3, 90))),
                PartitionSpec((2, 3, 4), (2, 3), 2, leader_epoch=2, logs=(at_offset(2, 90), at_offset(3, 90), at_offset(4, 30))),
            ),
            (("min.insync.replicas", "2"),),
            IDS["orders"],
        ),
        TopicSpec("audit", 1, 1, (PartitionSpec((1,), (1,), 1),), (("retention.ms", "60000"),), IDS["audit"]),
    ),
    settings=(("replica.lag.time.max.ms", 4_000),),
    controllers=("b1", "b2", "b3"),
    controller="b1",
)
"""The cluster when the watch begins."""


def row(leader: int, epoch: int, replicas: tuple[int, ...], isr: tuple[int, ...], elr: tuple[int, ...] = ()) -> LivePartition:
    return LivePartition(leader, epoch, replicas, isr, elr, ())


def reading(alive: tuple[int, ...], ids: dict[str, str] = IDS, **topics: list[LivePartition]) -> Metadata:
    return Metadata(
        {broker: LiveBroker(broker, "h", 1) for broker in alive},
        1,
        {name: LiveTopic(name, ids[name], dict(enumerate(rows))) for name, rows in topics.items()},
    )


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A watch that ends after 10 s. Broker 1 goes after 2 s, broker 2 after 4 s; at 6 s, `jobs` appears and `audit` is another topic."""
    path = tmp_path_factory.mktemp("watched") / "tonight.jsonl"
    header = observed_header(SPEC, CURRENT, "kafka:9092", SECOND, datetime(2026, 1, 31, 12, tzinfo=UTC))
    audit = [row(1, 0, (1,), (1,))]
    with LogWriter(path, header) as writer:
        seen = Watcher(frozenset((1, 2, 3, 4)), True, frozenset((1, 2, 3, 4)), writer)
        orders = [row(1, 2, (1, 2, 3), (1, 2, 3)), row(2, 2, (2, 3, 4), (2, 3))]
        seen.see(reading((1, 2, 3, 4), orders=orders, audit=audit), 900_000, SECOND)
        orders = [row(2, 3, (1, 2, 3), (3, 2)), orders[1]]
        audit = [row(-1, 1, (1,), (1,))]
        seen.see(reading((2, 3, 4), orders=orders, audit=audit), 2 * SECOND, 2 * SECOND)
        orders = [row(3, 4, (1, 2, 3), (3,), (2,)), row(3, 3, (2, 3, 4), (3,), (2,))]
        seen.see(reading((3, 4), orders=orders, audit=audit), 4 * SECOND, 4 * SECOND)
        ids = {**IDS, "audit": "AAAAAAAAAAAAAAAAAAAABA"}
        new = [row(3, 0, (3,), (3,))]
        seen.see(reading((3, 4), ids, orders=orders, audit=new, jobs=new), 6 * SECOND, 6 * SECOND)
        writer.close(10 * SECOND)
    return path


def partition(spec: ClusterSpec, number: int) -> PartitionSpec:
    return next(topic for topic in spec.topics if topic.name == "orders").assignment[number]


@pytest.mark.parametrize("moment", ["0s", "1s", "3s", "5s", None])
def test_the_copy_is_described_as_the_watched_cluster(
    moment: str | None, log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script, at = tmp_path / "mine.yaml", [] if moment is None else ["--at", moment]
    assert main(["import", str(log), *at, "-o", str(script)]) == 0
    capsys.readouterr()
    assert main(["describe", str(log), *at]) == 0
    watched = capsys.readouterr().out
    assert main(["describe", str(script), "--at", "0s"]) == 0
    assert capsys.readouterr().out == watched
    assert "Topic: orders\t" in watched
    assert load_script(script).releases == (CURRENT.name,)


def test_leaders_epochs_brokers_and_what_the_header_knows(log: Path) -> None:
    imported = import_watched(str(log), 5 * SECOND)
    spec = imported.scenario.spec
    assert spec.brokers == tuple(attrs.evolve(broker, up=broker.id in (3, 4)) for broker in SPEC.brokers)
    assert (spec.settings, spec.controllers, spec.controller) == (SPEC.settings, SPEC.controllers, "")
    first, second = partition(spec, 0), partition(spec, 1)
    assert (first.leader, first.leader_epoch, first.isr, first.elr) == (3, 4, (3,), (2,))
    # What was committed at the beginning is in the ISR and the ELR; a replica that was behind then keeps its log end.
    assert {each.broker: each.leo for each in first.logs} == {1: 89, 2: 90, 3: 90}
    assert {each.broker: each.leo for each in second.logs} == {2: 90, 3: 90, 4: 30}
    assert first.logs[2].epochs == ((0, 0), (2, 40))
    assert imported.notes[0] == imported.scenario.about
    assert imported.notes[0].startswith(
        "The cluster kafka:9092 as it was seen 5s after the watch began (2026-01-31T12:00:05Z), from tonight.jsonl."
    )
    assert "brokers 1, 2 are down at the start: not registered, or fenced" in imported.notes
    unknown = [note for note in imported.notes if note.startswith("unknown: ")]
    assert [note.split(";")[0].removeprefix("unknown: ") for note in unknown] == [
        "offsets since the watch began", "settings and the active controller since the watch began", "groups, transactions, and clients",
    ]  # fmt: skip
    assert import_watched(str(log), 1_500_000).scenario.spec.controller == "b1"
    cluster = Cluster(spec, CURRENT)
    cluster.run_until(20 * SECOND)
    assert {str(each.tp): each.leader for each in cluster.view().partitions} == {"orders-0": 3, "orders-1": 3, "audit-0": -1}


def test_topics_that_came_later_have_nothing_from_the_header(log: Path) -> None:
    imported = import_watched(str(log), None)
    topics = {topic.name: topic for topic in imported.scenario.spec.topics}
    assert topics["audit"].config == ()
    assert topics["audit"].topic_id == "AAAAAAAAAAAAAAAAAAAABA"
    assert topics["orders"].config == SPEC.topics[0].config
    assert imported.notes[-1].endswith("the copy has none: audit, jobs")
    before = {topic.name: topic for topic in import_watched(str(log), 5 * SECOND).scenario.spec.topics}
    assert before["audit"].config == SPEC.topics[1].config


def test_play_explore_and_ask_take_the_same_copy(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    add_target_options(parser)
    add_live_options(parser)
    copy = import_watched(str(log), 3 * SECOND)
    target = target_of(parser.parse_args([str(log), "--at", "3s"]))
    assert (target.spec, target.release, target.old, target.notes) == (copy.scenario.spec, CURRENT, None, copy.notes)
    assert target_of(parser.parse_args([str(log), "--at", "3s", "--release", "4.0"])).release.name == "4.0"
    with pytest.raises(InputError, match="--read-only"):
        target_of(parser.parse_args([str(log), "--read-only"]))
    assert main(["ask", str(log), "may-i-stop", "3", "--at", "3s"]) == 0
    printed = capsys.readouterr()
    assert f"isrlab play {log} --at 3s, then press d" in printed.out
    assert "unknown: offsets since the watch began" in printed.err
    assert main(["explore", str(log), "--from", "3s", "--goal", "offline > 0", "--at-most", "0"]) in (0, 1)
    assert "unknown: offsets since the watch began" in capsys.readouterr().err


def test_bad_moments_and_other_sources(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    simulated = tmp_path / "simulated.jsonl"
    with LogWriter(simulated, make_header(SPEC, CURRENT, 1, None)) as writer:
        writer.close(0)
    text = tmp_path / "mine.txt"
    text.write_text(
        "Topic: a\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: \n\tTopic: a\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n"
    )
    for words, message in (
        (["import", str(log), "--at", "11s"], "tonight.jsonl: 11s is past the end of this log"),
        (["ask", str(log), "--at", "11s"], "which is 10s long"),
        (["explore", str(log), "--from", "11s", "--goal", "offline > 0"], "11s is past the end of this log"),
        (["import", str(log), "--at", "soon"], "--at: "),
        (["import", str(log), "--groups", str(text)], "--groups: needs the output of kafka-topics"),
        (["import", str(simulated)], "'isrlab play LOG --at TIME' opens a session at a moment"),
        (["import", str(text), "--at", "1s"], "--at: needs an event log that 'isrlab watch' wrote"),
    ):
        assert main(words) == 2, words
        assert message in capsys.readouterr().err, words


def test_a_log_without_an_end_ends_with_its_last_event(log: Path, tmp_path: Path) -> None:
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))
    imported = import_watched(str(torn), None)
    assert "6s after the watch began" in imported.notes[0]
    assert "the log has no end line" in imported.notes[1]
    with pytest.raises(InputError, match="which is 6s long"):
        import_watched(str(torn), 7 * SECOND)
