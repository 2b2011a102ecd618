"""The evidence of a search: what it tried, where, and what it came across. An answer is worth as much as this."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from core.sim.units import format_duration
from scenarios.exploration.menu import FAULTS
from scenarios.exploration.player import PRUNINGS
from scenarios.exploration.request import Request
from scenarios.exploration.search import Layer

REMEDIES: Final = "to start a stopped broker or controller, to resume a paused one, to heal cut links, to restore the speed of a disk"
"""The acts that end faults, in words."""

ELECTIONS: Final = {
    "clean": "from the ISR",
    "preferred": "of the preferred leader",
    "eligible": "from the ELR",
    "last-known": "of the last known leader",
    "unclean": "unclean",
}
"""The kinds of elections, in words."""

Section = tuple[str, list[str]]
"""A heading, with its lines."""


def evidence(request: Request, layers: Sequence[Layer]) -> list[Section]:
    """Return the evidence of a search: its menu, moments, workload, and bounds; the situations by kind of act; the elections it has reached."""
    runs = sum(layer.runs for layer in layers)
    situations = sum(layer.situations for layer in layers)
    moments = [
        f"{situations:,} moments in {runs:,} runs: the first of each situation of a partition, after everything that is due then",
        "a situation says who leads, who is in the ISR and the ELR, who has which records and has flushed them, which processes and links work",
    ]
    if gradual := request.bounds(check_names=False).gradual:
        words = " and ".join(fault.word for fault in gradual)
        moments.append(
            f"{words} also around the first batch that is sent in a situation: 1.5 and 0.5 latencies before, and when it is on its way"
        )
    moments += [f"left out ({word}): {means}" for word, means in PRUNINGS.items() if word in request.prune]
    elections = _sum(layer.elections for layer in layers)
    return [
        ("Menu", [*(f"{word}: {FAULTS[word].does}" for word in request.faults), f"at no cost: {REMEDIES}"]),
        ("Moments", moments),
        ("Workload", [request.start.load]),
        (
            "Bounds",
            [
                f"at most {request.at_most} fault{'' if request.at_most == 1 else 's'}",
                f"{format_duration(request.within)} of virtual time, from {format_duration(request.start.time)} to "
                f"{format_duration(request.start.time + request.within)}",
            ],
        ),
        ("New situations by the last act", [f"{word or 'no act'}: {count:,}" for word, count in _sorted(layer.new for layer in layers)]),
        (
            "Elections in the runs",
            [f"{ELECTIONS.get(word, word)}: {count:,}" for word, count in sorted(elections.items(), key=_most)] or ["none"],
        ),
    ]


def evidence_lines(request: Request, layers: Sequence[Layer]) -> list[str]:
    """Return the evidence of a search as lines of text."""
    return [line for title, lines in evidence(request, layers) for line in (f"{title}:", *(f"  {each}" for each in lines))]


def evidence_as_data(request: Request, layers: Sequence[Layer]) -> dict[str, Any]:
    """Return the evidence of a search for JSON."""
    return {
        "menu": {word: FAULTS[word].does for word in request.faults},
        "remedies": REMEDIES,
        "pruned": sorted(request.prune),
        "workload": request.start.load,
        "at_most": request.at_most,
        "from": request.start.time,
        "within": request.within,
        "situations_by_act": dict(_sorted(layer.new for layer in layers)),
        "elections": dict(sorted(_sum(layer.elections for layer in layers).items())),
    }


def _sum(counters: Any) -> Counter[str]:
    return sum(counters, Counter())


def _sorted(counters: Any) -> list[tuple[str, int]]:
    return sorted(_sum(counters).items(), key=_most)


def _most(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]
