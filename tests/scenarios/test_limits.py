"""Unlimited input is refused in one message, soon, and in little memory. Everything that a real cluster can have remains possible."""

from __future__ import annotations

import functools
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
import zstandard

from core.kafka.release import CURRENT
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import MAX_LOSS_PPM, BrokerSpec, ClusterSpec, NetworkSpec
from core.sim.errors import ActRefused
from core.sim.units import SECOND
from scenarios.errors import ScriptError
from scenarios.language.script import read_script
from scenarios.logs.line_encoder import encode_event
from scenarios.logs.log_header import make_header
from tui.cli import main

CLUSTER = "cluster: {brokers: 3, topics: {orders: {partitions: 1}}}\n"
STEPS = CLUSTER + "timeline:\n"

UNBOUNDED = {
    "everything lost": (
        "cluster: {brokers: 3, network: {loss: 100%}}\n",
        "1:39: cluster.network.loss: '100%' is too large; write at most 99%",
    ),
    "a link that loses everything": (
        STEPS + "  - link: {between: [1, 2], loss: 99.5%}\n",
        "3:35: timeline[1].link.loss: '99.5%' is too large; write at most 99%",
    ),
    "a list where one act needs more": (
        STEPS + "  - slow-disk: [1, 2]\n",
        "3:16: timeline[1].slow-disk: slow-disk needs a mapping, not a list; for example 'slow-disk: {broker: 2, delay: 50ms}'",
    ),
    "an act that needs a controller": (
        STEPS + "  - kill-controller:\n",
        "3:21: timeline[1].kill-controller: kill-controller needs node; for example 'kill-controller: c1'",
    ),
    "a billion partitions": (
        STEPS + "  - create-topic: {topic: t, partitions: 1000000000}\n",
        "3:42: timeline[1].create-topic.partitions: 1000000000 is out of range; write a whole number from 1 to 200000",
    ),
    "a billion replicas": (
        "cluster: {brokers: 1000, topics: {t: {partitions: 200000, replication-factor: 1000}}}\n",
        "1:10: cluster: 200,000,000 replicas in the cluster; use at most 1,000,000",
    ),
    "many large topics": (
        "cluster: {brokers: 3, topics: {t: {partitions: 200000}, u: {partitions: 1}}}\n",
        "1:10: cluster: 200,001 partitions in the cluster; use at most 200,000",
    ),
    "10,000 brokers": ("cluster: {brokers: 10000}\n", "1:20: cluster.brokers: 10000 is out of range; write a whole number from 1 to 1000"),
    "60,000 brokers in a list": (
        f"cluster: {{brokers: {list(range(60_000))}}}\n",
        "1:20: cluster.brokers: 60,000 brokers; use at most 1,000",
    ),
    "a million entries": (
        "cluster: {brokers: [" + "1," * 1_000_000 + "1]}\n",
        "1:400021: cluster.brokers: there are more than 200,000 entries; no list or mapping of a script is that long",
    ),
    "5,000 deep": (
        "cluster: " + "[" * 5_000 + "]" * 5_000,
        "1:34: there are more than 24 levels of nesting; no field of a script is nested that deeply",
    ),
    "5,000 deep mappings": ("cluster: " + "{a: " * 5_000 + "1" + "}" * 5_000, "1:103: there are more than 24 levels of nesting"),
    "5,000 digits": (f"cluster: {{brokers: {'9' * 5_000}}}\n", f"1:20: cluster.brokers: {'9' * 39}… is out of range"),
    "a duration of 5,000 digits": (
        f"cluster: {{brokers: 3, startup: {'9' * 5_000}s}}\n",
        f"1:32: cluster.startup: '{'9' * 39}…' is not a duration",
    ),
    "a condition of 5,000 digits": (
        CLUSTER + f"expect: hw(orders-{'1' * 1_900}) == 1\n",
        "2:12: expect: 'orders-111111",
    ),
    "a partition of 1,900 digits": (
        STEPS + f"  - produce: {{partition: orders-{'1' * 1_900}, records: 1}}\n",
        "3:26: timeline[1].produce.partition: 'orders-1",
    ),
    "a billion laughs": (
        "a: &a [x, x]\nb: &b [*a, *a]\ncluster: {brokers: *b}\n",
        "1:4: a: the anchor &a is refused; scripts cannot contain anchors or aliases; repeat the value",
    ),
    "a word of 1,000 letters": (STEPS + "  - k" + "i" * 1_000 + "l: 1\n", "3:5: timeline[1]: unknown word 'kiiii"),
    "a key of a megabyte": ("cluster: {brokers: 3}\n? " + "x" * 1_000_000 + "\n: 1\n", "2:3: script: unknown word 'xxxx"),
}


@pytest.mark.parametrize("name", UNBOUNDED)
def test_an_unbounded_script_is_refused_soon(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script, message = UNBOUNDED[name]
    path = tmp_path / "endless.yaml"
    path.write_text(script, encoding="utf-8")
    started = time.process_time()
    assert main(["run", str(path)]) == 2
    assert time.process_time() - started < 5
    err = capsys.readouterr().err
    assert err.startswith(f"isrlab: {path}:{message}"), err[:400]
    assert err.count("\n") == 1
    assert len(err) < 1_000


@pytest.mark.parametrize("percent", [99, 0])
def test_a_bad_link_lets_time_pass(percent: int) -> None:
    spec = ClusterSpec((BrokerSpec(1), BrokerSpec(2)), (TopicSpec("t", 1, 2),), network=NetworkSpec(loss_ppm=percent * 10_000))
    cluster = Cluster(spec, CURRENT, 1)
    cluster.run_until(10 * SECOND)
    assert cluster.now == 10 * SECOND


def test_acts_have_the_same_bounds() -> None:
    """Acts of the playground and of logs do not pass through a script."""
    cluster = Cluster(ClusterSpec((BrokerSpec(1), BrokerSpec(2)), (TopicSpec("t", 2, 2),)), CURRENT, 1)
    for act, words in (
        (acts.Link(("b1", "b2"), loss_ppm=MAX_LOSS_PPM + 1), "a link can lose at most 99%"),
        (acts.CreateTopic("u", 10**9, 2), "this act would result in 1,000,000,002 partitions in the cluster; use at most 200,000"),
        (acts.CreateTopic("u", 1_000, 1_001), "this act would result in 1,001,004 replicas in the cluster; use at most 1,000,000"),
        (acts.CreatePartitions("t", 10**9), "this act would result in 1,000,000,000 partitions in the cluster; use at most 200,000"),
    ):
        with pytest.raises(ActRefused) as refused:
            cluster.do(act)
        assert str(refused.value).startswith(words), refused.value
    with pytest.raises(ValueError, match="the network loses 1,000,000 messages per million; use at most 990,000"):
        Cluster(ClusterSpec((BrokerSpec(1),), network=NetworkSpec(loss_ppm=1_000_000)), CURRENT, 1)


def test_what_a_large_cluster_has_can_be_written() -> None:
    rows = "".join(f"      - {{replicas: [{n % 98 + 1}, {n % 98 + 2}, {n % 98 + 3}], leader: {n % 98 + 1}}}\n" for n in range(20_000))
    script = read_script(
        "cluster:\n  brokers: 100\n  topics:\n    t:\n     partitions:\n" + rows + "    u: {partitions: 180000}\n", "large"
    )
    assert sum(topic.count for topic in script.spec.topics) == 200_000
    read_script("cluster: {brokers: 1000, topics: {u: {partitions: 200000, replication-factor: 5}}}", "large")
    with pytest.raises(ScriptError):
        read_script("cluster: {brokers: 1000, topics: {u: {partitions: 200001, replication-factor: 3}}}", "large")


@pytest.mark.parametrize("release", ["0.10.2", "2.4", "4.1"])
def test_a_cluster_whose_time_stands_still_is_refused(release: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "still.yaml"
    path.write_text(
        f"releases: '{release}'\ncluster:\n  brokers: 2\n  topics: {{t: {{partitions: 1, replication-factor: 2}}}}\n  network: "
        f"{{latency: 0}}\n"
        "  settings: {replica.fetch.wait.max.ms: 0}\nexpect: lost == 0\ntimeline: [{wait: 1s}]\n"
    )
    assert main(["run", str(path)]) == 2
    assert capsys.readouterr().err == (
        "isrlab: time does not advance past 0s: more than 100,040 entries were scheduled at that moment; for example, fetches take no time "
        "if the network latency and replica.fetch.wait.max.ms are both 0; increase one of them\n"
    )


@pytest.mark.parametrize("command", ["describe", "metrics", "checkpoints", "reassign"])
def test_a_moment_beyond_virtual_time_is_refused(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    more = {"reassign": ["--list"], "checkpoints": ["-o", "x"]}.get(command, [])
    assert main([command, "b2-high-watermark", "--at", "999999999999d", *more]) == 2
    assert capsys.readouterr().err == "isrlab: --at: '999999999999d' is too long; use at most ten years of virtual time (3650d)\n"


# --- logs, tools' files, trees, keymaps ------------------------------------------------------------------------------


def header() -> bytes:
    return msgspec.json.encode(make_header(ClusterSpec((BrokerSpec(1),)), CURRENT, 0, None)) + b"\n"


PACKED = {
    "zeros": (b"", b"\0"),
    "empty lines": (header(), b"\n"),
    "one line": (header(), b"["),
    "a header": (b'{"isrlab": "event-log", "cluster": [', b"[],"),
}
"""The start of a log, and the data that follows it, 400 MB in total."""


@functools.cache
def bomb(name: str) -> bytes:
    """Return the log in compressed form. It is compressed a megabyte at a time, so that the test does not need memory for the uncompressed
    data.
    """
    begin, unit = PACKED[name]
    packing = zstandard.ZstdCompressor().compressobj()
    return b"".join([packing.compress(begin), *(packing.compress(unit * (1_000_000 // len(unit))) for _ in range(400)), packing.flush()])


@pytest.mark.parametrize("name", PACKED)
@pytest.mark.parametrize("command", [["log", "check"], ["replay"], ["describe"]])
def test_a_packed_bomb_is_refused_in_little_memory(name: str, command: list[str], tmp_path: Path) -> None:
    path = tmp_path / "bomb.jsonl.zst"
    path.write_bytes(bomb(name))
    assert path.stat().st_size < 100_000
    bounded = "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)); from tui.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", bounded, *command, str(path)], capture_output=True, text=True, timeout=60, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode in (1, 2)
    told = done.stderr + done.stdout
    assert "decompresses to more than 300 times its size" in told or "no header" in told or "first line" in told, told


LOGS = {
    "deep header": (b'{"isrlab": "event-log", "cluster": ' + b"[" * 100_000, "s.jsonl:1: not an event log"),
    "deep event": (
        header() + b'{"seq": 1, "t": 0, "cause": 0, "kind": "act", "act": ' + b"[" * 100_000 + b"\n",
        "s.jsonl:2: not an event",
    ),
    "digits": (header() + b'{"seq": ' + b"9" * 5_000 + b', "t": 0, "cause": 0, "kind": "act"}\n', "s.jsonl:2: not an event"),
    "values": (
        b'{"isrlab": "event-log", "cluster": [' + b"[]," * 4_100_000 + b"[]]}\n",
        "s.jsonl:1: the first line has more than 4,000,000 values",
    ),
    "a line": (b'{"isrlab": "' + b"x" * (33 << 20) + b'"}\n', "s.jsonl:1: the first line is longer than 32 MB"),
    "a word": (
        header() + b'{"seq": 1, "t": 0, "cause": 0, "kind": "broker-stopped", "broker": 1, "how": "kiled"}\n',
        "s.jsonl:2: unknown how 'kiled'; did you mean 'killed'?",
    ),
}


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("command", [["log", "check"], ["replay"], ["describe"], ["metrics"]])
def test_a_log_without_bounds_is_refused(name: str, command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(LOGS[name][0])
    assert main([*command, str(path)]) in (1, 2)
    told = capsys.readouterr()
    assert LOGS[name][1] in told.err + told.out


@pytest.mark.parametrize(
    ("act", "args", "words"),
    [
        ("kil", "{}", "there is no act 'kil'"),
        ("kill", '{"broker": "one"}', 'kill: broker cannot be "one"'),
        ("kill", "[" * 5_000, "kill: its fields are not valid JSON"),
        ("kill", '{"broker": ' + "9" * 5_000 + "}", "kill: its fields are not valid JSON"),
        ("kill", '{"broker": ' + "9" * 50 + "}", "kill: broker cannot be 9999"),
        ("cut", '{"between": []}', "cut: between cannot be []"),
        ("produce", '{"topic": "t", "records": 0}', "produce: records cannot be 0; it must be from 1 to"),
        ("link", '{"between": ["b1", "b2"], "loss_ppm": 1000000}', "link: loss_ppm cannot be 1000000; it must be from 0 to 990000"),
        (
            "create-topic",
            '{"topic": "t", "partitions": 1000000000}',
            "create-topic: partitions cannot be 1000000000; it must be from 1 to 200000",
        ),
    ],
)
def test_an_act_of_a_log_that_nobody_can_do_is_found(
    act: str, args: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(header() + encode_event((1, 0, 0, "act", act, args)) + b'\n{"end":true,"t":0,"events":1}\n')
    assert main(["log", "check", str(path)]) == 2
    told = capsys.readouterr()
    assert f"s.jsonl:2: {words}" in told.out + told.err
    assert main(["replay", str(path)]) == 2
    assert f"s.jsonl:2: {words}" in capsys.readouterr().err


PLANS = {
    "deep": "[" * 100_000,
    "digits": '{"partitions": [{"topic": "orders", "partition": ' + "9" * 5_000 + ', "replicas": [1]}]}',
    "infinite": '{"partitions": [{"topic": "orders", "partition": 1e999, "replicas": [1]}]}',
    "no list": '{"partitions": 5}',
    "no objects": '{"partitions": [5]}',
    "no ids": '{"partitions": [{"topic": "orders", "partition": 0, "replicas": 5}]}',
    "no dirs": '{"partitions": [{"topic": "orders", "partition": 0, "replicas": [1], "log_dirs": 5}]}',
    "no topic": '{"partitions": [{"topic": null, "partition": 0, "replicas": [1]}]}',
    "many": '{"partitions": [' + ", ".join(f'{{"topic": "orders", "partition": {n // 2}, "replicas": [1]}}' for n in range(100_000)) + "]}",
    "long": '{"partitions": [{"topic": "orders", "partition": 0, "replicas": [' + "1," * 300_000 + "1]}]}",
}


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("tool", ["execute", "verify", "cancel", "generate", "elect"])
def test_a_plan_without_bounds_is_refused(name: str, tool: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "plan.json"
    path.write_text(PLANS[name].replace("partitions", "topics") if tool == "generate" else PLANS[name])
    started = time.process_time()
    if tool == "elect":
        code = main(["leader-election", "b2-high-watermark", "--election-type", "preferred", "--path-to-json-file", str(path)])
    elif tool == "generate":
        code = main(["reassign", "b2-high-watermark", "--generate", "--broker-list", "1", "--topics-to-move-json-file", str(path)])
    else:
        code = main(["reassign", "b2-high-watermark", f"--{tool}", "--reassignment-json-file", str(path)])
    assert time.process_time() - started < 5
    err = capsys.readouterr().err
    assert code == 2 or (code in (0, 1) and tool in ("elect", "generate")), err
    assert len(err) < 6_000


@pytest.mark.parametrize("root", ["/proc", "/sys", "/dev"])
def test_a_folder_that_is_no_tree_is_refused_soon(root: str, capsys: pytest.CaptureFixture[str]) -> None:
    started = time.process_time()
    assert main(["checkpoints", root]) == 2
    assert time.process_time() - started < 5
    assert "a directory tree contains broker-N/log-dir-N/" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a = " + "[" * 5_000, "the nesting is too deep"),
        ("a = " + "9" * 5_000, "not valid TOML"),
        ("[keys]\nkill = " + "9" * 4_000, "[keys] kill: write a key or a list of keys"),
        ("[keys]\n" + "".join(f"k{n} = 'x'\n" for n in range(50_000)), "[keys] k0: no such action"),
        ("#" * (1 << 20) + "\n", "the file has more than 1,048,576 bytes"),
    ],
)
def test_a_keymap_without_bounds_is_refused(content: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "keys.toml"
    path.write_text(content)
    assert main(["play", "--keys", str(path)]) == 2
    assert words in capsys.readouterr().err
