"""Dry runs of `kafka-consumer-groups --reset-offsets`, byte for byte as real clusters printed them, and the vector OFF-13."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Final

import pytest

from core.kafka.ids import TopicPartition
from core.kafka.release import RELEASES
from scenarios.groups.facts import Brokers, Committed, Group
from scenarios.groups.resets import Target, new_offset, reset

RECORDINGS: Final = Path(__file__).parents[2] / "fidelity" / "drills-groups"

TR: Final = [TopicPartition("tr", number) for number in range(3)]
TR9: Final = TopicPartition("tr9", 0)
BROKERS: Final = Brokers({TR[0]: 20, TR[1]: 10, TR[2]: 0, TR9: 7}, {TR[0]: 0, TR[1]: 4, TR[2]: 0, TR9: 0})
"""What the recordings say about the partitions."""

OPTIONS: Final = ("to-offset", "to-earliest", "to-latest", "to-current", "shift-by")


def target_of(arguments: list[str]) -> Target | None:
    """Return what the arguments of a recorded command go to; None for a form that isrlab does not print."""
    found = [option for option in OPTIONS if f"--{option}" in arguments]
    if len(found) != 1 or "--export" in arguments or "--topic" not in arguments or arguments.count("--group") != 1:
        return None
    value = arguments[arguments.index(f"--{found[0]}") + 1] if found[0] in ("to-offset", "shift-by") else "0"
    return Target(found[0], int(value))


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
        name = arguments[arguments.index("--group") + 1]
        topics = [after for option, after in itertools.pairwise(arguments) if option == "--topic"]
        tps = [tp for tp in (*TR, TR9) if tp.topic in topics or f"{tp.topic}:{tp.partition}" in topics]
        said = act["result"] if isinstance(act.get("result"), dict) else act
        if not tps:
            continue
        group = Group(name, state, "", 0, offsets=offsets[name])
        if "exit" in said:
            with pytest.raises(ValueError) as refused:
                reset(tool, group, tps, BROKERS, target)
            assert said["err"].startswith(f"{refused.value}\n")
            continue
        printed = reset(tool, group, tps, BROKERS, target)
        warned = "".join(line + "\n" for line in said.get("err", "").splitlines() if not line.startswith("WARN: No action"))
        assert (printed.out, printed.err) == (said["out"], warned), arguments
        compared += 1
        if "--execute" in arguments and state == "Empty":
            offsets[name].update({tp: Committed(new_offset(group, tp, BROKERS, target, str)) for tp in tps})
    assert compared >= 18


@pytest.mark.parametrize(
    ("option", "number", "expected"),
    [("to-offset", 50, 50), ("to-current", 0, 100), ("shift-by", 50, 150), ("shift-by", -50, 50), ("shift-by", -150, 0), ("shift-by", 150, 200),
     ("to-latest", 0, 200), ("to-earliest", 0, 0), ("to-offset", 1, 1)],
)  # fmt: skip
def test_off_13(option: str, number: int, expected: int) -> None:
    group = Group("g", "Empty", "", 0, offsets={TR9: Committed(100)})
    assert new_offset(group, TR9, Brokers({TR9: 200}, {TR9: 0}), Target(option, number), str) == expected
