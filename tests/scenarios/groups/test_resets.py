"""Dry runs of `kafka-consumer-groups --reset-offsets`, byte for byte as real clusters printed them, and the vector OFF-13."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Final

import attrs
import pytest

from core.kafka.clients.group_member.offset_reset import FROM_FILE, Target, moment
from core.kafka.ids import TopicPartition
from core.kafka.release import RELEASES
from scenarios.groups.deletions import delete_groups, delete_offsets
from scenarios.groups.errors import unknown_partitions, unknown_topic
from scenarios.groups.facts import Brokers, Committed, Group
from scenarios.groups.resets import GroupReset, export, new_offset, read_offsets, reset

RECORDINGS: Final = Path(__file__).parents[2] / "fidelity" / "drills-groups"

TR: Final = [TopicPartition("tr", number) for number in range(3)]
TR9: Final = TopicPartition("tr9", 0)
BROKERS: Final = Brokers({TR[0]: 20, TR[1]: 10, TR[2]: 0, TR9: 7}, {TR[0]: 0, TR[1]: 4, TR[2]: 0, TR9: 0})
"""What the recordings say about the partitions."""

OPTIONS: Final = ("to-offset", "to-earliest", "to-latest", "to-current", "shift-by", "to-datetime", "by-duration", "from-file")

BEGAN: Final = 1_700_000_000_000_000
"""The timestamp of the first record of each partition, in µs."""

APART: Final = {TR[0]: 1_000_000, TR[1]: 60_000_000, TR9: 1_000_000}
"""The time between the records of a partition, in µs."""


def target_of(arguments: list[str]) -> Target | None:
    """Return what the arguments of a recorded command go to; None for a form that isrlab does not print."""
    found = [option for option in OPTIONS if f"--{option}" in arguments]
    scoped = "--topic" in arguments or "--all-topics" in arguments or found == ["from-file"]
    if len(found) != 1 or not scoped or "--group" not in arguments:
        return None
    option = found[0]
    value = arguments[arguments.index(f"--{option}") + 1] if option in ("to-offset", "shift-by", "to-datetime", "by-duration") else "0"
    if option == "to-datetime":
        return Target(option, moment(value)) if "T" in value else None
    if option == "by-duration":
        return {"P20000D": Target(option, 0), "PT1M": Target(option, 2 * BEGAN)}.get(value)
    return Target(option, int(value))


def at_times(at: int) -> dict[TopicPartition, int]:
    """Return the offset of the first record at or after a moment in each partition that has one."""
    found = {}
    for tp, apart in APART.items():
        offset = max(-(-(at - BEGAN) // apart), BROKERS.log_starts[tp])
        end = BROKERS.log_ends[tp]
        if end is not None and offset < end:
            found[tp] = offset
    return found


@pytest.mark.parametrize("kafka", ["2.8.2", "4.1.1", "4.3.1"])
def test_a_dry_run_prints_what_kafka_printed(kafka: str) -> None:
    recording = json.loads((RECORDINGS / f"{kafka}-reset-offsets.json").read_text())
    tool, offsets, compared, state = RELEASES[kafka[:3]].groups_tool, {"gr": {}, "gr2": {}}, 0, "Empty"  # type: ignore[var-annotated]
    for act in recording["acts"]:
        if act["op"] in ("join", "close"):
            state = "Stable" if act["op"] == "join" else "Empty"
        arguments = act.get("args", [])
        target = target_of(arguments) if act["op"] == "cli" and "--reset-offsets" in arguments else None
        if target is None:
            continue
        names = [after for option, after in itertools.pairwise(arguments) if option == "--group"]
        name = names[0]
        topics = [after for option, after in itertools.pairwise(arguments) if option == "--topic"]
        tps = [tp for tp in (*TR, TR9) if tp.topic in topics or f"{tp.topic}:{tp.partition}" in topics]
        if "--all-topics" in arguments:
            tps = list(offsets[name])
        if target.option == "from-file":
            lines = read_offsets("tr,0,3\ntr,1,2\ntr,2,0\ntr9,0,99\n", [name], several=False)[name]
            target, tps = Target(FROM_FILE, 0, tuple(lines.items())), list(lines)
        brokers = Brokers(BROKERS.log_ends, BROKERS.log_starts, at_times(target.number))
        said = act["result"] if isinstance(act.get("result"), dict) else act
        if not tps:
            continue
        group = Group(name, state, "", 0, offsets=offsets[name])
        resets = [GroupReset(attrs.evolve(group, name=each, offsets=offsets[each]), tps, target) for each in names]
        if "exit" in said:
            with pytest.raises(ValueError) as refused:
                reset(tool, resets, BROKERS)
            assert said["err"].startswith(f"{refused.value}\n")
            continue
        all_topics, exports = "--all-topics" in arguments, "--export" in arguments
        printed = reset(tool, resets, brokers, all_topics=all_topics, exports=exports, several=len(names) > 1)
        warned = "".join(line + "\n" for line in said.get("err", "").splitlines() if not line.startswith("WARN: No action"))
        assert (printed.out, printed.err) == (said["out"], warned), arguments
        compared += 1
        if "--execute" in arguments and state == "Empty":
            offsets[name].update({tp: Committed(new_offset(group, tp, brokers, target, str)) for tp in tps})
    assert compared >= 30


@pytest.mark.parametrize(
    ("option", "number", "expected"),
    [("to-offset", 50, 50), ("to-current", 0, 100), ("shift-by", 50, 150), ("shift-by", -50, 50), ("shift-by", -150, 0), ("shift-by", 150, 200),
     ("to-latest", 0, 200), ("to-earliest", 0, 0), ("to-offset", 1, 1)],
)  # fmt: skip
def test_off_13(option: str, number: int, expected: int) -> None:
    """OFF-13."""
    group = Group("g", "Empty", "", 0, offsets={TR9: Committed(100)})
    assert new_offset(group, TR9, Brokers({TR9: 200}, {TR9: 0}), Target(option, number), str) == expected


@pytest.mark.parametrize("kafka", ["2.8.2", "4.1.1", "4.3.1"])
def test_deletions_print_what_kafka_printed(kafka: str) -> None:
    recording = json.loads((RECORDINGS / f"{kafka}-reset-offsets.json").read_text())
    tool, compared = RELEASES[kafka[:3]].groups_tool, 0
    groups = {"gr2": Group("gr2", "Empty", "", 0)}
    for act in recording["acts"]:
        if act["op"] in ("join", "close"):
            groups["gr"] = Group("gr", "Stable" if act["op"] == "join" else "Empty", "", 0)
        arguments = act.get("args", [])
        names = [after for option, after in itertools.pairwise(arguments) if option == "--group"]
        topics = [after for option, after in itertools.pairwise(arguments) if option == "--topic"]
        if "--delete" in arguments:
            printed = delete_groups(tool, names, groups)
            assert printed.out == act["result"]["out"]
            compared += 1
            for name in names if groups.get("gr", Group("", "Stable", "", 0)).state == "Empty" else ():
                groups.pop(name, None)
        elif "--delete-offsets" in arguments:
            tps = [tp for tp in TR if tp.topic in topics or f"{tp.topic}:{tp.partition}" in topics]
            group = groups.get(names[0])
            subscribed = frozenset({"tr"} if group is not None and group.state == "Stable" else ())
            assert delete_offsets(tool, names[0], group, topics, tps, subscribed).out == act["result"]["out"]
            compared += 1
    assert compared == 8


def test_files_of_offsets() -> None:
    several = [("g1", {TR[0]: 5}), ("g2", {TR[0]: 3, TR9: 1})]
    assert export(several, several=True) == "g1,tr,0,5\ng2,tr,0,3\ng2,tr9,0,1\n\n"
    assert read_offsets(export(several, several=True), ["g1", "g2"], several=True) == dict(several)
    for wrong in ("tr,0", "tr,x,5", "tr,0,five"):
        with pytest.raises(ValueError, match="line 2"):
            read_offsets(f"tr,1,2\n{wrong}\n", ["g"], several=False)


def test_several_groups() -> None:
    resets = [
        GroupReset(Group("gr", "Stable", "", 0), [TR[0]], Target("to-earliest")),
        GroupReset(Group("gr2", "Empty", "", 0), [TR[0], TR[1]], Target("to-latest")),
    ]
    refused = "\nError: Assignments can only be reset if the group 'gr' is inactive, but the current state is Stable.\n"
    rows = "gr2             tr              1          10\ngr2             tr              0          20\n"
    printed = reset(RELEASES["4.3"].groups_tool, resets, BROKERS, several=True)
    assert printed.out == f"{refused}\nGROUP           TOPIC           PARTITION  NEW-OFFSET\n{rows}"
    assert reset(RELEASES["2.8"].groups_tool, resets, BROKERS, exports=True, several=True).out == f"{refused}gr2,tr,0,20\ngr2,tr,1,10\n\n"


@pytest.mark.parametrize("kafka", ["2.8.2", "4.1.1", "4.3.1"])
def test_topics_and_partitions_that_do_not_exist(kafka: str) -> None:
    recording = json.loads((RECORDINGS / f"{kafka}-reset-offsets.json").read_text())
    tool, compared = RELEASES[kafka[:3]].groups_tool, 0
    for act in recording["acts"]:
        arguments = act.get("args", [])
        for topic, printed in (
            ("nosuch", unknown_topic(tool)),
            ("nosuch2", unknown_topic(tool)),
            ("tr:9", unknown_partitions(tool, [TopicPartition("tr", 9)])),
        ):
            if "--reset-offsets" in arguments and topic in arguments:
                said = act["result"] if isinstance(act.get("result"), dict) else act
                assert (printed.out, printed.err) == (said["out"], said["err"])
                compared += 1
    assert compared == 3
