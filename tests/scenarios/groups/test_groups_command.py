"""The command `isrlab groups`: one session, with the tool of several releases."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from core.kafka.release import GroupsTool
from core.lab.cluster import Cluster
from scenarios.exports.cluster_at import cluster_at
from scenarios.groups.cluster_facts import brokers_of, coordinators_of
from scenarios.groups.describe import View, describe, partitions_of
from scenarios.groups.facts import Printed
from scenarios.groups.listing import list_text
from tui.cli import main

SCRIPT = """\
scenario: one-member
about: A consumer reads two of three records of orders-0, and all of orders-1.
cluster:
  brokers: 2
  settings: {offsets.topic.num.partitions: 1, offsets.topic.replication.factor: 1}
  topics:
    orders: {replicas: [[1, 2], [2, 1]]}
timeline:
  - at: 1s
    produce: {topic: orders, partition: 0, records: 2}
  - produce: {topic: orders, partition: 1, records: 4}
  - at: 2s
    join-group: {consumer: app, group: billing, topics: [orders], reset: earliest, commit: after}
  - at: 8s
    stall-consumer: {consumer: app, stall-time: 5s}
  - produce: {topic: orders, partition: 0, records: 1}
  - wait: 1s
"""
"""At 9 s, the last record of orders-0 is not committed, because the consumer is busy."""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("groups") / "one-member.yaml"
    path.write_text(SCRIPT)
    return str(path)


@pytest.fixture(scope="module")
def cluster(script: str) -> Cluster:
    return cluster_at(script, None, log=False)


def shown(cluster: Cluster, tool: GroupsTool, view: View = View.OFFSETS) -> str:
    groups = list(coordinators_of(cluster).groups.values())
    printed = describe(tool, groups, brokers_of(cluster, partitions_of(groups[0])), view)
    assert printed == Printed(printed.out)
    return re.sub(r"app-[0-9a-f]{8}", "app-01234567", printed.out)


def test_every_form_of_the_offsets(cluster: Cluster) -> None:
    assert shown(cluster, GroupsTool.COMMAS).splitlines() == [
        "GROUP, TOPIC, PARTITION, CURRENT OFFSET, LOG END OFFSET, LAG, OWNER",
        "billing, orders, 0, 2, 3, 1, app_/127.0.0.1",
        "billing, orders, 1, 4, 4, 0, app_/127.0.0.1",
    ]
    fixed, dynamic, named = (
        shown(cluster, each).splitlines()[2] for each in (GroupsTool.FIXED_WIDTHS, GroupsTool.VIEWS, GroupsTool.SORTED)
    )
    assert fixed == f"{'orders':30} 0          2               3               1          {'app-01234567':50}{'/127.0.0.1':30} app"
    assert dynamic == "orders          0          2               3               1               app-01234567    /127.0.0.1      app"
    assert named == f"billing         {dynamic}"


def test_members_and_state(cluster: Cluster) -> None:
    assert (
        shown(cluster, GroupsTool.VIEWS, View.MEMBERS).splitlines()[2] == "app-01234567    /127.0.0.1      app             2               "
    )
    title, row = shown(cluster, GroupsTool.SORTED, View.STATE).splitlines()[1:]
    assert title == "GROUP           COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE                #MEMBERS"
    assert row == "billing         b1:9092  (1)              range                Stable               1"
    assert list_text(GroupsTool.SORTED, list(coordinators_of(cluster).groups.values())) == "billing\n"


def test_the_command_prints_to_both_streams(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["groups", script, "--at", "3s", "--describe", "--group", "billing"]) == 0
    assert capsys.readouterr() == ("", "\nWarning: Consumer group 'billing' is rebalancing.\n")
    assert main(["groups", script, "--at", "3s", "--describe", "--group", "other", "--release", "2.8"]) == 0
    assert capsys.readouterr() == ("\nError: Consumer group 'other' does not exist.\n", "")
    assert main(["groups", script, "--at", "3s", "--list", "--state", "stable"]) == 0
    assert capsys.readouterr().out == "GROUP                     STATE               \n"


def test_a_dry_run_of_a_reset(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    reset = ["groups", script, "--reset-offsets", "--group", "new", "--topic", "orders:0"]
    assert main([*reset, "--to-offset", "9"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[2] == "new             orders          0          3"
    assert err.endswith("New offset (9) is higher than latest offset for topic partition orders-0. Value will be set to 3\n")
    assert main(["groups", script, "--reset-offsets", "--group", "billing", "--topic", "orders", "--to-latest"]) == 0
    assert "inactive, but the current state is Stable." in capsys.readouterr().out
    assert main([*reset, "--shift-by", "-1"]) == 2
    assert main([*reset, "--to-latest", "--to-earliest"]) == 2
    assert main([*reset, "--to-datetime", "1970-01-01T00:00:00.000", "--export"]) == 0
    assert capsys.readouterr().out.startswith("orders,0,")
    capsys.readouterr()
    assert main(["groups", script, "--reset-offsets", "--all-groups", "--all-topics", "--to-current"]) == 0
    assert "group 'billing' is inactive, but the current state is Stable" in capsys.readouterr().out
    assert (
        main(["groups", script, "--reset-offsets", "--group", "new", "--group", "old", "--topic", "orders:0", "--to-latest", "--export"])
        == 0
    )
    assert sorted(capsys.readouterr().out.split()) == ["new,orders,0,3", "old,orders,0,3"]
    assert main([*reset[:5], "--topic", "nosuch", "--to-latest"]) == 0
    assert "This server does not host this topic-partition." in capsys.readouterr().out
    assert main([*reset[:5], "--topic", "orders:0,9", "--to-latest"]) == 0
    assert 'The partitions "orders-9" do not exist' in capsys.readouterr().out
    assert main([*reset[:3], "--all-groups", "--group", "new", "--topic", "orders", "--to-latest"]) == 2
    assert main([*reset, "--group", "old", "--to-latest", "--release", "2.0"]) == 2
    assert "2.4 or later" in capsys.readouterr().err
    assert main([*reset, "--to-datetime", "yesterday"]) == 2
    assert main([*reset[:-2], "--from-file", "no-such-file"]) == 2
    assert "cannot read 'no-such-file'" in capsys.readouterr().err


def test_what_deletions_would_print(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["groups", script, "--delete", "--group", "billing"]) == 0
    assert "* Group 'billing' could not be deleted due to" in capsys.readouterr().out
    assert main(["groups", script, "--delete-offsets", "--group", "billing", "--topic", "orders"]) == 0
    assert "actively subscribed" in capsys.readouterr().out
    assert main(["groups", script, "--delete-offsets", "--group", "billing"]) == 2
    assert main(["groups", script, "--delete"]) == 2


BURROW = """\
scenario: burrow
about: The consumer of a group stops reading for minutes.
cluster: {brokers: 3, settings: {offsets.topic.num.partitions: 5}, topics: {orders: {partitions: 1, replication-factor: 3}}}
timeline:
  - load: {topic: orders, rate: 10}
  - at: 2s
    join-group: {consumer: app1, group: billing, topics: [orders]}
  - at: 60s
    expect: ["burrow(billing) == ok", "burrow(billing, orders-0) == ok", "time-lag(billing) < 6s"]
  - stall-consumer: {consumer: app1, stall-time: 250s}
  - at: 200s
    expect: ["burrow(billing) == err", "burrow(billing, orders-0) == stop", "lag(billing) > 900", "stable-lag(billing, orders-0) > 900",
             time-lag(billing) > 130s, "time-lag(billing, orders-0) < 145s"]
"""
"""A script in which the consumer commits every 5 s until it becomes busy for minutes."""


def test_burrow_judges_a_group_by_its_commits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "burrow.yaml"
    path.write_text(BURROW)
    assert main(["run", str(path)]) == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--describe"], "Option [describe] takes one of these options"),
        (["--describe", "--group", "g", "--members", "--offsets"], "takes at most one of these options: [members], [offsets], [state]"),
        (["--describe", "--group", "g", "--all-groups"], "give only one of them"),
        (["--describe", "--group", "g", "--state", "Empty"], "--state takes no value with --describe"),
        (["--describe", "--group", "g", "--type"], "--type is an option of --list"),
        (["--list", "--group", "g"], "--list has only the options --state and --type"),
        (["--list", "--state", "Nonsense", "--at", "0s"], "Valid states are: Empty, Stable, Reconciling"),
        (["--list", "--type", "share", "--at", "0s"], "Valid types are: Consumer, Classic"),
        (["--list", "--type", "classic", "--at", "0s", "--release", "2.8"], "--list of 2.8 does not have this option"),
        (["--list", "--state", "stable", "--at", "0s", "--release", "2.4"], "--list of 2.4 does not have this option"),
        (["--describe", "--group", "g", "--members", "--at", "0s", "--release", "0.11"], "use 1.1 or later"),
        (["--describe", "--all-groups", "--at", "0s", "--release", "1.1"], "takes one group"),
        (["--list", "--at", "0s", "--release", "0.8.2"], "has no group coordinator"),
    ],
)
def test_wrong_options_are_refused(script: str, capsys: pytest.CaptureFixture[str], options: list[str], why: str) -> None:
    assert main(["groups", script, *options]) == 2
    assert why in capsys.readouterr().err
