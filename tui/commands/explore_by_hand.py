"""The command `isrlab explore --by-hand`, which tries all orders of a few acts in a cluster whose time stands still."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scenarios.io.standard_streams import print_json, print_lines
from tui.arguments.options import max_seconds_of
from tui.exit_codes import FAILED, HELD, LIMIT_REACHED
from tui.terminal.progress_line import ProgressLine

if TYPE_CHECKING:
    from scenarios.conditions.conditions import Names
    from scenarios.exploration.by_hand import Bounds, HandOutcome
    from scenarios.exploration.goal import Goal
    from scenarios.exploration.start import Start

USUAL: Final = "kill,restart"
"""The kinds of faults that a search by hand tries unless others are named."""

USUAL_NUMBER: Final = "2"
"""The number of records, and of fetches, unless another one is given."""

MOST: Final = 9
"""The largest number of records, fetches, or faults."""


TIMELINE_ONLY: Final[dict[str, Any]] = {
    "within": "30s",
    "begin": None,
    "prune": None,
    "processes": "1",
    "master": None,
    "conf": [],
    "evidence": False,
}
"""The options that have no meaning if time stands still, with their defaults."""


def explore_by_hand(arguments: argparse.Namespace, start: Start, goal_of: Callable[[Names], Goal]) -> int:
    """Search by hand, and print the answer."""
    from scenarios.conditions.conditions import Names
    from scenarios.errors import InputError
    from scenarios.exploration.by_hand import HandSearch
    from scenarios.io.termination_signals import raise_on_signals

    for option, default in TIMELINE_ONLY.items():
        if getattr(arguments, option) != default:
            raise InputError(
                f"--{'from' if option == 'begin' else option}: has no meaning by hand, where time stands still; omit this option"
            )
    bounds, seconds = _bounds(arguments), max_seconds_of(arguments.max_seconds)
    topics = {topic.name: topic.partitions for topic in start.spec.topics}
    goal = goal_of(Names(topics=topics, brokers=frozenset(broker.id for broker in start.spec.brokers)))
    release, name = start.release, Path(arguments.target).stem
    if arguments.without:
        from scenarios.exploration.guards import guards_named, without

        release = without(release, guards_named(arguments.without))
    try:
        search = HandSearch(start.spec, release, start.seed, goal, bounds)
    except ValueError as wrong:
        raise InputError(f"--by-hand: {wrong}") from None
    progress = ProgressLine()
    with raise_on_signals():
        outcome = search.run(
            name, compare=True, seconds=seconds, tell=lambda states, taken: progress.show(f"{states:,} states, {taken:,} choices")
        )
    progress.wipe()
    instead = ""
    if outcome.acts and arguments.without:
        instead = HandSearch(start.spec, start.release, start.seed, goal, bounds).after(outcome.acts)
    file = _write(outcome, arguments.output, name)
    if arguments.json:
        import json

        print_json(json.dumps(_as_data(arguments, release.name, goal, bounds, outcome, instead, file), indent=2) + "\n")
    else:
        print_lines(_lines(arguments, release.name, goal, bounds, outcome, instead, file))
    if outcome.acts:
        return FAILED
    return HELD if outcome.search.complete else LIMIT_REACHED


def _bounds(arguments: argparse.Namespace) -> Bounds:
    from scenarios.errors import InputError, did_you_mean
    from scenarios.exploration.by_hand import HAND_FAULTS, Bounds

    words = tuple(dict.fromkeys(word.strip() for word in (arguments.faults or USUAL).split(",")))
    for word in words:
        if word not in HAND_FAULTS:
            raise InputError(f"--faults: '{word[:40]}' is not a kind of fault by hand; {did_you_mean(word, list(HAND_FAULTS))}")
    at_most = _number(arguments.at_most, "--at-most")
    records, fetches = _number(arguments.records or USUAL_NUMBER, "--records"), _number(arguments.fetches or USUAL_NUMBER, "--fetches")
    return Bounds(records, fetches, dict.fromkeys(words, at_most), at_most, arguments.acks)


def _number(text: str, option: str) -> int:
    from scenarios.errors import InputError

    if not (text.isascii() and text.isdecimal()) or len(text) > 1:
        raise InputError(f"{option}: '{text[:40]}' is not a number from 0 to {MOST}")
    return int(text)


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def _write(outcome: HandOutcome, directory: str | None, name: str) -> str:
    """Write the script of what was found, and return its path; an empty string if there is none, or no directory."""
    if directory is None or not outcome.script:
        return ""
    from scenarios.errors import InputError
    from scenarios.io.output_files import write_atomically

    folder = Path(directory)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as wrong:
        raise InputError(f"-o: {directory}: {wrong.strerror}") from None
    path = folder / f"{name}-by-hand.yaml"
    write_atomically(path, outcome.script)
    return str(path)


def _lines(
    arguments: argparse.Namespace, release: str, goal: Goal, bounds: Bounds, outcome: HandOutcome, instead: str, file: str
) -> list[str]:
    found = outcome.search
    lines = [
        f"{arguments.target} ({release}), by hand: which order of acts makes '{goal.condition.text}' true?",
        f"  from the beginning, before any step, with at most {_count(bounds.records, 'record')} with acks={bounds.acks}, "
        f"{_count(bounds.fetches, 'fetch', 'fetches')}, and {_count(bounds.at_most, 'fault')}",
        f"  faults: {', '.join(bounds.faults)}; brokers that are gone are fenced and start again at any moment",
    ]
    covered = f"{found.states:,} states, {found.taken:,} choices, {outcome.seconds:.1f} s"
    if found.path:
        lines.append(f"found after {found.depth} steps ({covered})")
        lines += [f"  {number}. {step}" for number, step in enumerate(found.path, 1)]
        if instead:
            lines.append(f"  with {arguments.without.replace(',', ' and ')}: {instead}")
        lines.append(f"  play it: isrlab play {file}" if file else "Add -o DIR to get a script, which plays it in the playground.")
    elif outcome.is_none:
        lines.append(f"none: all orders of these acts were tried ({covered})")
        lines.append(f"  {found.compared:,} pairs of states that count as one were compared, and go on alike")
    elif found.complete:
        lines.append(f"not found ({covered})")
        if found.differing:
            lines.append(f"  This is no proof: states that count as one differ after {found.differing[0]}.")
    else:
        lines.append(f"not found within these limits ({covered}; the limit came before the end)")
    return lines


def _as_data(
    arguments: argparse.Namespace, release: str, goal: Goal, bounds: Bounds, outcome: HandOutcome, instead: str, file: str
) -> dict[str, Any]:
    found = outcome.search
    data: dict[str, Any] = {
        "target": arguments.target,
        "release": release,
        "goal": goal.condition.text,
        "by_hand": True,
        "records": bounds.records,
        "fetches": bounds.fetches,
        "faults": list(bounds.faults),
        "at_most": bounds.at_most,
        "acks": bounds.acks,
        "answer": "found" if found.path else "none" if outcome.is_none else "not found",
        "complete": found.complete,
        "states": found.states,
        "choices": found.taken,
        "compared": found.compared,
        "steps": list(found.path),
        "script": outcome.script,
        "file": file or None,
    }
    return {**data, "with_guards": instead} if instead else data
