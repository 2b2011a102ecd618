"""Breadth-first search through all states of a simulation: every order of messages, timers, faults and acts.

States with the same fingerprint are visited once. The first bad state that is found is therefore one of the nearest.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

from core.sim.exploration.choices import Choice, enabled, take
from core.sim.simulation import Simulation
from core.sim.state.fields import Table
from core.sim.state.fingerprint import Fingerprints
from core.sim.state.snapshot import Snapshot, Snapshots


class Outcome(NamedTuple):
    """The result of a search.

    Attributes:
        bad: what is bad in the nearest bad state; empty if there is none within the bounds.
        path: the names of the choices that lead there.
        states: how many different states were seen.
        taken: how many choices were taken.
        complete: whether all states were seen; False if a bad state or the limit came first.
    """

    bad: str
    path: tuple[str, ...]
    states: int
    taken: int
    complete: bool


def search(
    simulation: Simulation,
    bad: Callable[[], str],
    acts: Callable[[], Iterable[Choice]] = tuple,
    *,
    also: tuple[object, ...] = (),
    first: Callable[[Choice], bool] | None = None,
    until: int | None = None,
    limit: int = 100_000,
    table: Table | None = None,
) -> Outcome:
    """Search for the nearest bad state. Afterwards the simulation is in that state, or in its former one if there is none.

    Args:
        simulation: where the search begins.
        bad: describes what is bad, if anything, in the present state or in how it came about; called after each choice.
        acts: the acts to offer in the present state, beside what the simulation does by itself.
        also: objects outside the simulation that `bad` and `acts` depend on. Their state counts, and is restored.
        first: choices that are taken before all others, and so in one order only. The search gets smaller, and misses their other orders.
        until: how far time may pass, µs.
        limit: the maximum number of states.
        table: what fields mean that are not plain state.
    """
    snapshots = Snapshots()
    fingerprints = Fingerprints(simulation, *also, table=table)
    start = snapshots.take(simulation, *also)
    seen = {fingerprints.take()}
    came: list[tuple[int, tuple[str, ...]]] = [(-1, ())]
    ahead: deque[tuple[int, Snapshot[Simulation]]] = deque([(0, start)])
    taken = 0
    while ahead:
        number, snapshot = ahead.popleft()
        snapshot.restore()
        for choice in enabled(simulation, acts(), until):
            snapshot.restore()
            names: list[str] = []
            what = ""
            following: Choice | None = choice
            while following is not None and not what:
                take(simulation, following)
                names.append(following.name)
                what = bad()
                following = None if first is None else next(filter(first, enabled(simulation, (), until)), None)
            taken += len(names)
            fingerprint = fingerprints.take()
            if fingerprint in seen and not what:
                continue
            seen.add(fingerprint)
            came.append((number, tuple(names)))
            if what or len(seen) >= limit:
                return Outcome(what, _path(came), len(seen), taken, False)
            ahead.append((len(came) - 1, snapshots.take(simulation, *also)))
    start.restore()
    return Outcome("", (), len(seen), taken, True)


def _path(came: list[tuple[int, tuple[str, ...]]]) -> tuple[str, ...]:
    number, names = came[-1]
    path = names
    while number >= 0:
        number, names = came[number]
        path = names + path
    return path
