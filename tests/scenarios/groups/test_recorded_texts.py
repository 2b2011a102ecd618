"""The output of `kafka-consumer-groups --describe` and `--list`, byte for byte as real clusters printed it."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from core.kafka.ids import TopicPartition
from core.kafka.release import RELEASES
from scenarios.groups.describe import View, describe
from scenarios.groups.errors import group_not_found, leaderless
from scenarios.groups.facts import CLASSIC, Brokers, Committed, Group
from scenarios.groups.listing import list_text, states_named, types_named
from tests.scenarios.groups.recorded_facts import Recorded, tables

RECORDINGS: Final = Path(__file__).parents[2] / "fidelity" / "drills-groups"

VIEWS: Final = {
    "describe": (View.OFFSETS, False), "members": (View.MEMBERS, False), "members-verbose": (View.MEMBERS, True), "state": (View.STATE, False),
    "offsets-verbose": (View.OFFSETS, True), "state-verbose": (View.STATE, True),
}  # fmt: skip
"""The views by their names in the recordings."""


def view_of(arguments: list[str]) -> tuple[View, bool]:
    """Return the view that the arguments of a command ask for."""
    view = View.MEMBERS if "--members" in arguments else View.STATE if "--state" in arguments else View.OFFSETS
    return view, "--verbose" in arguments


def groups_named(arguments: list[str]) -> list[str]:
    """Return the groups that the arguments of a command name."""
    return [value for option, value in itertools.pairwise(arguments) if option == "--group"]


def result(act: dict[str, Any]) -> dict[str, Any]:
    """Return what a command printed."""
    return act["result"] if isinstance(act.get("result"), dict) else act


def moments(recording: dict[str, Any]) -> Iterator[tuple[str, list[str], list[tuple[View, bool, str, str]]]]:
    """Yield the moments at which groups were described: a label, the groups, and the texts of the views."""
    for point in recording["points"]:
        for group, texts in point["text"].items():
            yield point["label"], [group], [(*VIEWS[name], text.get("out", ""), text.get("err", "")) for name, text in texts.items()]
    run: list[tuple[View, bool, str, str]] = []
    former: list[str] = []
    for act in [*recording["acts"], {"op": "end"}]:
        arguments = act.get("args", []) if act["op"] == "cli" else []
        describes = "--describe" in arguments and "--group" in arguments and "exit" not in result(act)
        if run and (
            not describes or groups_named(arguments) != former or view_of(arguments) in [(view, verbose) for view, verbose, _, _ in run]
        ):
            yield "command", former, run
            run = []
        if describes:
            former = groups_named(arguments)
            run.append((*view_of(arguments), result(act).get("out", ""), result(act).get("err", "")))


def reprinted(release: str, names: list[str], texts: list[tuple[View, bool, str, str]]) -> list[tuple[str, str, str, str]]:
    """For each text of a moment, return the recorded stdout, the reprinted stdout, the recorded stderr, and the reprinted stderr."""
    tool, recorded, found = RELEASES[release].groups_tool, Recorded(), []
    for _, _, out, _ in texts:
        recorded.learn(out)
    for view, verbose, out, err in texts:
        if "Error:" in out:
            continue
        known = {group.name: group for group in recorded.groups(out)}
        state = recorded.states
        groups = [known.get(name, Group(name, state.get(name, "Stable"), "", 0, recorded.kinds.get(name, CLASSIC))) for name in names]
        said = describe(tool, groups, recorded.brokers, view, verbose=verbose)
        found.append((out, said.out, err, said.err))
    return found


UNKNOWN_ORDER: Final = frozenset({"4.1.1-assignor-consumer-uniform", "4.1.1-consumer-paused-zombie", "4.1.1-join-consumer-range"})
"""Recordings of groups with the consumer protocol in which the order of some rows is unknown, because it depends on random IDs of topics or
members.
"""

CHANGING: Final = {
    ("4.1.1-max-poll-interval-classic", "past max.poll.interval"), ("4.3.1-join-consumer-uniform", "right after c2 joined"),
    ("4.3.1-join-consumer-uniform", "c4 joining"), ("4.1.1-slow-member-consumer", "while c1 works"),
    ("4.1.1-upgrade-classic-to-consumer", "n1 joining"), ("4.1.1-join-consumer-uniform", "c4 joining"),
    ("4.1.1-join-consumer-range", "right after c2 joined"), ("4.1.1-join-consumer-range", "c4 joining"),
}  # fmt: skip
"""Moments at which the state of the group changed between two views, so that the state is unknown for some of the texts."""


@pytest.mark.parametrize("path", sorted(RECORDINGS.glob("*.json")), ids=lambda path: path.stem)
def test_describe_prints_what_kafka_printed(path: Path) -> None:
    recording = json.loads(path.read_text())
    release = ".".join(recording["kafka"].split(".")[:2])
    for label, names, texts in moments(recording):
        for out, printed, err, warned in reprinted(release, names, texts):
            assert printed == out or (same_rows(printed, out) and path.stem in UNKNOWN_ORDER), label
            assert warned == err or (path.stem, label) in CHANGING, label


def same_rows(one: str, other: str) -> bool:
    """Whether two texts have the same lines, in any order."""
    return sorted(one.splitlines()) == sorted(other.splitlines())


ATTEMPTS: Final = re.compile(r", deadlineMs=\d+, tries=\d+, nextAllowedTryMs=\d+\) timed out at \d+ after \d+ attempt\(s\)")
"""The part of a message about a timeout that depends on the clock."""


@pytest.mark.parametrize("kafka", ["2.8.2", "4.1.1", "4.3.1"])
def test_errors_are_those_that_kafka_printed(kafka: str) -> None:
    tool = RELEASES[kafka[:3]].groups_tool
    lost = json.loads((RECORDINGS / f"{kafka}-partition-without-leader.json").read_text())
    asked = [act for act in lost["acts"] if act["op"] == "cli" and "--state" not in act["args"] and "--members" not in act["args"]]
    texts = {ATTEMPTS.sub(") timed out", result(act).get("out", "")) for act in asked if "Error:" in result(act).get("out", "")}
    assert texts == {leaderless(tool, [TopicPartition("nl", 1)]).out}
    reset = json.loads((RECORDINGS / f"{kafka}-reset-offsets.json").read_text())
    unknown = {
        result(act)["out"] for act in reset["acts"] if act["op"] == "cli" and "--describe" in act["args"] and "exit" not in result(act)
    }
    assert unknown == {group_not_found(tool, "gr").out}


@pytest.mark.parametrize("path", sorted(RECORDINGS.glob("*-describe-many.json")), ids=lambda path: path.stem)
def test_list_prints_what_kafka_printed(path: Path) -> None:
    """The order of the groups is no evidence, because groups of other drills are listed too."""
    recording = json.loads(path.read_text())
    tool = RELEASES[".".join(recording["kafka"].split(".")[:2])].groups_tool
    for act in recording["acts"]:
        arguments = act.get("args", [])
        if act["op"] != "cli" or "--list" not in arguments or "EXC" in result(act).get("err", ""):
            continue
        if "exit" in result(act):
            with pytest.raises(ValueError) as refused:
                states_named(tool, arguments[-1])
            assert result(act)["err"].startswith(f"{refused.value}\n")
            continue
        (rows,) = tables(result(act)["out"])
        groups = [Group(row["GROUP"], row.get("STATE", ""), "", 0, row.get("TYPE", "")) for row in rows]
        filtered = arguments[-1] if not arguments[-1].startswith("--") else ""
        states = states_named(tool, filtered) if filtered and "--state" in arguments else None
        types = types_named(filtered) if filtered and "--type" in arguments else None
        printed = list_text(tool, groups, states, types, with_states="--state" in arguments, with_types="--type" in arguments)
        assert sorted(printed.splitlines()) == sorted(result(act)["out"].splitlines())


def test_the_table_of_offsets_of_3_9_does_not_end_with_a_line_break() -> None:
    """3.9.1 breaks the line before each row of this table, so that two groups have no empty line between them, and the output ends in a row."""
    offsets = {TopicPartition("audit", 0): Committed(18)}
    groups = [Group(name, "Empty", "b1:9092", 1, offsets=offsets) for name in ("one", "two")]
    printed = describe(RELEASES["3.9"].groups_tool, groups, Brokers({TopicPartition("audit", 0): 26})).out
    header = "GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             CONSUMER-ID     HOST            CLIENT-ID"
    row = "             audit           0          18              26              8               -               -               -"
    assert printed == f"\n{header}\none{row}\n{header}\ntwo{row}"
    assert describe(RELEASES["4.0"].groups_tool, groups, Brokers({TopicPartition("audit", 0): 26})).out == (
        f"\n{header}\none{row}\n\n{header}\ntwo{row}\n"
    )
