"""Input without bounds is refused in one message, soon, and in little memory; what a real cluster can have stays possible."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from core import acts
from core.errors import ActRefused
from core.release import CURRENT
from core.sim.cluster import Cluster
from core.spec import MAX_LOSS_PPM, BrokerSpec, ClusterSpec, NetworkSpec, TopicSpec
from core.units import SECOND
from scenarios.errors import ScriptError
from scenarios.language.script import read_script
from tui.cli import main

CLUSTER = "cluster: {brokers: 3, topics: {orders: {partitions: 1}}}\n"
STEPS = CLUSTER + "timeline:\n"

UNBOUNDED = {
    "everything lost": (
        "cluster: {brokers: 3, network: {loss: 100%}}\n",
        "1:39: cluster.network.loss: '100%' leaves too little; at most 99%",
    ),
    "a link that loses everything": (
        STEPS + "  - link: {between: [1, 2], loss: 99.5%}\n",
        "3:35: timeline[1].link.loss: '99.5%' leaves too little; at most 99%",
    ),
    "a list where one act needs more": (
        STEPS + "  - slow-disk: [1, 2]\n",
        "3:16: timeline[1].slow-disk: a list is not enough for slow-disk; for example 'slow-disk: {broker: 2, delay: 50ms}'",
    ),
    "a billion partitions": (
        STEPS + "  - create-topic: {topic: t, partitions: 1000000000}\n",
        "3:42: timeline[1].create-topic.partitions: 1000000000 is out of range; write a whole number from 1 to 200000",
    ),
    "a billion replicas": (
        "cluster: {brokers: 1000, topics: {t: {partitions: 200000, replication-factor: 1000}}}\n",
        "1:10: cluster: 200,000,000 replicas in the cluster; at most 1,000,000",
    ),
    "many large topics": (
        "cluster: {brokers: 3, topics: {t: {partitions: 200000}, u: {partitions: 1}}}\n",
        "1:10: cluster: 200,001 partitions in the cluster; at most 200,000",
    ),
    "10,000 brokers": ("cluster: {brokers: 10000}\n", "1:20: cluster.brokers: 10000 is out of range; write a whole number from 1 to 1000"),
    "60,000 brokers in a list": (
        f"cluster: {{brokers: {list(range(60_000))}}}\n",
        "1:20: cluster.brokers: 60,000 brokers; at most 1,000",
    ),
    "a million entries": (
        "cluster: {brokers: [" + "1," * 1_000_000 + "1]}\n",
        "1:400021: cluster.brokers: more than 200,000 entries; no list or mapping of a script is that long",
    ),
    "5,000 deep": ("cluster: " + "[" * 5_000 + "]" * 5_000, "1:34: nested deeper than 24 levels; no field of a script is that deep"),
    "5,000 deep mappings": ("cluster: " + "{a: " * 5_000 + "1" + "}" * 5_000, "1:103: nested deeper than 24 levels"),
    "5,000 digits": (f"cluster: {{brokers: {'9' * 5_000}}}\n", f"1:20: cluster.brokers: {'9' * 39}… is out of range"),
    "a duration of 5,000 digits": (
        f"cluster: {{brokers: 3, startup: {'9' * 5_000}s}}\n",
        f"1:32: cluster.startup: '{'9' * 39}…' is no duration",
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
        "1:4: a: the anchor &a is refused; scripts have no anchors and aliases; write the value out",
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
    """What the playground and logs bring in does not come through a script."""
    cluster = Cluster(ClusterSpec((BrokerSpec(1), BrokerSpec(2)), (TopicSpec("t", 2, 2),)), CURRENT, 1)
    for act, words in (
        (acts.Link(("b1", "b2"), loss_ppm=MAX_LOSS_PPM + 1), "a link loses at most 99 %"),
        (acts.CreateTopic("u", 10**9, 2), "that would be 1,000,000,002 partitions in the cluster; at most 200,000"),
        (acts.CreateTopic("u", 1_000, 1_001), "that would be 1,001,004 replicas in the cluster; at most 1,000,000"),
        (acts.CreatePartitions("t", 10**9), "that would be 1,000,000,000 partitions in the cluster; at most 200,000"),
    ):
        with pytest.raises(ActRefused) as refused:
            cluster.do(act)
        assert str(refused.value).startswith(words), refused.value
    with pytest.raises(ValueError, match="the network loses 1,000,000 messages of a million; at most 990,000"):
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
