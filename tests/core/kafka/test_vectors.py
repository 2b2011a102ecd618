"""Every case of the conformance vectors (taken from Kafka's own tests) is cited by a test, or named here with the reason why not.

A test cites a case such as `HW-07` in its name (`test_hw_07_…`), in the id of a parameter, in its docstring, or in its body. Citations in
other places do not count.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Final

VECTORS: Final[dict[str, tuple[int, ...]]] = {
    "REP": (1, 2, 4, 5, 6, 7, 8, 9, 10, 11),
    "HW": (1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 13, 15, 16),
    "ISR": (1, 2, 3, 4, 5, 7, 9, 10, 11, 13, 14, 15, 16, 17, 18, 20, 21, 22, 23, 24, 25, 26, 27, 28),
    "EPF": (1, 3, 4, 5, 6),
    "DIV": (1, 2, 3, 4, 5, 6, 7),
    "EPO": (1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 14, 15, 16, 17, 18, 19, 21, 22, 23),
    "FOL": (1, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 18, 19, 20, 21, 22, 23, 24, 25, 26),
    "EDR": (1, 2, 3, 4, 7),
    "PCB": (1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 18, 19, 20, 21),
    "ELR": (1, 2, 4, 7, 9, 12, 13),
    "RCM": (1, 2, 3, 4, 5, 8, 9, 10, 12, 13, 16, 17, 18, 19, 20, 21),
    "RSN": (1, 2, 4, 5, 6, 7),
    "HB": (1, 3, 4, 5),
    "PLC": (1, 2, 4, 6, 7, 8),
    "ZKE": (1, 2, 3, 4, 5, 7, 8, 9, 10),
    "UNC": (1, 3),
    "PRD": (1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 14, 15, 16, 18, 19, 20, 21, 23, 24, 26, 27, 28, 29, 30),
    "TXN": (2, 4, 6, 7, 8, 9, 10),
    "TXC": (1, 3, 5, 6, 7, 9, 10, 11, 12, 13, 15, 17),
    "TXM": (1, 2, 4, 5, 6, 7, 9, 10, 12, 13, 14, 16),
    "TXK": (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13),
    "PSM": (1, 2, 7, 8, 11, 12, 13, 17, 18),
    "LSO": (1, 5, 6, 7, 8, 9),
    "IDX": (1,),
    "BAT": (3, 8),
    "CON": (1, 2, 4, 5, 6),
    "CLI": (1, 4, 5, 6, 7),
    "ASG": (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 16, 17, 19, 20, 22, 23, 24, 25, 26, 28),
    "GRP": (1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22, 23, 24, 26, 27, 28),
    "OFF": (1, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14),
    "LAG": (1, 3, 4, 5, 6, 7, 8, 10, 11),
    "CGN": (1, 2, 5, 7, 9, 10, 11, 12, 13, 14, 15, 16),
}  # fmt: skip
"""The numbers of the cases of each group."""

LEFT_OUT: Final[dict[str, str]] = {
    "BAT-08": "markers are no bytes, so that nothing parses them",
    "EPO-19": "every batch has its leader epoch, so that no one asks the cache for the epoch of an offset",
    "OFF-04": "commits have no retention time of their own: that is a field of OffsetCommit v2 to v4",
    "PRD-29": "no producer sends batches to __consumer_offsets: the group coordinator appends them without sequence numbers",
    "TXC-06": "nothing comes between the check of a request and its transition",
    "TXM-05": "records are no bytes, so a log cannot be corrupt",
}
"""Cases that cannot apply to this program, with the reasons."""

_ID: Final = re.compile(r"(?<![A-Za-z])([A-Za-z]{2,3})[-_](\d\d)(?!\d)")
_RANGE: Final = re.compile(r"([A-Z]{2,3})-(\d\d) to (?:[A-Z]{2,3}-)?(\d\d)")


def cited() -> dict[str, set[str]]:
    """Return the tests that cite each case."""
    found: dict[str, set[str]] = {}
    for path in sorted(Path(__file__).parents[2].rglob("test_*.py")):
        if path == Path(__file__):
            continue
        text = path.read_text(encoding="utf-8")
        if not any(group.upper() in VECTORS for group, _ in _ID.findall(text)):
            continue
        lines = text.splitlines()
        for test in ast.parse(text).body:
            if isinstance(test, ast.FunctionDef) and test.name.startswith("test_"):
                first = min([test.lineno, *(decorator.lineno for decorator in test.decorator_list)])
                for case in cases("\n".join(lines[first - 1 : test.end_lineno])):
                    found.setdefault(case, set()).add(f"{path.name}::{test.name}")
    return found


def cases(text: str) -> set[str]:
    """Return the IDs in the text."""
    names = [(group.upper(), int(number)) for group, number in _ID.findall(text)]
    for group, first, last in _RANGE.findall(text):
        names += [(group, number) for number in range(int(first), int(last) + 1)]
    return {f"{group}-{number:02}" for group, number in names}


def test_every_case_is_cited_or_left_out_for_a_reason() -> None:
    known = {f"{group}-{number:02}" for group, numbers in VECTORS.items() for number in numbers}
    by = cited()
    assert not sorted(known - by.keys() - LEFT_OUT.keys()), "these cases are neither tested nor left out"
    assert not sorted(case for case in LEFT_OUT if case in by), "these are tested, so not left out"
    assert not sorted(LEFT_OUT.keys() - known), "there are no such cases"
    assert all(LEFT_OUT.values())
    assert sum(map(len, VECTORS.values())) == len(known) > 200
