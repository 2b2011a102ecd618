"""Malformed scripts: each is refused with exit code 2 and one line that names the place, the field, and the remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from scenarios.errors import ScriptError, did_you_mean
from scenarios.language.script import read_script
from tui.cli import main

CLUSTER = "cluster: {brokers: 3, topics: {orders: {partitions: 1}}}\n"

BAD: list[tuple[str, str, str, str]] = [
    # name, script, place (line:column), words of the message
    ("unknown-word", "cluster: {brokers: 3}\ntimline: []\n", "2:1", "unknown word 'timline'; did you mean 'timeline'?"),
    ("duplicate-key", "cluster: {brokers: 3}\ncluster: {brokers: 2}\n", "2:1", "'cluster' appears twice"),
    ("duplicate-broker", "cluster: {brokers: [1, 2, 1]}\n", "1:27", "broker 1 appears twice"),
    ("cycle", "cluster: &c\n  brokers: *c\n", "1:10", "the anchor &c is refused"),
    ("alias", "cluster: {brokers: *x}\n", "1:20", "the alias *x is refused"),
    ("tag", "cluster: !!python/object:os.system {brokers: 3}\n", "1:10", "the tag"),
    ("merge", "cluster: {<<: {brokers: 3}}\n", "1:11", "the merge key << is refused"),
    ("wrong-type", "cluster: {brokers: many}\n", "1:20", "cluster.brokers: 'many' is not a whole number"),
    ("list-for-mapping", "cluster: [1, 2]\n", "1:10", "expected a mapping, not a list"),
    ("mapping-for-value", "cluster: {brokers: 3, startup: {a: 1}}\n", "1:32", "expected a single value, not a mapping"),
    ("huge-number", "cluster: {brokers: 99999999999999999999999999}\n", "1:20", "is out of range; write a whole number from 1 to 1000"),
    ("huge-records", CLUSTER + "timeline:\n  - produce: {topic: orders, records: 1e999}\n", "3:39", "'1e999' is not a whole number"),
    ("negative", CLUSTER + "timeline:\n  - produce: {topic: orders, records: -5}\n", "3:39", "-5 is out of range"),
    ("no-cluster", "scenario: x\n", "1:1", "'cluster' is missing"),
    ("no-mapping", "- a\n- b\n", "1:1", "the script is a list"),
    ("empty", "", "1:1", "the file is empty"),
    ("only-comment", "# nothing\n", "1:1", "the file is empty"),
    ("not-yaml", "cluster: {brokers: 3\ntimeline: []\n", "2:9", "not valid YAML"),
    ("tab", "cluster:\n\tbrokers: 3\n", "2:1", "not valid YAML"),
    ("two-documents", "cluster: {brokers: 3}\n---\ncluster: {brokers: 3}\n", "2:1", "a second YAML document"),
    ("too-deep", "cluster: " + "[" * 40 + "]" * 40 + "\n", "1:34", "levels of nesting"),
    ("key-is-list", "cluster: {[a]: 3}\n", "1:11", "expected a key, not a list"),
    (
        "unknown-setting",
        "cluster: {brokers: 3, settings: {min.insync.replica: 2}}\n",
        "1:34",
        "unknown setting 'min.insync.replica'; did you mean 'min.insync.replicas'?",
    ),
    ("setting-value", "cluster: {brokers: 3, settings: {min.insync.replicas: two}}\n", "1:55", "takes a whole number, not 'two'"),
    (
        "setting-scope",
        "cluster: {brokers: [{id: 1, settings: {broker.session.timeout.ms: 5}}]}\n",
        "1:40",
        "is a setting of the controller",
    ),
    ("topic-config", "cluster: {brokers: 3, topics: {t: {config: {retention.mss: 5}}}}\n", "1:45", "did you mean 'retention.ms'?"),
    ("no-controllers", "cluster: {brokers: 3, controllers: 0}\n", "1:36", "0 is out of range; write a whole number from 1 to "),
    (
        "client-name",
        CLUSTER + "timeline:\n  - produce: {topic: orders, records: 1, producer: 'a b'}\n",
        "3:52",
        "'a b' is not a client name",
    ),
    ("topic-name", "cluster: {brokers: 3, topics: {'a b': {}}}\n", "1:32", "'a b' is not a topic name"),
    (
        "replica-not-there",
        "cluster: {brokers: 3, topics: {t: {replicas: [[1, 2, 7]]}}}\n",
        "1:47",
        "broker 7 is not in the cluster; the brokers are 1, 2, 3",
    ),
    ("replica-twice", "cluster: {brokers: 3, topics: {t: {replicas: [[1, 1]]}}}\n", "1:47", "a broker appears twice among the replicas"),
    (
        "isr-outside",
        "cluster: {brokers: 3, topics: {t: {partitions: [{replicas: [1, 2], isr: [3]}]}}}\n",
        "1:49",
        "in the ISR but not among the replicas",
    ),
    (
        "leader-without-isr",
        "cluster: {brokers: [1, 2, {id: 3, up: false}], topics: {t: {partitions: [{replicas: [1, 2, 3], isr: [], leader: 1}]}}}\n",
        "1:74",
        "the partition has leader 1, which is not in the ISR; the leader of a partition must be in the partition's ISR",
    ),
    (
        "leader-outside-isr",
        "cluster: {brokers: [1, 2, {id: 3, up: false}], topics: {t: {partitions: [{replicas: [1, 2, 3], isr: [1], leader: 2}]}}}\n",
        "1:74",
        "the partition has leader 2, which is not in the ISR; the leader of a partition must be in the partition's ISR",
    ),
    (
        "leader-down-without-isr",
        "cluster: {brokers: [1, 2, {id: 3, up: false}], topics: {t: {partitions: [{replicas: [1, 2, 3], leader: 3}]}}}\n",
        "1:74",
        "the partition has leader 3, which is down and therefore not in the ISR",
    ),
    (
        "elr-in-isr",
        "cluster: {brokers: [1, 2, {id: 3, up: false}], topics: {t: {partitions: [{replicas: [1, 2, 3], isr: [1, 2], leader: "
        "1, elr: [1]}]}}}\n",
        "1:74",
        "broker 1 in both its ISR and its ELR; the ELR lists replicas outside the ISR",
    ),
    (
        "elr-in-isr-of-all",
        "cluster: {brokers: [1, 2, {id: 3, up: false}], topics: {t: {partitions: [{replicas: [1, 2, 3], elr: [2]}]}}}\n",
        "1:74",
        "broker 2 in both its ISR and its ELR",
    ),
    (
        "elr-outside",
        "cluster: {brokers: [1, 2, {id: 3, up: false}], topics: {t: {partitions: [{replicas: [1, 2], isr: [1], elr: [3]}]}}}\n",
        "1:74",
        "broker 3 in its ELR but not among its replicas",
    ),
    (
        "last-elr-outside",
        "cluster: {brokers: [1, 2, {id: 3, up: false}], topics: {t: {partitions: [{replicas: [1, 2], isr: [], last-known-elr: [3]}]}}}\n",
        "1:74",
        "broker 3 in its last known ELR but not among its replicas",
    ),
    ("duration", "cluster: {brokers: 3, startup: 2 parsecs}\n", "1:32", "'2 parsecs' is not a duration"),
    ("duration-long", "cluster: {brokers: 3, startup: 1000000000000h}\n", "1:32", "1000000000000h is too long; use at most ten years"),
    (
        "setting-long",
        CLUSTER + "timeline:\n  - set: {min.insync.replicas: 99999999999999999999}\n",
        "3:32",
        "min.insync.replicas takes a number from 1 to 2147483647, not 99999999999999999999",
    ),
    (
        "client-setting-long",
        "cluster: {brokers: 3, clients: {retries: 99999999999999999999}}\n",
        "1:42",
        "retries takes a number from 0 to 2147483647, not 99999999999999999999",
    ),
    (
        "client-setting-negative",
        "cluster: {brokers: 3, clients: {retries: -1}}\n",
        "1:42",
        "retries takes a number from 0 to 2147483647, not -1",
    ),
    ("percent", "cluster: {brokers: 3, network: {loss: 120%}}\n", "1:39", "120% is more than 100%"),
    ("pace", "cluster: {brokers: 3, pace: fast}\n", "1:29", "unknown word 'fast'"),
    ("unknown-act", CLUSTER + "timeline:\n  - kil: 2\n", "3:5", "unknown word 'kil'; did you mean 'kill'?"),
    ("two-acts", CLUSTER + "timeline:\n  - kill: 2\n    start: 3\n", "4:5", "the step has a second act, 'start'"),
    (
        "unknown-field",
        CLUSTER + "timeline:\n  - produce: {topic: orders, record: 5}\n",
        "3:30",
        "unknown word 'record'; did you mean 'records'?",
    ),
    (
        "throttled-replicas",
        CLUSTER + "timeline:\n  - set: {topic: orders, leader.replication.throttled.replicas: none}\n",
        "3:65",
        "takes '*' or replicas as partition:broker,partition:broker, not 'none'",
    ),
    (
        "throttled-replicas-of-a-broker",
        CLUSTER + "timeline:\n  - set: {broker: 1, follower.replication.throttled.replicas: '*'}\n",
        "3:63",
        "is only a topic setting; set it for a topic",
    ),
    ("missing-field", CLUSTER + "timeline:\n  - produce: {topic: orders}\n", "3:14", "'records' is missing"),
    (
        "unknown-topic",
        CLUSTER + "timeline:\n  - produce: {topic: oders, records: 5}\n",
        "3:22",
        "unknown topic 'oders'; did you mean 'orders'?",
    ),
    ("no-such-partition", CLUSTER + "timeline:\n  - produce: {partition: orders-3, records: 5}\n", "3:26", "orders-3 does not exist"),
    ("unknown-broker", CLUSTER + "timeline:\n  - kill: 9\n", "3:11", "unknown broker 9; the brokers are 1, 2, 3"),
    ("one-ended-link", CLUSTER + "timeline:\n  - cut: [1]\n", "3:10", "a link has two"),
    ("unknown-node", CLUSTER + "timeline:\n  - cut: [1, contoller]\n", "3:10", "unknown node 'contoller'; did you mean 'controller'?"),
    ("acks", CLUSTER + "timeline:\n  - produce: {topic: orders, records: 5, acks: 3}\n", "3:48", "unknown word '3'"),
    (
        "log-hw",
        "cluster: {brokers: 3, topics: {t: {partitions: [{replicas: [1, 2], logs: {1: {leo: 5, hw: 6}}}]}}}\n",
        "1:49",
        "on broker 1: log start 0, HW 6, and LEO 5 must be in ascending order",
    ),
    (
        "log-epochs",
        "cluster: {brokers: 3, topics: {t: {partitions: [{replicas: [1, 2], leo: 5, epochs: [3]}]}}}\n",
        "1:85",
        "expected a list, not '3'",
    ),
    ("controller", "cluster: {brokers: 3, controller: 7}\n", "1:10", "controller b7 is not a broker of the cluster"),
    (
        "client-setting",
        CLUSTER + "timeline:\n  - load: {topic: orders, rate: 5, config: {delivery.timout.ms: 5}}\n",
        "3:45",
        "unknown producer setting 'delivery.timout.ms'; did you mean 'delivery.timeout.ms'?",
    ),
    (
        "client-setting-of-another",
        CLUSTER + "timeline:\n  - consume: {topic: orders, config: {retries: 5}}\n",
        "3:39",
        "retries is a setting of producers, not of consumers",
    ),
    ("client-setting-value", "cluster: {brokers: 3, clients: {retries: many}}\n", "1:42", "retries takes a whole number, not 'many'"),
    (
        "feature",
        "cluster: {brokers: 3, features: {eligible.leader.replica.version: 1}}\n",
        "1:34",
        "did you mean 'eligible.leader.replicas.version'?",
    ),
    ("feature-level", "cluster: {brokers: 3, features: {eligible.leader.replicas.version: 2}}\n", "1:68", "2 is out of range"),
    ("act-without-value", CLUSTER + "timeline:\n  - kill:\n", "3:10", "kill needs broker"),
    (
        "time-backwards",
        CLUSTER + "timeline:\n  - at: 2s\n    kill: 1\n  - at: 1s\n    kill: 2\n",
        "5:9",
        "earlier than the time of the previous step",
    ),
    ("at-and-wait", CLUSTER + "timeline:\n  - at: 2s\n    wait: 1s\n", "4:5", "both 'at' and 'wait'"),
    ("within-alone", CLUSTER + "timeline:\n  - within: 2s\n    kill: 1\n", "3:5", "'within' requires 'until'"),
    ("empty-step", CLUSTER + "timeline:\n  - {}\n", "3:5", "the step is empty"),
    ("by-hand-act", CLUSTER + "timeline:\n  - fetch: 2\n", "3:5", "'fetch' is a by-hand step"),
    ("at-by-hand", "cluster: {brokers: 3, pace: by-hand}\nsteps:\n  - at: 2s\n", "3:5", "'at' is not allowed at pace by-hand"),
    ("steps-on-timeline", CLUSTER + "steps:\n  - kill: 2\n", "2:1", "the cluster's pace is timeline"),
    ("release", CLUSTER + 'releases: ["0.7"]\n', "2:12", "unknown release '0.7'"),
    (
        "release-under",
        CLUSTER + 'timeline:\n  - under: {since: "3.5"}\n    kill: 1\n',
        "3:20",
        "unknown release '3.5'; use 3.3, the newest known release before it, or 3.6",
    ),
    ("guard", CLUSTER + "releases: 4.1 without request-time\n", "2:11", "unknown guard 'request-time'; did you mean 'request-time-leo'?"),
    ("release-twice", CLUSTER + 'releases: ["4.1", "4.1"]\n', "2:19", "release 4.1 appears twice"),
    ("seed", CLUSTER + "seed: -1\n", "2:7", "-1 is out of range"),
    (
        "seed-too-large",
        CLUSTER + "seed: 9223372036854775808\n",
        "2:7",
        "9223372036854775808 is out of range; write a whole number from 0 to 9223372036854775807",
    ),
    ("condition-word", CLUSTER + "expect: hww(orders-0) == 1\n", "2:9", "unknown word 'hww' (in: hww(orders-0) == 1); did you mean 'hw'?"),
    ("condition-topic", CLUSTER + "expect: hw(order-0) == 1\n", "2:12", "unknown topic 'order'"),
    ("condition-quoted", CLUSTER + 'expect: "hw(order-0) == 1"\n', "2:13", "unknown topic 'order'"),
    ("condition-half", CLUSTER + "expect: lost ==\n", "2:16", "expected a value, not the end"),
    ("condition-single-equals", CLUSTER + "expect: lost = 0\n", "2:14", "to compare, write =="),
    ("condition-types", CLUSTER + "expect: leader(orders-0) == 5ms\n", "2:29", "leader(orders-0) is a broker, but 5ms is a duration"),
    ("condition-event", CLUSTER + "expect: never leader-electd\n", "2:15", "did you mean 'leader-elected'?"),
    ("condition-column", CLUSTER + "expect: never leader-elected {lead=2}\n", "2:31", "did you mean 'leader'?"),
    ("condition-client", CLUSTER + "expect: acked(app) == 1\n", "2:15", "unknown client 'app'"),
    ("table-subject", CLUSTER + "expect: {losst: 0}\n", "2:10", "unknown word 'losst'; did you mean 'lost'?"),
    ("table-field", CLUSTER + "expect: {orders-0: {leeder: 1}}\n", "2:21", "a partition has no 'leeder'; did you mean 'leader'?"),
    ("table-pair", CLUSTER + "expect: {orders-0: {1: 15}}\n", "2:24", "'15' is not LEO/HW; write LEO and HW as 15/4"),
    ("table-broker", CLUSTER + "expect: {orders-0: {7: 15/4}}\n", "2:21", "unknown broker 7"),
    ("until-under", CLUSTER + "timeline:\n  - kill: 1\n    under: {befor: '0.11'}\n", "4:13", "did you mean 'before'?"),
    ("link-loss", CLUSTER + "timeline:\n  - link: {between: [1, 2], loss: 5}\n", "3:35", "'5' is not a percentage"),
    ("rf-too-large", "cluster: {brokers: 2, topics: {t: {partitions: 1}}}\nexpect: lost == 0\n", "1:10", "INVALID_REPLICATION_FACTOR"),
]


@pytest.mark.parametrize(("script", "place", "words"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_a_bad_script_is_refused_in_one_line(
    script: str, place: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(script, encoding="utf-8")
    assert main(["run", str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1, captured.err
    assert words in captured.err, captured.err
    assert captured.err.startswith(f"isrlab: {path}:{place}: "), captured.err


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "bad.yaml:1:1: the file is binary"),
        (b"cluster: {brokers: 3}\nabout: \xff\xfe\n", "bad.yaml:2:8: the file is binary, or is not UTF-8"),
        (b"cluster: {brokers: 3}\nabout: \x01\x02\n", "bad.yaml:2:8: the file contains control characters"),
        (b"  \n\n", "the file is empty"),
    ],
)
def test_bytes_that_are_no_script(data: bytes, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.yaml"
    path.write_bytes(data)
    assert main(["run", str(path)]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert words in err, err


def test_a_name_that_is_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, words in (
        ("b2-high-watermak", "did you mean 'b2-high-watermark'?"),
        ("nowhere.yaml", "nowhere.yaml: cannot be read: No such file"),
        (".", "cannot be read"),
        ("x" * 5000, "neither a file nor a scenario"),
        ("a\0b", "neither a file nor a scenario"),
    ):
        assert main(["run", name]) == 2
        err = capsys.readouterr().err
        assert err.count("\n") == 1
        assert words in err, err


def test_an_error_keeps_its_parts() -> None:
    with pytest.raises(ScriptError) as caught:
        read_script(CLUSTER + "timeline:\n  - at: 1s\n  - produce: {topic: orders, records: none}\n", "s.yaml")
    assert (caught.value.place.line, caught.value.place.column) == (4, 39)
    assert caught.value.field == "timeline[2].produce.records"
    assert caught.value.remedy == "write a whole number from 1 to 1000000000"


@pytest.mark.parametrize(("known", "more"), [(40, ""), (41, ", or 1 more")])
def test_forty_known_words_are_listed(known: int, more: str) -> None:
    words = [f"{number:02}" for number in range(known)]
    assert did_you_mean("quite another", words) == f"use one of {', '.join(words[:40])}{more}"
