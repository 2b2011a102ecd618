"""kafka-reassign-partitions and kafka-leader-election, word for word (CLI-04 to CLI-07)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from core.kafka.ids import TopicPartition
from scenarios.describe.described import DescribedPartition
from scenarios.errors import InputError
from scenarios.tools import leader_election, reassign
from tui.cli import main

FOO, BAR = TopicPartition("foo", 0), TopicPartition("bar", 0)


def row(
    tp: TopicPartition,
    leader: int,
    replicas: tuple[int, ...],
    isr: tuple[int, ...],
    adding: tuple[int, ...] = (),
    removing: tuple[int, ...] = (),
) -> DescribedPartition:
    return DescribedPartition(tp.topic, tp.partition, leader, replicas, isr, adding=adding, removing=removing)


def state(*rows: DescribedPartition) -> reassign.State:
    return reassign.State({TopicPartition(one.topic, one.partition): one for one in sorted(rows, key=lambda one: one.topic)}, (0, 1, 2, 3))


DONE = row(FOO, 0, (0, 1, 2), (0, 1, 2))
MOVING = row(BAR, 0, (3, 1, 0), (0, 1), adding=(3,), removing=(0,))


def test_cli_05_verify() -> None:
    """CLI-05: the output is in topic-partition order: in progress, completed, or different from the request."""
    plan = {BAR: (3, 1), FOO: (0, 1, 2)}
    assert reassign.verify(state(DONE, MOVING), plan) == [
        "Status of partition reassignment:",
        "Reassignment of partition bar-0 is still in progress.",
        "Reassignment of partition foo-0 is completed.",
    ]
    assert reassign.verify(state(DONE), {FOO: (1, 3)}) == [
        "Status of partition reassignment:",
        "There is no active reassignment of partition foo-0, but replica set is 0,1,2 rather than 1,3.",
        "",
        "Clearing broker-level throttles on brokers 0,1,2,3",
        "Clearing topic-level throttles on topic foo",
    ]


def test_cli_06_list() -> None:
    """CLI-06."""
    assert reassign.listing(state(DONE)) == ["No partition reassignments found."]
    adding = row(FOO, 0, (0, 1, 2), (0, 1), adding=(2,))
    assert reassign.listing(state(adding, MOVING)) == [
        "Current partition reassignments:",
        "bar-0: replicas: 3,1,0. adding: 3. removing: 0.",
        "foo-0: replicas: 0,1,2. adding: 2.",
    ]


@pytest.mark.parametrize(
    ("partitions", "words"),
    [
        ([], "Partition reassignment list cannot be empty"),
        ([{"topic": "foo", "partition": 0, "replicas": []}], "Partition replica list cannot be empty"),
        (
            [{"topic": "foo", "partition": 0, "replicas": [0]}, {"topic": "foo", "partition": 0, "replicas": [1]}],
            "Partition reassignment contains duplicate topic partitions: foo-0",
        ),
        (
            [{"topic": "foo", "partition": 0, "replicas": [0, 0]}],
            "Partition replica lists may not contain duplicate entries: foo-0 contains multiple entries for 0",
        ),
        (
            [{"topic": "foo", "partition": 0, "replicas": [0, 1], "log_dirs": ["any"]}],
            "Size of replicas list [0, 1] is different from size of log dirs list ['any'] for partition foo-0",
        ),
        ([{"topic": "foo"}], "no partition with topic, partition and replicas"),
        *(
            ([{"topic": "foo", "partition": 0, "replicas": replicas}], "no partition with topic, partition and replicas")
            for replicas in ("1", 1, None, [0, "1"], [0, -1], [True], [2**31])
        ),
        ([{"topic": "foo", "partition": 0, "replicas": [0], "log_dirs": "any"}], "log_dirs is not a list"),
    ],
)
def test_cli_07_plans_that_are_refused(partitions: list[dict[str, object]], words: str) -> None:
    """CLI-07."""
    with pytest.raises(InputError) as refused:
        reassign.read_plan(json.dumps({"version": 1, "partitions": partitions}))
    assert words in str(refused.value)


def test_cli_07_an_unknown_broker() -> None:
    with pytest.raises(InputError, match="Unknown broker id 9"):
        reassign.execute(state(DONE), {FOO: (0, 9)})


def test_execute_prints_the_way_back() -> None:
    assert reassign.execute(state(DONE), {FOO: (3, 1, 2)}) == [
        "Current partition replica assignment",
        "",
        '{"version":1,"partitions":[{"topic":"foo","partition":0,"replicas":[0,1,2],"log_dirs":["any","any","any"]}]}',
        "",
        "Save this to use as the --reassignment-json-file option during rollback",
        "Successfully started partition reassignment for foo-0",
    ]
    with pytest.raises(InputError, match="there is an existing partition assignment"):
        reassign.execute(state(DONE, MOVING), {FOO: (3, 1, 2)})
    assert reassign.execute(state(DONE, MOVING), {BAR: (1, 2), FOO: (3, 1, 2)}, additional=True, throttle=1_000)[-3:] == [
        "Warning: You must run --verify periodically, until the reassignment completes, to ensure the throttle is removed.",
        "The inter-broker throttle limit was set to 1000 B/s",
        "Successfully started partition reassignments for bar-0,foo-0",
    ]


def test_a_throttle_lists_who_hands_out_and_who_is_new() -> None:
    """The rules of `ReassignPartitionsUnitTest#testMoveMap`: a move in progress keeps its sources, and new replicas of a plan are added to
    its destinations.
    """
    assert reassign.throttle_acts(state(DONE), {FOO: (3, 1, 2)}, 1_000)[-1] == (
        "- set: {topic: foo, leader.replication.throttled.replicas: '0:0,0:1,0:2', follower.replication.throttled.replicas: '0:3'}"
    )
    acts = reassign.throttle_acts(state(DONE, MOVING), {BAR: (1, 2), FOO: (0, 1)}, 1_000)
    assert acts[:4] == [
        f"- set: {{broker: {broker}, leader.replication.throttled.rate: 1000, follower.replication.throttled.rate: 1000}}"
        for broker in range(4)
    ]
    assert acts[4:] == [
        "- set: {topic: bar, leader.replication.throttled.replicas: '0:0,0:1', follower.replication.throttled.replicas: '0:2,0:3'}",
        "- set: {topic: foo, leader.replication.throttled.replicas: '0:0,0:1,0:2', follower.replication.throttled.replicas: ''}",
    ]


def test_cancel_and_its_quirk() -> None:
    plan = {BAR: (3, 1), FOO: (0, 1, 2)}
    assert reassign.cancel(state(DONE, MOVING), plan) == ["Successfully cancelled partition reassignment for: bar-0"]
    adding = row(FOO, 0, (0, 1, 2), (0, 1), adding=(2,))
    assert reassign.cancel(state(adding), {FOO: (0, 1, 2)}) == ["None of the specified partition reassignments are active."]


def test_generate_reads_back_as_a_plan() -> None:
    told = reassign.generate(state(DONE, MOVING), ["foo"], [1, 2, 3])
    assert told[0] == "Current partition replica assignment"
    assert reassign.read_plan(told[1]) == {FOO: (0, 1, 2)}
    assert told[2:4] == ["", "Proposed partition reassignment configuration"]
    assert sorted(reassign.read_plan(told[4])[FOO]) == [1, 2, 3]
    with pytest.raises(InputError, match="Replication factor: 3 larger than available brokers: 1"):
        reassign.generate(state(DONE), ["foo"], [1])


def test_leader_election() -> None:
    other = row(BAR, 1, (0, 1, 2), (0, 1, 2))
    offline = row(TopicPartition("zap", 0), -1, (2, 3), (2,))
    live = frozenset({0, 1})
    told, failed = leader_election.elect(state(DONE, other, offline), live, None, preferred=True)
    assert told[0] == "Successfully completed leader election (PREFERRED) for partitions bar-0"
    assert told[1].startswith("Error completing leader election (PREFERRED) for partition: zap-0: ")
    assert "PreferredLeaderNotAvailableException" in told[1]
    assert (len(told), failed) == (2, 1)
    assert leader_election.elect(state(DONE), live, [FOO], preferred=True) == (["Valid replica already elected for partitions foo-0"], 0)
    told, failed = leader_election.elect(state(offline), live, None, preferred=False)
    assert failed == 1
    assert "EligibleLeadersNotAvailableException" in told[0]
    assert leader_election.elect(state(offline), frozenset({3}), None, preferred=False) == (
        ["Successfully completed leader election (UNCLEAN) for partitions zap-0"], 0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"partitions":[{"topic":"foo","partition":0},{"topic":"bar","partition":0}]}', [FOO, BAR]),
        ('{"partitions":[]}', "Replica election data is empty"),
        ("{}", "Replica election data is empty"),
        ('{"partitions":[{"topic":"foo","partition":0},{"topic":"foo","partition":0}]}', "contains duplicate partitions: foo-0"),
        ('{"partitions":[{"topic":"foo","partition":-1}]}', "no partition with topic and partition"),
        ('{"partitions":[{"topic":"","partition":0}]}', "no partition with topic and partition"),
        ('{"partitions":[{"topic":"foo","partition":true}]}', "no partition with topic and partition"),
        ('{"partitions":["foo-0"]}', 'an entry of partitions is not an object: "foo-0"'),
        ('{"partitions":"foo-0"}', 'partitions is not a list: "foo-0"'),
    ],
)
def test_the_partitions_of_an_election(text: str, found: list[TopicPartition] | str) -> None:
    """`LeaderElectionCommand#parseReplicaElectionData`."""
    if isinstance(found, list):
        assert leader_election.read_partitions(text) == found
    else:
        with pytest.raises(InputError, match=found):
            leader_election.read_partitions(text)


@pytest.mark.parametrize(("read", "name"), [(reassign.read_topics, "topics"), (lambda text: list(reassign.read_plan(text)), "partitions")])
def test_what_a_list_repeats_is_named(read: Callable[[str], object], name: str) -> None:
    twice = [{"topic": topic, "partition": 0, "replicas": [1]} for topic in ("b", "a", "b", "c", "a")]
    with pytest.raises(InputError, match=r"contains duplicate (entries|topic partitions): a(-0)?,b(-0)?$"):
        read(json.dumps({name: twice}))


def test_topics_to_move() -> None:
    """`ReassignPartitionsCommand#parseTopicsData`."""
    assert reassign.read_topics('{"topics":[{"topic":"foo"},{"topic":"bar"}],"version":1}') == ["foo", "bar"]
    with pytest.raises(InputError, match="write the topics to move as"):
        reassign.read_topics('{"topics":[{"topic":"foo"},{"name":"bar"}]}')
    for topics, brokers, words in (
        (["foo"], [1, 2, 1], "Broker list contains duplicate entries: 1,2,1"),
        (["foo"], [1, 7], "Unknown broker id 7"),
        (["nope"], [1, 2, 3], "Topic nope not found"),
    ):
        with pytest.raises(InputError, match=words):
            reassign.generate(state(DONE), topics, brokers)


def test_an_election_of_a_partition_that_does_not_exist_or_whose_preferred_replica_cannot_lead() -> None:
    """`ReplicationControlManager#electLeader`: the preferred replica must be in the ISR and alive; unclean, any live replica leads."""
    moved = row(FOO, 1, (0, 1, 2), (1, 2))
    live = frozenset({0, 1, 2})
    assert leader_election.outcome(state(moved), live, FOO, preferred=True) == "PREFERRED_LEADER_NOT_AVAILABLE"
    assert (
        leader_election.outcome(state(row(FOO, 1, (0, 1), (0, 1))), frozenset({1}), FOO, preferred=True) == "PREFERRED_LEADER_NOT_AVAILABLE"
    )
    assert leader_election.outcome(state(moved), live, FOO, preferred=False) == "needless"
    with pytest.raises(InputError, match=r"^bar-0: This server does not host this topic-partition\.$"):
        leader_election.outcome(state(moved), live, BAR, preferred=True)


def test_the_commands_on_a_scenario(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text('{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[2,1]}]}')
    script = tmp_path / "s.yaml"
    script.write_text(
        "scenario: s\ncluster:\n  brokers: 3\n  topics:\n    t: {replicas: [[1, 2]]}\n"
        "timeline:\n  - at: 1s\n    reassign: {partition: t-0, replicas: [1, 3]}\n  - at: 5s\n    expect: [urp == 0]\n"
    )
    written = script.read_text()
    assert main(["reassign", str(script), "--at", "500ms", "--list"]) == 0
    assert capsys.readouterr().out == "No partition reassignments found.\n"
    assert main(["reassign", str(script), "--at", "1s", "--list"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "t-0: replicas: 1,3,2. adding: 3. removing: 2."
    assert main(["reassign", str(script), "--at", "1s", "--execute", "--reassignment-json-file", str(plan)]) == 2
    assert "existing partition assignment" in capsys.readouterr().err
    assert main(["reassign", str(script), "--at", "500ms", "--execute", "--reassignment-json-file", str(plan)]) == 0
    out, err = capsys.readouterr()
    assert out.endswith("Successfully started partition reassignment for t-0\n")
    assert err == "- reassign: {partition: t-0, replicas: [2, 1]}\n"
    assert main(["reassign", str(script), "--at", "500ms", "--execute", "--reassignment-json-file", str(plan), "--throttle", "5000"]) == 0
    steps = capsys.readouterr().err.splitlines()
    assert len(steps) == 4
    script.write_text(script.read_text().partition("timeline:")[0] + "timeline:\n" + "".join(f"  {step}\n" for step in steps))
    assert main(["run", str(script)]) == 0, "the steps are those of a script"
    capsys.readouterr()
    script.write_text(written)
    assert main(["leader-election", str(script), "--election-type", "preferred", "--topic", "t", "--partition", "0"]) == 0
    assert capsys.readouterr().out == "Valid replica already elected for partitions t-0\n"
    assert main(["leader-election", str(script), "--election-type", "preferred"]) == 2


@pytest.mark.parametrize(("text", "version"), [('{"version": 2}', "2"), ("[]", "none")])
def test_only_version_1_is_supported(text: str, version: str) -> None:
    with pytest.raises(InputError, match=f"^Not supported version field value {version}$"):
        reassign.document(text)
