"""A session as a scenario script: the acts that were done, each at its virtual time, replay to the same event log.

An `act` event holds its act's fields as JSON; `act_of` makes the act of it again, so that a session can be saved, and an
old event log be played, from nothing but its events.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import attrs

from core.acts import ACTS, Act
from core.ids import TopicPartition
from core.release import Release
from core.spec import ClusterSpec, Pace
from core.units import format_clock
from scenarios.language.acts import act_as_data
from scenarios.language.cluster import cluster_as_data, write_yaml
from scenarios.language.values import write_duration

Timed = tuple[int, Act]
"""An act with the virtual time, µs, at which it was done."""


def act_of(word: str, args: str) -> Act:
    """The act that an `act` event records.

    Raises:
        ValueError: the word or a field is not known.
    """
    act = ACTS.get(word)
    if act is None:
        raise ValueError(f"unknown act '{word[:40]}'")
    fields = attrs.fields_dict(act)
    values: dict[str, Any] = {}
    try:
        for written, value in json.loads(args).items():
            name = written.replace("-", "_")
            values[name] = _value(str(fields[name].type), value)
        return act(**values)
    except (KeyError, TypeError, ValueError, AttributeError) as wrong:
        raise ValueError(f"{word} {args[:80]}: {wrong}") from None


def _value(kind: str, value: Any) -> Any:
    if value is None:
        return None
    if kind.startswith("TopicPartition"):
        return TopicPartition.parse(value)
    if kind.startswith("tuple[tuple[TopicPartition"):
        return tuple((TopicPartition.parse(tp), offset) for tp, offset in value)
    return _frozen(value)


def _frozen(value: Any) -> Any:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value


def acts_in(events: Iterable[tuple[Any, ...]]) -> list[Timed]:
    """The acts of a session, from its events.

    Raises:
        ValueError: an `act` event that this version cannot read.
    """
    return [(event[1], act_of(event[4], event[5])) for event in events if event[3] == "act"]


def session_script(
    spec: ClusterSpec, release: Release, seed: int, acts: Iterable[Timed], end: int, *, name: str, notes: Iterable[tuple[int, str]] = ()
) -> str:
    """The text of a script that does these acts at these times and ends at `end`, µs.

    Args:
        spec, release, seed: what the session was built from.
        acts: in order of time.
        end: virtual time at which the session ended.
        name: of the scenario.
        notes: bookmarks as (time, text); each becomes a step that only says its note.
    """
    by_hand = spec.pace is Pace.BY_HAND
    steps: list[dict[str, Any]] = []
    before = 0
    moments: list[tuple[int, int, Act | str]] = [(time, 0, act) for time, act in acts]
    moments += [(time, 1, text) for time, text in notes if time <= end]
    moments.sort(key=lambda moment: moment[:2])
    moments.append((end, 2, "the session ended here"))
    for time, _, what in moments:
        step: dict[str, Any] = {}
        if not by_hand:
            step["at"] = write_duration(time)
        elif time > before:
            step["wait"] = write_duration(time - before)
        before = time
        if isinstance(what, str):
            step["note"] = what
        else:
            step[what.word] = act_as_data(what)
        steps.append(step)
    return write_yaml(
        {
            "scenario": name,
            "about": f"A session of the playground, {format_clock(end)} long, as it was played.",
            "releases": [release.name],
            "seed": seed,
            "cluster": cluster_as_data(spec),
            "steps" if by_hand else "timeline": steps,
        }
    )
