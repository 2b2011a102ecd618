"""The import of `kafka-consumer-groups --describe`: from text to facts, and from facts to a running cluster."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest

from core.kafka.ids import TopicPartition
from core.kafka.release import CURRENT, RELEASES, Release
from core.kafka.topic_spec import MAX_LEADER_EPOCH
from core.lab.acts import JoinGroup
from core.lab.cluster import Cluster
from scenarios import catalogue
from scenarios.describe.parse import parse_describe
from scenarios.describe.render import from_view, render_describe
from scenarios.errors import InputError
from scenarios.groups.cluster_facts import brokers_of, coordinators_of
from scenarios.groups.describe import View, describe, partitions_of
from scenarios.groups.described import GroupsError, GroupsImport
from scenarios.groups.facts import Brokers, Committed, Member
from scenarios.groups.imported import _epochs
from scenarios.groups.parse import MAX_NOTES, _instance_in, _is_consumer_member, parse_groups
from scenarios.language.script import read_script
from scenarios.releases import release_named
from scenarios.running.imported_cluster import ImportedCluster, as_script, import_cluster, settled_cluster
from scenarios.running.runner import Run
from tests.scenarios.groups.test_recorded_texts import RECORDINGS, VIEWS
from tui.cli import main

TOPICS: Final = """\
Topic: orders	PartitionCount: 3	ReplicationFactor: 3	Configs: min.insync.replicas=2
	Topic: orders	Partition: 0	Leader: 1	Replicas: 1,2,3	Isr: 1,2,3
	Topic: orders	Partition: 1	Leader: 2	Replicas: 2,3,1	Isr: 2,3
	Topic: orders	Partition: 2	Leader: 3	Replicas: 3,1,2	Isr: 3,1,2
"""
GROUPS: Final = """\
$ kafka-consumer-groups.sh --bootstrap-server localhost:9092 --describe --all-groups

GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             CONSUMER-ID                               HOST            CLIENT-ID
billing         orders          0          1200            1250            50              app-1-c1644142-e9f8-4477-be89-34488b02f75b /10.0.0.7       app-1
billing         orders          1          -               40              -               app-1-c1644142-e9f8-4477-be89-34488b02f75b /10.0.0.7       app-1
billing         orders          2          900             900             0               app-2-f58bba9c-3857-48af-a439-67c9654344f8 /10.0.0.8       app-2
billing         payments        0          7               9               2               -                                          -               -

Consumer group 'old' has no active members.

GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             CONSUMER-ID     HOST            CLIENT-ID
old             orders          2          950             900             -50             -               -               -
some other line
"""


def imported(text: str, release: Release = CURRENT, topics: str = TOPICS) -> ImportedCluster:
    return import_cluster(parse_describe(topics, "t.txt"), [(text, "g.txt")], release)


def facts(text: str) -> GroupsImport:
    return parse_groups([(text, "g.txt")])


def printed(tool_of: Release, found: GroupsImport, view: View, *, verbose: bool) -> list[str]:
    ends: dict[TopicPartition, int | None] = {tp: None for group in found.groups for tp in partitions_of(group)}
    ends.update({tp: end.offset for tp, end in found.log_ends.items()})
    return sorted(describe(tool_of.groups_tool, found.groups, Brokers(ends), view, verbose=verbose).out.split("\n"))


def described(cluster: Cluster, view: View = View.OFFSETS, *, verbose: bool = False) -> str:
    known = coordinators_of(cluster).groups
    brokers = brokers_of(cluster, (tp for group in known.values() for tp in partitions_of(group)))
    return describe(cluster.release.groups_tool, list(known.values()), brokers, view, verbose=verbose).out


# --- texts of real clusters ------------------------------------------------------------------------------------------


def complete(texts: dict[str, dict[str, Any]]) -> bool:
    """Whether the views of a moment agree: the tool asks for one view after another, and the group can change in between."""
    rows = [row[:40] for text in texts.values() for row in text.get("out", "").split("\n") if row and not row.startswith("GROUP")]
    return bool(rows) and "Error" not in "".join(rows)


def test_texts_of_real_clusters_give_the_same_texts() -> None:
    same = other = 0
    for file in sorted(RECORDINGS.glob("*.json")):
        recording = json.loads(file.read_text())
        release = RELEASES[recording["kafka"].rpartition(".")[0]]
        for texts in (texts for point in recording["points"] for texts in point["text"].values() if complete(texts)):
            found = facts("\n".join(text.get("out", "") for text in texts.values()))
            for name, text in texts.items():
                if text.get("out"):
                    view, verbose = VIEWS[name]
                    agrees = printed(release, found, view, verbose=verbose) == sorted(text["out"].split("\n"))
                    same, other = same + agrees, other + (not agrees)
    assert same > 800
    assert other <= 0.03 * same, "only the views between which the group changed differ"


# --- from text to facts ----------------------------------------------------------------------------------------------


def test_old_releases_print_commas_or_no_group() -> None:
    old = facts(
        "GROUP, TOPIC, PARTITION, CURRENT OFFSET, LOG END OFFSET, LAG, OWNER\ng, t, 0, 5, 9, 4, app_/10.0.0.7\ng, t, 1, unknown, 3, unknown, none\n"
    )
    (group,) = old.groups
    assert group.offsets == {TopicPartition("t", 0): Committed(5)}
    assert [(member.client, member.assignment) for member in group.members] == [("app", (TopicPartition("t", 0),))]
    (spaced,) = facts("GROUP, TOPIC, PARTITION, CURRENT OFFSET, LOG END OFFSET, LAG, OWNER\nbills, old, t, 0, 5, 9, 4, none\n").groups
    assert spaced.name == "bills, old", "only the name of the group can contain a comma"
    columns = (
        f"{'TOPIC':30} {'PARTITION':10} {'CURRENT-OFFSET':15} {'LOG-END-OFFSET':15} {'LAG':10} {'CONSUMER-ID':50}{'HOST':30} CLIENT-ID\n"
    )
    row = f"{'t':30} {0:<10} {5:<15} {9:<15} {4:<10} {'a-' + 'x' * 60:50}{'/10.0.0.7':30} a\n"
    named = facts(f"$ bin/kafka-consumer-groups.sh --describe --group billing\n{columns}{row}")
    assert [(group.name, group.members[0].host) for group in named.groups] == [("billing", "/10.0.0.7")]
    unnamed = facts(columns + row)
    assert unnamed.groups[0].name == "g"
    assert unnamed.notes == ("g.txt:2: the table doesn't name its group; it is read as group 'g'",)


@pytest.mark.parametrize(
    "line",
    [
        "Consumer group 'billing' has no active members.",
        "Warning: Consumer group 'billing' is rebalancing.",
        "$ kafka-consumer-groups --describe --group=billing",
        "$ kafka-consumer-groups --describe --group 'billing'",
    ],
)
def test_a_line_before_the_table_names_its_group(line: str) -> None:
    table = "TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID\nt 0 5 9 4 - - -\n"
    read = facts(f"{line}\n\n{table}")
    assert ([group.name for group in read.groups], read.notes) == (["billing"], ())


@pytest.mark.parametrize(
    ("member", "uses"),
    [
        (Member("app-1-c1644142-e9f8-4477-be89-34488b02f75b", "app-1", "/h"), False),
        (Member("A1b2C3d4E5f6G7h8I9j0K_", "app-1", "/h"), True),
        (Member("A1b2C3d4E5f6G7h8I9j0K", "app-1", "/h"), False),
        (Member("app-1-d4E5f6G7h8I9j0K_", "app-1", "/h"), False),
        (Member("A1b2-3d4E5f6G7h8I9j0K_", "app", "/h", (), "A1b2"), False),
        (Member("m", "m", "/h", (), "", 0), True),
        (Member("m", "m", "/h", upgraded=False), True),
    ],
)
def test_which_protocol_a_member_uses(member: Member, uses: bool) -> None:
    """Members of the consumer protocol have random IDs (`Uuid#randomUuid`); IDs of classic members begin with client.id or group.instance.id."""
    assert _is_consumer_member(member) is uses


@pytest.mark.parametrize(
    ("member_id", "client", "instance"),
    [
        ("app-c1644142-e9f8-4477-be89-34488b02f75b", "app", ""),
        ("host-1-c1644142-e9f8-4477-be89-34488b02f75b", "app", "host-1"),
        ("-c1644142-e9f8-4477-be89-34488b02f75b", "app", ""),
        ("host-1-c1644142-e9f8-4477-be89-34488b02f75", "app", ""),
    ],
)
def test_the_instance_id_at_the_beginning_of_a_member_id(member_id: str, client: str, instance: str) -> None:
    assert _instance_in(member_id, client) == instance


def test_assignments_of_members_in_every_notation() -> None:
    """Releases 3.8 and 3.9 omit the names of topics; numbers of partitions with ten digits are left out."""
    header = "GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS ASSIGNMENT\n"
    for written, partitions, notes in (
        ("-", [], 0),
        ("orders(0,1), pay(2)", ["orders-0", "orders-1", "pay-2"], 0),
        ("orders:0,1;pay:2", ["orders-0", "orders-1", "pay-2"], 0),
        ("(0,1), (2)", [], 0),
        ("orders(123456789,1234567890)", ["orders-123456789"], 0),
        ("orders(0", [], 1),
    ):
        read = facts(f"{header}g m /h c 3 {written}\n")
        assert [str(tp) for group in read.groups for member in group.members for tp in member.assignment] == partitions, written
        assert len(read.notes) == notes, read.notes


@pytest.mark.parametrize(
    "mangle", [lambda line: re.sub(" +", " ", line), lambda line: f"> {line}", lambda line: f"kafka-1  | {line}", str.rstrip]
)
def test_pasted_text_has_the_same_facts(mangle: Any) -> None:
    members = (
        "GROUP           CONSUMER-ID     GROUP-INSTANCE-ID HOST            CLIENT-ID       #PARTITIONS     ASSIGNMENT\n"
        "billing         k2-07           -                 /127.0.0.1      k2              1               m1(1)\n"
        "billing         inst-1-4b                         /127.0.0.1      k1              2               m1(0,2), m2(0)\n"
        "\n"
        "GROUP                     COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE           #MEMBERS\n"
        "billing                   127.0.0.1:23191 (1)                            PreparingRebalance 2\n"
    )
    text = members + GROUPS.partition("\n")[2].partition("Consumer")[0]
    found = facts("\n".join(mangle(line) for line in text.split("\n")))
    assert found.groups == facts(text).groups
    assert not found.notes
    assert (found.groups[0].state, found.groups[0].coordinator_id, len(found.groups[0].members)) == ("PreparingRebalance", 1, 4)


def test_each_line_that_does_not_fit_has_a_note() -> None:
    head = GROUPS.split("\n")[2]
    row = "g               t               0          {}              {}              {}               -               -               -"
    rows = [row.format(5, 9, 4), row.format(6, 9, 3), row.format(6, 8, 3), row.format(10**13, 9, 3), "g t", row.format("x", 9, 3)]
    assert facts("\n".join([head, *rows])).notes == (
        "g.txt:3: t-0 has a different CURRENT-OFFSET in an earlier row, 5; the earlier row is ignored",
        "g.txt:4: LAG is 3, but the offsets differ by 2; the LAG is ignored",
        "g.txt:4: LOG-END-OFFSET of t-0 is 9 at g.txt:2; the larger one is used",
        "g.txt:5: the row is ignored because isrlab accepts offsets up to 1,000,000,000,000 and partition numbers below 2,147,483,648",
        "g.txt:6: ignored because it is not a line of kafka-consumer-groups --describe: 'g t'",
        f"g.txt:7: ignored because it is not a line of kafka-consumer-groups --describe: '{rows[-1][:77]}...'",
    )


def test_hostile_text() -> None:
    head = GROUPS.split("\n")[2]
    row = "g               t               0          5               9               4               -               -               -"
    found = facts("\n".join([head, row, *["\x1b[31mjunk\x00\u202e" * 3] * (MAX_NOTES + 5), "x" * 200_000]))
    assert len(found.notes) == MAX_NOTES + 1
    assert found.notes[-1] == "g.txt: and 6 more notes on lines"
    assert "\x1b" not in "".join(found.notes)
    for wrong in ("", "Topic: orders\n", head, "\x00" * 1_000):
        with pytest.raises(GroupsError, match=r"g\.txt:1"):
            facts(wrong)


# --- from facts to a cluster -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    return settled_cluster(imported(GROUPS), CURRENT, 0, None)


def test_lag_on_the_screen_equals_lag_in_the_text(cluster: Cluster) -> None:
    text = re.sub(r"-[0-9a-f]{8}\b", "", described(cluster))
    assert [line.split()[:6] + line.split()[8:] for line in text.split("\n") if line and "GROUP" not in line] == [
        ["billing", "orders", "0", "1200", "1250", "50", "app-1"],
        ["billing", "orders", "1", "-", "40", "-", "app-1"],
        ["billing", "orders", "2", "900", "900", "0", "app-2"],
        ["old", "orders", "2", "950", "900", "-50", "-"],
    ]


def test_what_was_consumed_before_the_start_is_not_skipped(cluster: Cluster) -> None:
    cluster.run_until(cluster.now + 10_000_000)
    view = cluster.view()
    assert {(each.tp, each.processed, each.skipped, each.again) for each in view.consumption if each.processed} == {
        (TopicPartition("orders", 0), 50, 0, 0)
    }
    assert cluster.durability_report().lost == ()


def test_the_event_log_has_the_offsets_of_the_start() -> None:
    told: list[tuple[Any, ...]] = []
    Cluster(imported(GROUPS).scenario.spec, CURRENT, sink=told.append)
    assert [event[5:] for event in told if event[3] == "offset-committed"] == [
        ("billing", "orders", 0, 1200, -1), ("billing", "orders", 2, 900, -1), ("old", "orders", 2, 950, -1)
    ]  # fmt: skip


def test_notes_name_what_is_left_out_or_concluded() -> None:
    assert imported(GROUPS).notes[1:] == (
        "g.txt:13: ignored because it is not a line of kafka-consumer-groups --describe: 'some other line'",
        "g.txt:7: the output of kafka-topics has no topic payments, so the row is ignored",
        "the imported output doesn't say how many records a replica outside of the Isr lacks; such a replica starts with one record fewer: orders-1",
        "the output of kafka-topics has no __consumer_offsets; the topic starts with 50 partitions",
    )


def test_script_of_an_import_is_the_same_cluster() -> None:
    found = imported(GROUPS)
    script = read_script(as_script(found), "mine.yaml")
    assert script.spec == found.scenario.spec
    assert [step.acts for step in script.steps] == [step.acts for step in found.scenario.steps]


@pytest.mark.parametrize("name", ["j1-killed-member", "j1-static-member", "j2-lag", "j1-killed-member-consumer"])
def test_what_a_session_prints_imports_to_the_same_text(name: str) -> None:
    scenario = catalogue.load(name)
    release = release_named(scenario.releases[-1])
    run = Run(scenario, release)
    run.run()
    view = run.cluster.view()
    topics = render_describe(from_view(view), release, live_brokers=frozenset(broker.id for broker in view.brokers if not broker.fenced))
    before = described(run.cluster)
    views = before + described(run.cluster, View.MEMBERS, verbose=True) + described(run.cluster, View.STATE)
    after = described(settled_cluster(imported(views, release, topics), release, 0, None))

    def rows(text: str) -> list[str]:
        return sorted(re.sub(r"-[0-9a-f]{8}\b", "-", line) for line in text.split("\n"))

    assert rows(after) == rows(before)


def test_leader_epochs_of_commits_find_a_truncation() -> None:
    verbose = (
        "GROUP           TOPIC           PARTITION  LEADER-EPOCH    CURRENT-OFFSET  LOG-END-OFFSET  LAG             CONSUMER-ID     HOST            CLIENT-ID\n"
        "g               orders          0          2               100             400             300             -               -               -\n"
        "h               orders          0          5               300             400             100             -               -               -\n"
        "g               orders          1          3               250             100             -150            -               -               -\n"
    )
    spec = imported(verbose).scenario.spec
    first, second, _ = spec.topics[0].assignment
    assert (first.leader_epoch, first.logs[0].epochs) == (5, ((2, 0), (5, 100)))
    assert (second.leader_epoch, second.logs[0].epochs) == (4, ((0, 0),))
    assert [offset for group in spec.groups for offset in group.offsets] == [
        (TopicPartition("orders", 0), 100, 2), (TopicPartition("orders", 1), 250, 3), (TopicPartition("orders", 0), 300, 5)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("commits", "entries", "latest"),
    [
        ([], [(0, 0)], 0),
        ([Committed(50)], [(0, 0)], 0),
        ([Committed(50, 2)], [(2, 0)], 2),
        ([Committed(100, 5), Committed(40, 2), Committed(60, 2)], [(2, 0), (5, 60)], 5),
        ([Committed(101, 3)], [(0, 0)], 4),
        ([Committed(101, 3), Committed(50, 6)], [(6, 0)], 6),
        ([Committed(101, 1), Committed(50, 0), Committed(90, 2)], [(0, 0), (2, 50)], 2),
        ([Committed(50, 1), Committed(50, 2), Committed(80, 3)], [(1, 0), (2, 50)], 3),
    ],
)
def test_the_leader_epochs_of_a_log_by_its_commits(commits: list[Committed], entries: list[tuple[int, int]], latest: int) -> None:
    """A commit says the epoch of the record before it; a commit beyond the end, 100, says that the next leader has truncated the log."""
    assert _epochs(100, commits) == (tuple(entries), latest)


@pytest.mark.parametrize(("epoch", "kept"), [(MAX_LEADER_EPOCH, MAX_LEADER_EPOCH), (MAX_LEADER_EPOCH + 1, -1)])
def test_leader_epochs_of_commits_are_kept_up_to_the_largest(epoch: int, kept: int) -> None:
    verbose = (
        "GROUP           TOPIC           PARTITION  LEADER-EPOCH    CURRENT-OFFSET  LOG-END-OFFSET  LAG             CONSUMER-ID     HOST            CLIENT-ID\n"
        f"g               orders          0          {epoch:<15} 100             400             300             -               -               -\n"
    )
    (group,) = imported(verbose).scenario.spec.groups
    assert group.offsets == ((TopicPartition("orders", 0), 100, kept),)


def test_names_of_clients_are_valid_and_unique() -> None:
    head = GROUPS.split("\n")[2]
    row = "{:15} orders          {}          5               9               4               {:42} /10.0.0.7       {}"
    text = "\n".join(
        [head, *(row.format(f"g{number}", number, f"id-{number}", client) for number, client in enumerate(["b1", "my app", "my app"]))]
    )
    found = imported(text)
    assert [step.acts[0].consumer for step in found.scenario.steps] == ["client-b1", "my-app", "my-app-2"]  # type: ignore[attr-defined]
    assert (
        "clients whose names are already taken or not valid in isrlab have new names: 'b1' is client-b1, 'my app' is my-app, 'my app' is my-app-2"
        in found.notes
    )


def test_a_release_without_groups_refuses() -> None:
    with pytest.raises(InputError, match=r"release 0\.8\.2 has no group coordinator"):
        imported(GROUPS, RELEASES["0.8.2"])


# --- the commands ----------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    topics, groups = tmp_path / "mine.txt", tmp_path / "groups.txt"
    topics.write_text(TOPICS)
    groups.write_text(GROUPS)
    return str(topics), str(groups)


def test_commands_take_the_groups_beside_the_topics(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    topics, groups = files
    assert main(["groups", topics, "--groups", groups, "--reset-offsets", "--group", "old", "--topic", "orders:2", "--to-latest"]) == 0
    assert capsys.readouterr().out.split("\n")[2].split() == ["old", "orders", "2", "900"]
    assert main(["import", topics, "--groups", groups]) == 0
    captured = capsys.readouterr()
    assert "billing: {orders-0: 1200, orders-2: 900}" in captured.out
    assert "the output of kafka-topics has no topic payments" in captured.err
    for arguments in (["groups", topics, "--list"], ["play", "j2-lag", "--groups", groups], ["import", "-", "--groups", "-"]):
        assert main(arguments) == 2
        assert "--groups" in capsys.readouterr().err


def test_at_most_10_000_members_are_imported() -> None:
    title = "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID"
    rows = [f"g orders {number} 1 1 0 m{number} /h c" for number in range(10_001)]
    found = facts("\n".join([title, *rows]))
    (group,) = found.groups
    assert len(group.members) == 10_000
    assert [note for note in found.notes if "at most 10,000 members" in note]


def test_a_group_of_which_nothing_is_known_is_not_imported() -> None:
    text = "GROUP COORDINATOR (ID) ASSIGNMENT-STRATEGY STATE #MEMBERS\nempty localhost:9092 (1) range Stable 2\n"
    assert any("has neither members nor offsets in the imported output; it is not imported" in note for note in imported(text).notes)


@pytest.mark.parametrize("upgraded", [True, False])
def test_members_of_the_classic_protocol_in_a_consumer_group_are_not_upgraded(upgraded: bool) -> None:
    text = (
        "GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS CURRENT-EPOCH CURRENT-ASSIGNMENT TARGET-EPOCH TARGET-ASSIGNMENT UPGRADED\n"
        f"g m1 /h c 1 3 orders:0 3 orders:0 {str(upgraded).lower()}\n"
    )
    ((member,),) = [group.members for group in facts(text).groups]
    assert member.upgraded is upgraded


@pytest.mark.parametrize(("name", "kept"), [("r4nD0m-UUID_of-22chars", True), ("-4nD0m-UUID_of-22chars", False), ("m1", False)])
def test_a_consumer_keeps_the_member_id_that_it_chose_itself(name: str, kept: bool) -> None:
    """KIP-1082: the ID is a random UUID, 22 characters of which the first is no dash (`Uuid#randomUuid`). A member gets another one if the
    printed ID is none of these."""
    text = (
        "GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS CURRENT-EPOCH CURRENT-ASSIGNMENT TARGET-EPOCH TARGET-ASSIGNMENT UPGRADED\n"
        f"g {name} /h c 1 3 orders:0 3 orders:0 true\n"
    )
    ((join,),) = [step.acts for step in imported(text).scenario.steps]
    assert isinstance(join, JoinGroup)
    assert (join.protocol, join.member_id) == ("consumer", name if kept else None)
