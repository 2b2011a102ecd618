"""All mistakes of a script are reported together: each at its place, in the order of lines, and without consequences of other mistakes."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from scenarios.errors import MAX_SHOWN, ScriptMistakes
from scenarios.language.cluster import cluster_from_data
from scenarios.language.nodes import MAX_MISTAKES, shortened
from scenarios.language.script import read_script
from tui.cli import main

SCRIPT = """\
scenario: many words
about: [1]
seed: -3
releases: ["4.1", "9.9"]
cluster:
  brokers: [{id: 1, rak: a}, 2, 2, x]
  startup: 2 parsecs
  topics:
    orders: {partitions: many, config: {retention.mss: 5, min.insync.replicas: two}}
    payments: {replicas: [[1, 1], [1, 9]]}
  settings: {min.insync.replica: 2, replica.lag.time.max.ms: soon}
  network: {loss: 100%, latency: 5}
timelime: []
timeline:
  - at: 1s
    kil: 2
  - at: later
    produce: {topic: orders, record: 5, acks: 7}
  - until: lost = 0
    within: x
  - set: {min.insync.replicas: two, unclean.leader.election.enabled: true}
  - 5
expect:
  - lost == 0 and
  - {losst: 0, orders-0: {leeder: 1}}
without: [maximal]
"""

EXPECTED = """\
1:11: scenario: 'many words' is not a scenario name
2:8: about: expected a single value, not a list
3:7: seed: -3 is out of range
4:19: releases[2]: unknown release '9.9'
6:21: cluster.brokers[1]: unknown word 'rak'; did you mean 'rack'?
6:33: cluster.brokers[3]: broker 2 appears twice
6:36: cluster.brokers[4]: 'x' is not a broker
7:12: cluster.startup: '2 parsecs' is not a duration
9:26: cluster.topics.orders.partitions: 'many' is not a whole number
9:41: cluster.topics.orders.config: unknown topic setting 'retention.mss'; did you mean 'retention.ms'?
9:80: cluster.topics.orders.config.min.insync.replicas: min.insync.replicas takes a whole number, not 'two'
11:14: cluster.settings: unknown setting 'min.insync.replica'; did you mean 'min.insync.replicas'?
11:62: cluster.settings.replica.lag.time.max.ms: replica.lag.time.max.ms takes a whole number, not 'soon'
12:19: cluster.network.loss: '100%' is too large; write at most 99%
12:34: cluster.network.latency: '5' is not a duration
13:1: script: unknown word 'timelime'; did you mean 'timeline'?
16:5: timeline[1]: unknown word 'kil'; did you mean 'kill'?
17:9: timeline[2].at: 'later' is not a duration
18:30: timeline[2].produce: unknown word 'record'; did you mean 'records'?
18:47: timeline[2].produce.acks: unknown word '7'
""".splitlines()


def test_all_mistakes_of_a_script_are_reported_in_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(SCRIPT, encoding="utf-8")
    assert main(["run", str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert len(lines) == MAX_SHOWN + 1
    for line, expected in zip(lines, EXPECTED, strict=False):
        assert line.startswith(f"isrlab: {path}:{expected}"), line
    assert lines[-1] == f"isrlab: {path}: and 8 more errors"
    with pytest.raises(ScriptMistakes) as caught:
        read_script(SCRIPT, "w")
    assert [str(wrong).split("; ")[0] for wrong in caught.value.mistakes[MAX_SHOWN:]] == [
        "w:19:17: timeline[3].until: '=' is not a comparison (in: lost = 0)",
        "w:20:13: timeline[3].within: 'x' is not a duration",
        "w:21:32: timeline[4].set.min.insync.replicas: min.insync.replicas takes a whole number, not 'two'",
        "w:21:37: timeline[4].set: unknown setting 'unclean.leader.election.enabled'",
        "w:22:5: timeline[5]: expected a mapping, not '5'",
        "w:24:18: expect[1]: expected a value, not the end (in: lost == 0 and)",
        "w:25:6: expect[2]: unknown word 'losst'",
        "w:25:27: expect[2].orders-0: a partition has no 'leeder'",
        "w:26:11: without[1]: unknown guard 'maximal'",
    ]


def test_no_mistake_is_a_consequence_of_another() -> None:
    """Topics, brokers, and clients that could not be read are not reported again where they are used."""
    with pytest.raises(ScriptMistakes) as caught:
        read_script(
            "cluster: {brokers: x, topics: {orders: {partitions: 1}}}\ntimeline:\n"
            "  - kill: 7\n  - produce: {topic: orders, records: many, producer: app}\n  - until: acked(app) == 1 and hw(orders-4) == 2\n",
            "w",
        )
    assert [str(wrong).split(";")[0] for wrong in caught.value.mistakes] == [
        "w:1:20: cluster.brokers: 'x' is not a whole number",
        "w:4:39: timeline[2].produce.records: 'many' is not a whole number",
    ]


def test_unknown_names_are_all_reported() -> None:
    with pytest.raises(ScriptMistakes) as caught:
        read_script(
            "cluster: {brokers: 3, topics: {orders: {partitions: 1}}}\ntimeline:\n  - kill: 7\n  - produce: {topic: oders, records: 1}\n"
            "  - at: 5s\n    start: [8, 9]\n  - at: 4s\n    heal: all\nexpect: [hw(orders-9) == 1, leader(oders-0) == 2]\n",
            "w",
        )
    assert [(wrong.place.line, wrong.problem.split(" (in")[0]) for wrong in caught.value.mistakes] == [
        (3, "unknown broker 7"),
        (4, "unknown topic 'oders'"),
        (6, "unknown broker 8"),
        (6, "unknown broker 9"),
        (7, "this time is earlier than the time of the previous step"),
        (9, "orders-9 does not exist"),
        (9, "unknown topic 'oders'"),
    ]


def test_a_script_of_nothing_but_mistakes_is_not_read_to_its_end() -> None:
    started = time.process_time()
    with pytest.raises(ScriptMistakes) as caught:
        read_script("cluster: {brokers: 3}\ntimeline:\n" + "  - kil: 1\n" * 50_000, "w")
    assert time.process_time() - started < 8
    assert len(caught.value.mistakes) == MAX_MISTAKES
    assert caught.value.lines == (
        "w:3:5: timeline[1]: unknown word 'kil'; did you mean 'kill'? (also in lines 4, 5, 6, 7, 8, and 994 more)",
        "w: the rest of the file was not read, because it has too many errors",
    )


def test_many_different_mistakes_are_counted() -> None:
    with pytest.raises(ScriptMistakes) as caught:
        read_script("cluster: {brokers: 3}\ntimeline:\n" + "".join(f"  - kil{number}: 1\n" for number in range(50_000)), "w")
    assert caught.value.lines[-1] == f"w: and at least {MAX_MISTAKES - MAX_SHOWN} more errors"


def test_one_mistyped_name_is_told_once() -> None:
    steps = "  - produce: {topic: oders, records: 1}\n" * 56
    with pytest.raises(ScriptMistakes) as caught:
        read_script("cluster: {brokers: 3, topics: {orders: {partitions: 1}}}\ntimeline:\n" + steps, "w")
    (line,) = caught.value.lines
    assert line.endswith("unknown topic 'oders'; did you mean 'orders'? (also in lines 4, 5, 6, 7, 8, and 50 more)")


def test_one_contradiction_between_settings_of_all_clients_is_told_once() -> None:
    steps = "".join(f"  - produce: {{topic: orders, records: 1, producer: p{number}, acks: all}}\n" for number in range(56))
    clients = "clients: {enable.idempotence: true, retries: 0}"
    with pytest.raises(ScriptMistakes) as caught:
        read_script("cluster: {brokers: 3, topics: {orders: {partitions: 1}}, " + clients + "}\ntimeline:\n" + steps, "w")
    (line,) = caught.value.lines
    assert "Must set retries to non-zero" in line


def test_a_logs_header_reports_its_cluster_the_same_way() -> None:
    with pytest.raises(ScriptMistakes) as caught:
        cluster_from_data({"brokers": [1, "x"], "pace": ["fast"], "network": {"loss": None, "latency": True}}, "s.jsonl")
    assert {(wrong.place.line, wrong.place.column) for wrong in caught.value.mistakes} == {(1, 1)}, "the line of the header"
    assert [(wrong.field, wrong.problem) for wrong in caught.value.mistakes] == [
        ("cluster.brokers[2]", "'x' is not a broker"),
        ("cluster.network.latency", "'true' is not a duration"),
        ("cluster.pace", "expected a single value, not a list"),
    ]


CONSTANTS = """\
cluster: {brokers: 3, topics: {orders: {partitions: 2, replication-factor: 3}}}
timeline:
  - load: {topic: orders, rate: 100, every: 0}
  - set: {min.insync.replicas: 0}
  - set: {name: min.insync.replicas, value: 0}
  - set: {name: replica.lag.time.max.ms, value: soon, force: true}
  - set: {name: replica.lag.time.max.ms, value: 5, topic: orders}
  - set: {name: min.insync.replicas, value: 1, topic: orders, broker: 1}
  - clock: {node: 1, drift: -100%}
  - clock: {node: 1, drift: 50.0001%}
  - slow-disk: {broker: 1, delay: 11s}
  - produce: {topic: orders, records: 1, config: {retries: x, compression.tipe: lz4}}
  - load: {topic: orders, rate: 1, config: {delivery.timeout.ms: 1}}
  - load: {topic: orders, rate: 1, idempotence: true, config: {retries: 0}}
  - load: {topic: orders, rate: 1, idempotence: true, acks: 1}
  - consume: {topic: orders, config: {retries: 1}}
"""

CONSTANTS_EXPECTED = """\
3:45: timeline[1].load.every: '0' is out of range; write 1us or more
4:32: timeline[2].set.min.insync.replicas: min.insync.replicas takes a number from 1 to 2147483647, not 0
5:45: timeline[3].set.value: min.insync.replicas takes a number from 1 to 2147483647, not 0
6:49: timeline[4].set.value: replica.lag.time.max.ms takes a whole number, not 'soon'
7:49: timeline[5].set.value: replica.lag.time.max.ms is not a topic setting; set it for a broker or for the whole cluster
8:71: timeline[6].set.broker: the act has both a topic and a broker; a setting applies to a topic or to a broker, not to both
9:29: timeline[7].clock.drift: '-100%' is out of range; write -50% to 50%
10:29: timeline[8].clock.drift: '50.0001%' is out of range; write -50% to 50%
11:35: timeline[9].slow-disk.delay: '11s' is out of range; write 0us to 10s
12:60: timeline[10].produce.config.retries: retries takes a whole number, not 'x'
12:63: timeline[10].produce.config: unknown producer setting 'compression.tipe'
13:44: timeline[11].load.config: delivery.timeout.ms should be equal to or larger than linger.ms + request.timeout.ms
14:63: timeline[12].load.config: Must set retries to non-zero when using the idempotent producer.
15:61: timeline[13].load.acks: Must set acks to all in order to use the idempotent producer. Otherwise we cannot guarantee idempotence.
16:39: timeline[14].consume.config: retries is a setting of producers, not of consumers
"""


def test_constants_that_no_cluster_takes_are_found_before_anything_runs() -> None:
    with pytest.raises(ScriptMistakes) as caught:
        read_script(CONSTANTS, "s")
    lines = [str(one).removeprefix("s:") for one in caught.value.mistakes]
    for told, expected in zip(lines, CONSTANTS_EXPECTED.splitlines(), strict=True):
        assert told == expected or told.startswith(f"{expected}; "), told


def test_settings_that_go_together_under_one_of_its_releases_are_left_to_the_run() -> None:
    act = "{topic: orders, rate: 1, config: {delivery.timeout.ms: 1}}"
    cluster = "cluster: {brokers: 1, topics: {orders: {partitions: 1, replication-factor: 1}}}"
    assert read_script(f"{cluster}\nreleases: ['2.0', '4.1']\ntimeline: [{{load: {act}}}]\n", "s").steps


@pytest.mark.parametrize(
    ("text", "limit", "line"),
    [
        ("a  b\n c", 40, "a b c"),
        ("x" * 40, 40, "x" * 40),
        ("x" * 41, 40, "x" * 39 + "…"),
        ("ab cd", 5, "ab cd"),
        ("ab cde", 5, "ab c…"),
        (" " * 1_000 + "end", 40, "end"),
    ],
)
def test_a_message_quotes_one_short_line(text: str, limit: int, line: str) -> None:
    assert shortened(text, limit) == line
