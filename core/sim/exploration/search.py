"""Breadth-first search through all states of a simulation: every order of messages, timers, faults, and acts.

States with the same fingerprint are visited once. Because the search is breadth-first, no bad state is nearer than the first one that the
search finds.
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
        bad: the description of the nearest bad state; empty if there is none within the bounds.
        path: the names of the choices that lead to the bad state.
        states: the number of different states that were seen.
        taken: the number of choices that were taken.
        complete: whether all states were seen; False if the search found a bad state or reached the limit.
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
    """Search for the nearest bad state. If the search finds a bad state, the simulation remains in this state. If the search visits all
    states and finds no bad state, the simulation returns to the state in which the search began.

    Args:
        simulation: the simulation in the state where the search begins.
        bad: a function that returns a description of what is bad in the current state or on the path to it, or an empty string if nothing
            is bad. `bad` is called after each choice.
        acts: a function that returns the acts that the search can perform in the current state, in addition to the simulation's own next
            steps.
        also: objects outside the simulation that `bad` and `acts` depend on. The state of the objects in `also` counts as part of the
            simulation's state, and is restored with it.
        first: a function that returns whether a choice must be taken before all others. With `first`, the search visits fewer states, but
            misses the orders in which another choice comes first.
        until: the virtual time up to which the simulation can advance, in µs.
        limit: the maximum number of states to visit.
        table: the fields that are not plain state, by class.
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
        for at, choice in enumerate(enabled(simulation, acts(), until)):
            if at:
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
