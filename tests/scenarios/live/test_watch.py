"""Watching a cluster: what the log says is what the controller's own log says, and nothing grows while nothing happens."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs
import pytest

from core.kafka.events import ClusterObserved, EventTuple, IsrExpanded, IsrShrunk, LeaderElected, PartitionChanged, decode, explain
from core.kafka.ids import TopicPartition
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.events import causes_of, kind_of, seq_of, time_of
from scenarios.comparison.comparison_lines import comparison_lines
from scenarios.comparison.log_comparison import compare_logs
from scenarios.comparison.log_history import Change, Leadership, LogHistory, read_history
from scenarios.live.facts import LiveBroker, LivePartition, LiveTopic
from scenarios.live.network.client_properties import ClientProperties
from scenarios.live.network.cluster_client import ClusterClient
from scenarios.live.network.errors import LiveError
from scenarios.live.read_cluster import Metadata
from scenarios.live.watch import Watch, begin_watch, observed_header
from scenarios.live.watcher import Watcher
from scenarios.logs.log_reader import LogReader
from scenarios.logs.log_writer import LogWriter
from scenarios.releases import release_named
from tests.scenarios.live.recording import FakeBrokers, load
from tui.cli import main

SPEC = ClusterSpec(tuple(BrokerSpec(broker) for broker in (1, 2, 3)))
SECOND = 1_000_000


def scripted(times: list[tuple[float, float]]) -> Iterator[float]:
    """The readings of the clock: the beginning, and for each reading of the cluster when it was asked, when it answered, and after that."""
    yield 0.0
    for asked, arrived in times:
        yield from (asked, arrived, arrived)
    yield times[-1][1]


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[list[Any]]]:
    """The log of the recorded watch, and the changes in the controller's log."""
    recording = load("watch-4.3.1")
    times = json.loads(recording.texts["times"])
    path = tmp_path_factory.mktemp("watch") / "watched.jsonl"
    left = [len(times)]

    def wait(seconds: float) -> bool:
        assert seconds >= 0
        left[0] -= 1
        return not left[0]

    header = observed_header(SPEC, release_named("4.3"), "localhost:9092", SECOND // 2, datetime(2026, 1, 31, 12, tzinfo=UTC))
    with FakeBrokers(recording) as brokers, LogWriter(path, header) as writer:
        watch = begin_watch(
            SPEC,
            kraft=True,
            connect=lambda: ClusterClient(brokers.bootstrap, ClientProperties()),
            every_us=SECOND // 2,
            sink=writer,
            tell=pytest.fail,
        )
        watch.clock, watch.wait = scripted(times).__next__, wait
        watch.run()
    return path, json.loads(recording.texts["changes"])


def test_elections_and_isr_changes_are_those_in_the_controllers_log(watched: tuple[Path, list[list[Any]]]) -> None:
    path, changes = watched
    events = list(LogReader(path))
    by_seq = {seq_of(event): event for event in events}
    assert len(changes) == 6
    for moment, name, leader, isr in changes:
        matching = []
        for event in events:
            change = decode(event)
            if (
                isinstance(change, LeaderElected if leader is not None else IsrShrunk | IsrExpanded)
                and change.tp == name
                and set(change.isr) == set(isr)
            ):  # type: ignore[arg-type]
                matching.append(event)
        (found,) = matching
        (cause,) = causes_of(found)
        observed = decode(by_seq[cause])
        assert isinstance(observed, ClusterObserved)
        # A broker learns of a change a moment after the controller.
        assert observed.since_us / SECOND - 0.3 <= moment <= time_of(found) / SECOND, explain(found)
        assert time_of(found) - observed.since_us <= 0.6 * SECOND
        assert leader is None or decode(found).leader == leader  # type: ignore[attr-defined]
    elections = [event for event in events if kind_of(event) in (LeaderElected.kind, IsrShrunk.kind, IsrExpanded.kind)]
    assert len(elections) == len(changes)
    assert next(explain(event) for event in events if kind_of(event) in ("broker-fenced", "broker-unfenced")).startswith(
        "the controller fenced b2"
    )


def test_the_log_is_read_as_others_are(watched: tuple[Path, list[list[Any]]], capsys: pytest.CaptureFixture[str]) -> None:
    path, _ = watched
    assert main(["log", "check", str(path)]) == 0
    capsys.readouterr()
    assert main(["describe", str(path), "--at", "6s"]) == 0
    assert "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 2,1,3\tIsr: 1,3\t" in capsys.readouterr().out
    assert main(["describe", str(path), "--at", "4s", "--under-replicated-partitions"]) == 0
    assert capsys.readouterr().out == ""
    header = json.loads(path.read_text("utf-8").split("\n", 1)[0])
    assert header["observed"] == {"servers": "localhost:9092", "began": "2026-01-31T12:00:00Z", "every_us": 500_000}


@pytest.mark.parametrize("words", [["replay"], ["share"], ["groups", "--list"], ["trace", "--record", "orders-0@1"], ["audit"]])
def test_what_needs_a_simulation_refuses_it(
    words: list[str], watched: tuple[Path, list[list[Any]]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([words[0], str(watched[0]), *words[1:]]) == 2
    assert "this log is of a watched cluster" in capsys.readouterr().err


def test_it_agrees_with_a_log_of_what_the_controller_did(watched: tuple[Path, list[list[Any]]], capsys: pytest.CaptureFixture[str]) -> None:
    path, changes = watched
    seen = read_history(LogReader(path))
    did = LogHistory("controller", seen.release, 0, False, seen.end, brokers=seen.brokers)
    did.partitions = {tp: states[:2] for tp, states in seen.partitions.items()}
    for moment, name, leader, isr in changes:
        states, time = did.partitions[TopicPartition.parse(name)], int(moment * SECOND)
        before = states[-1]
        assert isinstance(before.state, Leadership)
        new = Leadership(before.state.leader if leader is None else leader, tuple(sorted(isr)))
        states.append(Change(time, time, new, before.epoch + (leader is not None)))
    # A broker learns of a change a moment after the controller.
    compared = compare_logs(did, seen, int(0.3 * SECOND), (0, 0))
    assert compared.agree, list(comparison_lines(compared))
    assert sum(each.matched for each in compared.partitions.values()) == len(seen.partitions) + len(changes)
    assert not compare_logs(did, seen, 0, (0, SECOND)).agree
    capsys.readouterr()
    assert main(["compare", str(path), str(path)]) == 0
    assert "watched.jsonl: observed every 500ms, release 4.3" in capsys.readouterr().out


# --- the watcher alone -----------------------------------------------------------------------------------------------


def partition(leader: int, *isr: int, epoch: int = 0, replicas: tuple[int, ...] = (1, 2, 3)) -> LivePartition:
    return LivePartition(leader, epoch, replicas, isr)


def metadata(alive: tuple[int, ...] = (1, 2, 3), **topics: LivePartition | list[LivePartition]) -> Metadata:
    rows = {name: given if isinstance(given, list) else [given] for name, given in topics.items()}
    return Metadata(
        {broker: LiveBroker(broker, "h", 1) for broker in alive},
        1,
        {name: LiveTopic(name, f"id-{name}", dict(enumerate(given))) for name, given in rows.items()},
    )


def watcher(*, kraft: bool = True) -> tuple[Watcher, list[EventTuple]]:
    events: list[EventTuple] = []
    return Watcher(frozenset({1, 2, 3}), kraft, frozenset({1, 2, 3}), events.append), events


def told(events: list[EventTuple]) -> list[str]:
    """Return the events without observations and states, and forget them."""
    found = [explain(event) for event in events if kind_of(event) not in (ClusterObserved.kind, PartitionChanged.kind)]
    events.clear()
    return found


def test_nothing_new_is_no_event() -> None:
    watch, events = watcher()
    assert watch.see(metadata(a=partition(1, 1, 2, 3)), 0, 10) == 2
    count = len(events)
    for turn in range(1, 1000):
        assert watch.see(metadata(a=partition(1, 1, 2, 3)), turn * SECOND, turn * SECOND + 10) == 0
    assert len(events) == count == watch.journal.seq
    assert watch.see(metadata(a=partition(1, 1, 2)), 1000 * SECOND, 1000 * SECOND + 10) == 2
    assert events[count][4:] == (999 * SECOND,)
    assert [seq_of(event) for event in events] == list(range(1, len(events) + 1))


def test_leaders_isrs_and_brokers() -> None:
    watch, events = watcher()
    watch.see(metadata(a=partition(1, 1, 2, 3)), 0, 0)
    assert told(events) == ["topic a was created: 1 partition, replication factor 3"]
    watch.see(metadata((2, 3), a=partition(2, 2, 3, epoch=1)), 1, 2)
    assert [line.split(";")[0].split(":")[0] for line in told(events)] == [
        "the controller fenced b1, which can no longer lead and leaves every ISR in which it is not the only member", "b2 leads a-0 in epoch 1 after b1",
    ]  # fmt: skip
    watch.see(metadata((3,), a=partition(-1, 2, epoch=2)), 3, 4)
    assert any("a-0 is offline" in line for line in told(events))
    watch.see(metadata((2, 3), a=partition(2, 2, epoch=3)), 5, 6)
    assert any("b2 leads a-0 in epoch 3 after a period without a leader" in line for line in told(events))
    watch.see(metadata((1, 2, 3), a=partition(2, 2, 3, 1, epoch=3)), 7, 8)
    assert told(events) == [
        "b1 is unfenced; it can lead again, and can rejoin an ISR after it has fetched up to the high watermark",
        "b3 and b1 joined the ISR of a-0, which is now [2,3,1]",
    ]
    watch, events = watcher(kraft=False)
    watch.see(metadata((1, 2)), 0, 0)
    assert "znode /brokers/ids/3 was deleted" in told(events)[0]


def test_topics_come_grow_go_and_come_again() -> None:
    watch, events = watcher()
    one = partition(1, 1)
    watch.see(metadata(a=one), 0, 0)
    watch.see(metadata(a=[one, one]), 1, 1)
    again = metadata(a=one)
    again.topics["a"] = attrs.evolve(again.topics["a"], topic_id="other")
    watch.see(again, 2, 2)
    watch.see(metadata(), 3, 3)
    assert [line.split(":")[0].split(",")[0] for line in told(events)] == [
        "topic a was created", "topic a got 1 more partition and now has 2", "topic a was deleted", "topic a was created", "topic a was deleted",
    ]  # fmt: skip


def test_a_broker_that_the_header_does_not_list_is_left_out() -> None:
    watch, events = watcher()
    watch.see(metadata(a=partition(1, 1)), 0, 0)
    told(events)
    moved = partition(9, 9, replicas=(9,))
    assert watch.see(metadata((1, 2, 3, 9), a=moved, b=moved), 1, 1) == 0
    assert watch.left_out.keys() == {9}
    assert watch.topics["a"].partitions[0].leader == 1


def test_an_outage_is_told_once_and_widens_the_times() -> None:
    messages: list[str] = []
    events: list[EventTuple] = []
    turns = [0]
    with FakeBrokers(load("watch-4.3.1")) as brokers:

        def connect() -> ClusterClient:
            if turns[0] in (0, 1, 2):
                raise LiveError("--bootstrap-server: h:1: nothing listens there")
            return ClusterClient(brokers.bootstrap, ClientProperties())

        def wait(_seconds: float) -> bool:
            turns[0] += 1
            return turns[0] > 4

        seen = Watcher(frozenset({1, 2, 3}), True, frozenset({1, 2, 3}), events.append)
        Watch(connect, seen, SECOND, messages.append, clock=lambda: float(turns[0]), wait=wait).run()
    assert messages == ["the cluster does not answer; isrlab goes on asking: h:1: nothing listens there", "the cluster answers again"]
    assert (time_of(events[0]), events[0][4]) == (3 * SECOND, 0)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "watched.jsonl"
    with FakeBrokers(load("4.3.1")) as brokers:
        words = ["watch", "--bootstrap-server", brokers.bootstrap, "--every", "200ms", "--for", "200ms"]
        assert main([*words, "-o", str(path)]) == 0
    printed = capsys.readouterr()
    assert "topic orders was created: 3 partitions, replication factor 3" in printed.out
    assert "the brokers run Kafka 4.3" in printed.err
    reader = LogReader(path)
    assert len(list(reader)) > 10
    assert reader.end is not None
    assert reader.end.t >= 200_000
    for wrong, message in (
        ([*words, "--every", "1ms"], "use at least 200ms"),
        ([*words, "-q"], "nothing would be written"),
    ):
        assert main(wrong) == 2
        assert message in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["watch"])
    assert "the following arguments are required: --bootstrap-server" in capsys.readouterr().err
