"""Valid scripts: the meaning of each form. A cluster that is written and read again is the same cluster."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.kafka.ids import NO_LEADER, TopicPartition
from core.kafka.release import CURRENT, RELEASES
from core.kafka.topic_spec import LogSpec, PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.acts import ACTS
from core.lab.spec import MAX_LOSS_PPM, BrokerSpec, ClusterSpec, GroupSpec, NetworkSpec, Pace, ZoneSpec
from scenarios.errors import ScriptError
from scenarios.language.acts import act_as_data, read_acts
from scenarios.language.cluster import cluster_as_data, cluster_from_data, read_cluster, write_cluster, write_yaml
from scenarios.language.expectations import Under
from scenarios.language.nodes import Fields, parse
from scenarios.language.script import read_script
from scenarios.running.runner import run_scenario


def read_act(text: str) -> tuple[acts.Act, ...]:
    root = parse(text, "s.yaml")
    ((word, node),) = root.values.items()
    return read_acts(word, node)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("kill: 2", [acts.Kill(2)]),
        ("kill: b2", [acts.Kill(2)]),
        ("kill: [2, 3]", [acts.Kill(2), acts.Kill(3)]),
        ("kill: {broker: 2}", [acts.Kill(2)]),
        ("cut: [1, controller]", [acts.Cut(("b1", "controller"))]),
        ("cut: {between: [1, 3], one-way: true}", [acts.Cut(("b1", "b3"), one_way=True)]),
        ("heal: all", [acts.Heal()]),
        ("heal:", [acts.Heal()]),
        ("heal: [1, 3]", [acts.Heal(("b1", "b3"))]),
        ("isolate: 2", [acts.Isolate("b2")]),
        ("link: {between: [1, 2], loss: 0.5%, latency: 3ms}", [acts.Link(("b1", "b2"), latency=3_000, loss_ppm=5_000)]),
        ("set: {min.insync.replicas: 2}", [acts.Set("min.insync.replicas", "2")]),
        (
            "set: {min.insync.replicas: 2, unclean.leader.election.enable: true, topic: orders}",
            [acts.Set("min.insync.replicas", "2", topic="orders"), acts.Set("unclean.leader.election.enable", "true", topic="orders")],
        ),
        (
            "set: {topic: orders, leader.replication.throttled.replicas: '0:1, 0:2', follower.replication.throttled.replicas: ''}",
            [
                acts.Set("leader.replication.throttled.replicas", "0:1, 0:2", topic="orders"),
                acts.Set("follower.replication.throttled.replicas", "", topic="orders"),
            ],
        ),
        (
            "set: {name: leader.replication.throttled.replicas, value: '', topic: orders}",
            [acts.Set("leader.replication.throttled.replicas", "", topic="orders")],
        ),
        ("set: {name: min.insync.replicas, value: 2}", [acts.Set("min.insync.replicas", "2")]),
        ("power-loss: {broker: 1, keep: {orders-0: 5}}", [acts.PowerLoss(1, ((TopicPartition("orders", 0), 5),))]),
        ("create-topic: {topic: t, replicas: [[1, 2], [2, 1]]}", [acts.CreateTopic("t", replicas=((1, 2), (2, 1)))]),
        ("elect: unclean", [acts.Elect("unclean")]),
        ("elect: {partition: orders-1}", [acts.Elect(partition=TopicPartition("orders", 1))]),
        ("produce: {topic: orders, records: 1_000, acks: 1}", [acts.Produce("orders", 1000, acks="1")]),
        ("produce: {partition: orders-1, records: 5}", [acts.Produce("orders", 5, partition=1)]),
        ("load: {topic: orders, rate: 100, every: 10ms}", [acts.Load("orders", 100, every=10_000)]),
        (
            "load: {topic: orders, rate: 100, config: {delivery.timeout.ms: 8_000, retries: 3}}",
            [acts.Load("orders", 100, config=(("delivery.timeout.ms", "8_000"), ("retries", "3")))],
        ),
        (
            "consume: {topic: orders, config: {request.timeout.ms: 3000}}",
            [acts.Consume("orders", config=(("request.timeout.ms", "3000"),))],
        ),
        ("stop-load:", [acts.StopLoad()]),
        ("stop-load: app", [acts.StopLoad("app")]),
        ("acks: 1", [acts.Acks("1")]),
        ("consume: orders", [acts.Consume("orders")]),
        ("fetch: [1, 2, 1]", [acts.Fetch(1), acts.Fetch(2), acts.Fetch(1)]),
        ("answer: {follower: 1, records: 4}", [acts.Answer(1, records=4)]),
        ("bounce: 1", [acts.Bounce(1)]),
        ("fail-zone: [a, b]", [acts.FailZone("a"), acts.FailZone("b")]),
        ("cut-zone: {zone: a, other: b}", [acts.CutZone("a", "b")]),
    ],
)
def test_the_forms_of_acts(text: str, meant: list[acts.Act]) -> None:
    assert list(read_act(text)) == meant


SAMPLES = {
    "int": 7, "str": "word", "tuple[int, ...]": (2, 3, 1), "tuple[str, str]": ("b1", "b2"), "TopicPartition": TopicPartition("t", 3),
    "tuple[tuple[TopicPartition, int], ...]": ((TopicPartition("t", 3), 4),), "tuple[tuple[int, ...], ...]": ((1, 2), (2, 1)),
    "tuple[tuple[str, str], ...]": (("retention.ms", "5"),), "tuple[str, ...]": ("one", "other"),
}  # fmt: skip
NAMED = {
    "acks": "1",
    "unflushed": "lost",
    "election": "unclean",
    "reset": "latest",
    "isolation": "read_committed",
    "delivery": "at-least-once",
    "protocol": "consumer",
    "crash_after": "produce",
    "commit": "after",
    "on_error": "stop",
    "pace": "by-hand",
    "node": "b3",
    "name": "min.insync.replicas",
    "value": "2",
    "queue": "fifo",
    "due_from": "read",
    "count_tries": "before",
    "dlt_strategy": "fail",
    "names": "index",
}
OF_SERVICES = {"commit": "position", "crash_after": "forward"}


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_every_act_can_be_written_and_read_again(act: type[acts.Act]) -> None:
    client = {"config": (("request.timeout.ms", "5"),)} if "config" in attrs.fields_dict(act) and act is not acts.CreateTopic else {}
    named = NAMED | (OF_SERVICES if "service" in attrs.fields_dict(act) else {})
    named |= {"delays": "record" if act is acts.StartDelayService else ("1s", "2s")}
    values = client | {
        field.name: not field.default
        if str(field.type).removesuffix(" | None") == "bool"
        else named.get(field.name, SAMPLES[str(field.type).removesuffix(" | None")])
        for field in attrs.fields(act)
        if field.name not in client
    }
    made = act(**values)
    data = act_as_data(made)
    assert len(data) == len(values)
    assert read_act(write_yaml({act.word: data})) == (made,)


def test_a_whole_script() -> None:
    scenario = read_script(
        """
scenario: a-name
about: The first sentence, with 4.1 in it. The second.
releases: ["0.10.2", 4.1]
seed: 7
cluster:
  brokers: [0, {id: 1, rack: a, up: false, settings: {num.replica.fetchers: 2}}]
  topics: {t: {replicas: [[0, 1]]}}
timeline:
  - at: 1s
    kill: 1
  - until: leader(t-0) == 0
    within: 5s
    expect: {t-0: {isr: [0], 0: 15/4}, lost: 0}
    note: what it shows
  - wait: 1m30s
    under: {before: "0.11"}
expect:
  - lost == 0
  - expect: [lost > 0, {acked: ">= 3"}]
    under: {since: "2.0"}
""",
        "s.yaml",
    )
    assert (scenario.name, scenario.seed, scenario.releases) == ("a-name", 7, ("0.10.2", "4.1"))
    assert scenario.title == "The first sentence, with 4.1 in it."
    assert scenario.spec.brokers == (BrokerSpec(0), BrokerSpec(1, "a", False, (("num.replica.fetchers", 2),)))
    first, second, third = scenario.steps
    assert (first.at, first.acts) == (1_000_000, (acts.Kill(1),))
    assert ([one.text for one in second.until], second.within, second.note) == (["leader(t-0) == 0"], 5_000_000, "what it shows")
    assert [one.text for one in second.expects] == ["isr(t-0) == [0]", "leo(t-0, 0) == 15", "hw(t-0, 0) == 4", "lost == 0"]
    assert str(second.expects[1].place) == "s.yaml:14:33"
    assert (third.wait, third.under) == (90_000_000, Under(before="0.11"))
    assert [(one.text, one.under.since) for one in scenario.expects] == [("lost == 0", None), ("lost > 0", "2.0"), ("acked >= 3", "2.0")]


def test_a_script_of_a_cluster_only_is_plain() -> None:
    scenario = read_script("cluster: {brokers: 2}\n", "dir/two.yaml")
    assert scenario.plain
    assert (scenario.name, scenario.spec.brokers) == ("two", (BrokerSpec(1), BrokerSpec(2)))


@pytest.mark.parametrize(
    ("under", "included"),
    [
        (Under(before="0.11"), {"0.8.2", "0.9", "0.10.2"}),
        (Under(since="4.0"), {"4.0", "4.1", "4.2", "4.3"}),
        (Under(before="2.0", since="0.11"), {"0.11", "1.1"}),
        (Under(only=("2.4", "4.1")), {"2.4", "4.1"}),
        (Under(), set(RELEASES)),
    ],
)
def test_under_which_releases(under: Under, included: set[str]) -> None:
    assert {name for name, release in RELEASES.items() if under.includes(release)} == included


IMPORTED = ClusterSpec(
    brokers=(BrokerSpec(1, "east-1"), BrokerSpec(2, "east-2", up=False), BrokerSpec(5, rack="r-1")),
    topics=(
        TopicSpec("placed", partitions=6, replication_factor=2, config=(("min.insync.replicas", "2"), ("segment.bytes", "1000"))),
        TopicSpec(
            "a.b_c-1",
            partitions=3,
            replication_factor=2,
            assignment=(
                PartitionSpec((1, 2), (1,), 1, (2,), ()),
                PartitionSpec((2, 5)),
                PartitionSpec((5, 1), (), NO_LEADER, (), (5,), 7, (LogSpec(5, 60, 58, 3, ((0, 0), (7, 60))), LogSpec(1, 0, 0))),
            ),
            config=(("cleanup.policy", "compact,delete"), ("vendor.setting", "x: y")),
            topic_id="_hfDXqHlQz6I7rB-JbQSVw",
        ),
    ),
    settings=(("unclean.leader.election.enable", True), ("replica.lag.time.max.ms", 10_000)),
    network=NetworkSpec(1_234, 17, 333, between_zones=(("east-1", "east-2", 1_000), ("west", "east-1", 30_000)), bandwidth=12_500_000),
    pace=Pace.BY_HAND,
    startup=1_500_000,
    recovery=0,
    features=(("eligible.leader.replicas.version", 0),),
    clients=(("delivery.timeout.ms", "8000"), ("request.timeout.ms", "3000")),
    controller="b2",
    zones=(ZoneSpec("east-1", ("b1", "app")), ZoneSpec("east-2", ("b2",)), ZoneSpec("west", ("b5",))),
)


def test_what_is_said_of_all_logs_holds_where_one_says_nothing_else() -> None:
    text = "{replicas: [1, 2, 3], isr: [1, 2], leader: 1, leader-epoch: 7, leo: 60, epochs: [[0, 0], [7, 40]], logs: {3: {leo: 30, epochs: [[0, 0]]}, b2: {hw: 58}}}"
    spec = read_cluster(parse(f"cluster: {{brokers: 3, topics: {{t: {{partitions: [{text}]}}}}}}\n", "s.yaml").values["cluster"])
    entries = ((0, 0), (7, 40))
    assert spec.topics[0].assignment == (
        PartitionSpec((1, 2, 3), (1, 2), 1, (), (), 7, (LogSpec(1, 60, 60, 0, entries), LogSpec(2, 60, 58, 0, entries), LogSpec(3, 30, 30, 0, ((0, 0),)))),
    )  # fmt: skip
    short = read_cluster(
        parse("cluster: {brokers: 1, topics: {t: {partitions: [{replicas: [1], leader-epoch: 2, leo: 5}]}}}\n", "s.yaml").values["cluster"]
    )
    assert short.topics[0].assignment[0].logs == (LogSpec(1, 5, 5, 0, ((2, 0),)),)


def test_a_cluster_reads_back_as_it_was_written() -> None:
    root = parse(write_cluster(IMPORTED), "written.yaml")
    assert read_cluster(root.values["cluster"]) == IMPORTED
    assert cluster_from_data(cluster_as_data(IMPORTED), "header") == IMPORTED


@pytest.mark.parametrize(("text", "rate"), [("1Gb/s", 125_000_000), ("125MB/s", 125_000_000), ("1.5 kB/s", 1_500), ("8b/s", 1)])
def test_bandwidths_are_bits_or_bytes_per_second(text: str, rate: int) -> None:
    spec = read_cluster(parse(f"cluster: {{brokers: 1, network: {{bandwidth: {text}}}}}\n", "s.yaml").values["cluster"])
    assert spec.network.bandwidth == rate


def test_a_latency_between_zones_holds_for_all_pairs_and_the_zone_is_the_rack() -> None:
    text = "cluster: {brokers: [1, 2, {id: 3, rack: r}], zones: {a: [1], b: [b2, app], c: [3]}, network: {between-zones: 2ms}}\n"
    spec = read_cluster(parse(text, "s.yaml").values["cluster"])
    assert spec.network.between_zones == (("a", "b", 2_000), ("a", "c", 2_000), ("b", "c", 2_000))
    assert spec.racks() == {1: "a", 2: "b", 3: "r"}
    assert spec.zones[1] == ZoneSpec("b", ("b2", "app"))


def test_a_client_of_a_zone_that_no_act_starts_is_probably_mistyped() -> None:
    text = "scenario: s\ncluster: {brokers: 2, zones: {a: [1, app, ap]}}\ntimeline: [{load: {topic: t, rate: 1, producer: app}}]\n"
    scenario = read_script(text.replace("brokers: 2", "brokers: 2, topics: {t: {replication-factor: 2}}"), "s.yaml")
    assert scenario.warnings == ("s.yaml:2:69: cluster.zones: no act starts the client ap of zone a",)


@pytest.mark.parametrize(
    ("cluster", "act", "refusal"),
    [
        ("network: {bandwidth: fast}", "kill: 1", "'fast' is not a bandwidth; write a number and a unit, for example 1Gb/s or 125MB/s"),
        ("network: {bandwidth: 1b/s}", "kill: 1", "1b/s is out of range; write 1B/s to 1000GB/s"),
        ("network: {bandwidth: 1Gb/s, reorder: 1%}", "kill: 1", "a network with a limited bandwidth has no proxies"),
        ("zones: {a: [1], b: [1]}", "kill: 1", "node in the zones: b1 appears twice"),
        ("network: {between-zones: 2ms}", "kill: 1", "2:48: cluster.network.between-zones: the cluster has no zones; add 'zones'"),
        ("zones: {a: [1]}, network: {between-zones: {a: {x: 2ms}}}", "kill: 1", ".between-zones.a: unknown zone 'x'"),
        ("zones: {a: [1], ' ': [2]}", "kill: 1", "is not the name of a zone"),
        ("zones: {east: [1]}", "fail-zone: eats", "unknown zone 'eats'; did you mean 'east'?"),
        ("zones: {a: [1]}", "cut-zone: [a, b]", "cut-zone does not accept a list; for example 'cut-zone: a'"),
        ("pace: timeline", "fail-zone: a", "unknown zone 'a'; write 'zones' in the cluster"),
    ],
)
def test_zones_and_bandwidths_that_are_refused(cluster: str, act: str, refusal: str) -> None:
    with pytest.raises(ScriptError) as refused:
        read_script(f"scenario: s\ncluster: {{brokers: 2, {cluster}}}\ntimeline: [{{{act}}}]\n", "s.yaml")
    assert refusal in str(refused.value)


@pytest.mark.parametrize("text", ["0", "{offset: 0}", "{offset: 0, leader-epoch: 0}"])
def test_a_committed_offset_can_be_0(text: str) -> None:
    cluster = f"{{brokers: 1, topics: {{t: {{}}, __consumer_offsets: {{}}}}, groups: {{g: {{t-0: {text}}}}}}}"
    spec = read_cluster(parse(f"cluster: {cluster}\n", "s.yaml").values["cluster"])
    assert spec.groups == (GroupSpec("g", ((TopicPartition("t", 0), 0, 0 if "epoch" in text else -1),)),)


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("-1", ": -1 is out of range; write a whole number from 0 to 1000000000000"),
        ("{offset: -1}", ".offset: -1 is out of range; write a whole number from 0 to 1000000000000"),
        ("{offset: 0, leader-epoch: -1}", ".leader-epoch: -1 is out of range; write a whole number from 0 to 1000000000"),
        ("{offset: 0, epoch: 3}", ": unknown word 'epoch'; did you mean 'leader-epoch'?"),
        ("{leader-epoch: 3}", ": 'offset' is missing; write the committed offset, for example 'offset: 1200'"),
    ],
)
def test_a_committed_offset_that_is_refused(text: str, refusal: str) -> None:
    cluster = f"{{brokers: 1, topics: {{t: {{}}, __consumer_offsets: {{}}}}, groups: {{g: {{t-0: {text}}}}}}}"
    with pytest.raises(ScriptError) as refused:
        read_cluster(parse(f"cluster: {cluster}\n", "s.yaml").values["cluster"])
    assert str(refused.value).partition("cluster.groups.g.t-0")[2] == refusal


def test_data_that_is_nested_deeper_than_any_script_is_refused() -> None:
    """The header of a log can contain such data, because the script parser does not check it."""
    deep: list[object] = []
    for _ in range(30):
        deep = [deep]
    with pytest.raises(ScriptError, match="more than 24 levels of nesting"):
        cluster_from_data({"brokers": deep}, "header")


@pytest.mark.parametrize("factor", [2, 3])
def test_a_replication_factor_is_written_where_the_first_partition_does_not_tell_it(factor: int) -> None:
    spec = ClusterSpec(
        tuple(BrokerSpec(broker) for broker in (1, 2, 3)), (TopicSpec("t", 2, factor, (PartitionSpec((1, 2)), PartitionSpec((1, 2, 3)))),)
    )
    written = cluster_as_data(spec)
    assert written["topics"]["t"].get("replication-factor") == (None if factor == 2 else factor)
    assert cluster_from_data(written, "header") == spec


@pytest.mark.parametrize(
    "text", ["{isr: [], leader: none}", "{isr: [1, 2], leader: none}", "{isr: [], leader: none, elr: [1], last-known-elr: [2]}"]
)
def test_a_partition_may_start_without_a_leader(text: str) -> None:
    text = text.replace("{", "{replicas: [1, 2, 3], ", 1)
    spec = read_cluster(parse(f"cluster: {{brokers: 3, topics: {{t: {{partitions: [{text}]}}}}}}\n", "s.yaml").values["cluster"])
    assert spec.topics[0].assignment[0].leader == NO_LEADER


@pytest.mark.parametrize(
    "start", [PartitionSpec((1, 2, 3), (), 1), PartitionSpec((1, 2, 3), (1,), 2), PartitionSpec((1, 2), (1, 2), 1, (1,))]
)
def test_a_log_opens_whatever_it_started_from(start: PartitionSpec) -> None:
    spec = ClusterSpec(tuple(BrokerSpec(broker) for broker in (1, 2, 3)), (TopicSpec("t", 1, len(start.replicas), (start,)),))
    assert cluster_from_data(cluster_as_data(spec), "header") == spec
    with pytest.raises(ScriptError):
        read_cluster(parse(write_cluster(spec), "s.yaml").values["cluster"])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 2**31 - 1), min_size=3, max_size=6, unique=True).flatmap(
        lambda ids: st.builds(
            ClusterSpec,
            brokers=st.just(tuple(BrokerSpec(one) for one in ids)),
            topics=st.dictionaries(st.from_regex(r"[A-Za-z0-9_-]{1,12}", fullmatch=True), st.permutations(ids), max_size=3).map(
                lambda topics: tuple(
                    TopicSpec(name, 1, 3, (PartitionSpec(tuple(placed[:3]), tuple(placed[:2]), placed[0]),))
                    for name, placed in topics.items()
                )
            ),
            network=st.builds(NetworkSpec, st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, MAX_LOSS_PPM)),
            startup=st.integers(0, 10**10),
            recovery=st.integers(0, 10**10),
        )
    )
)
def test_any_cluster_reads_back_as_it_was_written(spec: ClusterSpec) -> None:
    root = parse(write_cluster(spec), "written.yaml")
    assert read_cluster(root.values["cluster"]) == spec


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=200))
def test_no_text_breaks_the_reader(text: str) -> None:
    with pytest.raises(ScriptError) as caught:
        read_script(text, "any.yaml")
    for line in str(caught.value).split("\n"):
        assert line.startswith("any.yaml:")


def test_a_value_stays_the_text_it_was() -> None:
    root = parse("a: {b: 4.10, c: 012, d: yes, e: 2020-01-01, f: '', g: ~}\n", "s.yaml")
    inner = root.values["a"]
    assert isinstance(inner, Fields)
    assert [getattr(node, "text", None) for node in inner.values.values()] == ["4.10", "012", "yes", "2020-01-01", "", "~"]
    assert inner.get("g") is None
    assert inner.get("f") is not None


RUNNING = """
scenario: by-hand-for-a-while
cluster:
  brokers: 3
  topics: {t: {replicas: [[1, 2, 3]]}}
timeline:
  - load: {topic: t, rate: 100}
  - at: 2s
    %s
  - at: 2s
    produce: {topic: t, partition: 0, records: 10}
  - at: 2s
    arrive: 2
  - at: 2s
    answer: {follower: 2, records: 4}
  - at: 2s
    pace: timeline
  - wait: 5s
    expect: [urp == 0, lost == 0]
"""


def test_a_timeline_may_go_by_hand_for_a_while() -> None:
    scenario = read_script(RUNNING % "pace: by-hand", "s.yaml")
    result = run_scenario(scenario, CURRENT)
    assert result.held, result.failures
    with pytest.raises(ScriptError, match="'arrive' is a by-hand step; write a step 'pace: by-hand' before it"):
        read_script(RUNNING % "note: nothing", "s.yaml")
