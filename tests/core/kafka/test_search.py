"""A search over everything that can happen finds the losses of the old protocol, and none in the newest protocol."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

import pytest

from core.kafka import events
from core.kafka.release import CURRENT
from core.lab.fingerprint_fields import LAB_FIELDS
from core.sim.exploration.choices import enabled, take
from core.sim.exploration.search import Outcome
from core.sim.state.fields import KERNEL, fields_of
from core.sim.state.snapshot import Snapshots
from tests.core.kafka.exploration import Exploration, Left, arrives_at_once

E1 = {"records": 1, "fetches": 3, "failures": 2}
E2 = {"records": 2, "fetches": 3, "failures": 2}


COMPARED = 30
"""The number of states, each reached in two ways, that are compared."""


def searched(release: str, bounds: dict[str, int], *, power: bool) -> Outcome:
    """Return the result of a search, and its duration."""
    exploration = Exploration(release, Left(**bounds), power=power)
    start = time.process_time()
    outcome = exploration.search()
    seconds = time.process_time() - start
    print(
        f"{release}: {outcome.states:,} states and {outcome.taken:,} choices in {seconds:.1f} s of CPU time, "
        f"{outcome.states / seconds:,.0f} states a second; {' '.join(done(outcome)) or 'all of them are good'}"
    )
    return outcome


def done(outcome: Outcome) -> list[str]:
    """Return the acts so far, and the responses that arrived."""
    return [name for name in outcome.path if ":" not in name or name.endswith("reply FetchResponse")]


def events_along(release: str, bounds: dict[str, int], outcome: Outcome, *, power: bool) -> list[Any]:
    """Return the events of another run of a schedule that was found."""
    exploration = Exploration(release, Left(**bounds), power=power)
    told: list[Any] = []
    exploration.cluster.journal.sink = told.append
    for name in outcome.path:
        (choice,) = [each for each in enabled(exploration.cluster, exploration.acts()) if each.name == name]
        take(exploration.cluster, choice)
    return told


def test_it_finds_the_loss_by_truncation_to_the_high_watermark() -> None:
    """SYSTEM.md, E1."""
    outcome = searched("0.10.2", E1, power=False)
    assert outcome.bad == events.RecordsLost.kind
    assert done(outcome) == ["produce", "fetch 1", "b2 → b1: reply FetchResponse", "fetch 1", "bounce 1", "kill 2"]
    told = events_along("0.10.2", E1, outcome, power=False)
    (truncated,) = [event[4:] for event in told if event[3] == events.Truncated.kind]
    assert (truncated[0], truncated[-1]) == (1, "high-watermark")
    assert events.RecordsLost.kind in {event[3] for event in told}


@pytest.mark.slow
def test_nothing_is_lost_so_in_the_newest_release() -> None:
    outcome = searched(CURRENT.name, E1, power=False)
    assert outcome.complete
    assert not outcome.bad


@pytest.mark.slow
def test_it_finds_the_divergence() -> None:
    """SYSTEM.md, E2."""
    outcome = searched("0.10.2", E2, power=True)
    assert outcome.bad == events.RecordsDiverged.kind
    assert done(outcome) == [
        "produce", "fetch 1", "b2 → b1: reply FetchResponse", "fetch 1", "bounce 1 without its newest record", "power loss 2", "produce",
        "start 2", "fetch 2", "b1 → b2: reply FetchResponse",
    ]  # fmt: skip


@pytest.mark.slow
def test_nothing_diverges_in_the_newest_release() -> None:
    outcome = searched(CURRENT.name, E2, power=True)
    assert outcome.complete
    assert not outcome.bad


@pytest.mark.parametrize("release", ["0.10.2", CURRENT.name])
@pytest.mark.parametrize("power", [False, True])
def test_states_with_the_same_fingerprint_go_on_alike(release: str, power: bool) -> None:
    """From both states, the same choices are possible, and each choice leads to the same events and again to the same state."""
    exploration = Exploration(release, Left(**E2), power=power)
    cluster = exploration.cluster
    snapshots, also = Snapshots(), exploration.also()
    fingerprints = exploration.fingerprints()
    told: list[Any] = []
    cluster.journal.sink = told.append

    def names() -> list[str]:
        return [each.name for each in enabled(cluster, exploration.acts())]

    def happens(name: str) -> tuple[list[str], list[str]]:
        """Return the events of a choice and of everything that arrives immediately with it, and the choices that are possible afterwards."""
        told.clear()
        (choice,) = [each for each in enabled(cluster, exploration.acts()) if each.name == name]
        take(cluster, choice)
        while (following := next(filter(arrives_at_once, enabled(cluster)), None)) is not None:
            take(cluster, following)
        return [event[3] for event in told], names()

    def goes_on() -> dict[str, Any]:
        here = snapshots.take(cluster, *also)
        found = {}
        for name in names():
            found[name] = happens(name)
            here.restore()
        return found

    known: dict[bytes, dict[str, Any]] = {}
    ahead = deque([snapshots.take(cluster, *also)])
    compared = 0
    while ahead and compared < COMPARED:
        here = ahead.popleft()
        here.restore()
        for name in names():
            happens(name)
            fingerprint = fingerprints.take()
            if fingerprint not in known:
                known[fingerprint] = goes_on()
                ahead.append(snapshots.take(cluster, *also))
            else:
                assert goes_on() == known[fingerprint], name
                compared += 1
            here.restore()
    assert compared >= COMPARED


def test_the_table_names_fields_that_there_are() -> None:
    for cls, declared in {**KERNEL, **LAB_FIELDS}.items():
        if cls is not object and not cls.__dictoffset__:
            named = {*declared.wiring, *declared.history, *declared.times, *declared.labels}
            assert named <= {*(getattr(cls, "_fields", None) or fields_of(cls))}, cls
