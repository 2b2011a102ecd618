"""Recorded sessions, each with its cluster and its acts at their virtual times. Sessions are read from logs and written as scripts.

An `act` event contains the fields of the act as JSON (`core.lab.recorded_acts` decodes them). The event log alone is therefore enough to
replay a session, or to save it as a script that produces the same event log.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import attrs

from core.kafka.events import Acted
from core.kafka.release import Release
from core.lab.acts import Act
from core.lab.recorded_acts import act_of
from core.lab.spec import ClusterSpec, Pace
from core.sim.events import kind_of, seq_of, time_of
from core.sim.units import format_clock
from scenarios.errors import LogError
from scenarios.language.acts import act_as_data
from scenarios.language.cluster import cluster_as_data, write_yaml
from scenarios.language.values import write_duration
from scenarios.logs.log_reader import LogReader

Timed = tuple[int, Act]
"""An act, with its virtual time in microseconds."""


@attrs.frozen
class RecordedSession:
    """A session that an event log recorded.

    Attributes:
        source: the log file.
        spec, release, seed: the cluster, the release, and the seed of the session.
        scenario: the name of the scenario; '' if there was no scenario.
        acts: the acts in order, each with its virtual time in µs.
        end: the virtual time at the end of the session, in µs.
        events: all events, for comparison with the events of the replay.
        problem: a message if the log was not closed; '' if it was closed.
    """

    source: str
    spec: ClusterSpec
    release: Release
    seed: int
    scenario: str
    acts: tuple[Timed, ...]
    end: int
    events: tuple[tuple[Any, ...], ...] = attrs.field(repr=False)
    problem: str = ""


_ORDER = ("act", "note", "expect")
"""The order of the parts of a script that are due at the same time."""


def read_session(path: str | Path) -> RecordedSession:
    """Read the session of an event log.

    Raises:
        InputError: the file cannot be read, is not an event log, or has an unknown act.
    """
    reader = LogReader(path)
    reader.refuse_observed("going on with a session")
    events = tuple(reader)
    acts = []
    for event in events:
        if kind_of(event) == Acted.kind:
            try:
                acts.append((time_of(event), act_of(event)))
            except ValueError as wrong:
                raise LogError(reader.source, seq_of(event) + 1, str(wrong)) from None
    end = reader.end.t if reader.end is not None else time_of(events[-1]) if events else 0
    header = reader.header
    return RecordedSession(
        reader.source, reader.spec, reader.release, header.seed, header.scenario or "", tuple(acts), end, events, reader.problem()
    )


def session_script(
    spec: ClusterSpec,
    release: Release,
    seed: int,
    acts: Iterable[Timed],
    end: int,
    *,
    name: str,
    notes: Iterable[tuple[int, str]] = (),
    about: str = "",
    expects: Iterable[tuple[int, str]] = (),
) -> str:
    """Write a script that executes the acts at their times.

    Args:
        spec, release, seed: the cluster, the release, and the seed of the session.
        acts: the acts in chronological order.
        end: the virtual time at which the session ended, in µs.
        name: the name of the scenario.
        notes: the bookmarks as (time, text), each of which becomes a step that has only a note.
        about: what the script shows; by default, that it is a recording of a session in the playground.
        expects: the conditions that are expected to be true, as (time, text).
    """
    by_hand = spec.pace is Pace.BY_HAND
    steps: list[dict[str, Any]] = []
    before = 0
    moments: list[tuple[int, str, Act | str]] = [(time, "act", act) for time, act in acts]
    moments += [(time, "note", text) for time, text in notes if time <= end]
    moments += [(time, "expect", text) for time, text in expects]
    moments.sort(key=lambda moment: (moment[0], _ORDER.index(moment[1])))
    if not about:
        moments.append((end, "note", "the session ended here"))
    for time, field, what in moments:
        step: dict[str, Any] = {}
        if not by_hand:
            step["at"] = write_duration(time)
        elif time > before:
            step["wait"] = write_duration(time - before)
        before = time
        if isinstance(what, str):
            step[field] = [what] if field == "expect" else what
        else:
            step[what.word] = act_as_data(what)
        steps.append(step)
    return write_yaml(
        {
            "scenario": name,
            "about": about or f"A recording of a session in the playground, {format_clock(end)} long.",
            "releases": [release.name],
            "seed": seed,
            "cluster": cluster_as_data(spec),
            "steps" if by_hand else "timeline": steps,
        }
    )
