"""Breadth-first search through all states of a simulation: every order of messages, timers, faults, and acts.

States with the same key, which is their fingerprint, are visited once. Because the search is breadth-first, no bad state is nearer than the
first one that the search finds. If a bound says how often something can still happen, a state is also left out if the same state was visited
with as much left.

Whether the key holds all that the future depends on is checked by comparing successors: the same choices must lead from two states with the same
key to states with the same keys.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from core.sim.exploration.choices import Choice, enabled, take
from core.sim.simulation import Simulation
from core.sim.state.fields import Table
from core.sim.state.fingerprint import Fingerprints
from core.sim.state.snapshot import Snapshot, Snapshots

Left = tuple[int, ...]
"""How often each bounded thing can still happen."""

NOT_COMPARED: Final = -1
"""Stands for the number of compared pairs of a search that compares none."""


class Outcome(NamedTuple):
    """The result of a search.

    Attributes:
        bad: the description of the nearest bad state; empty if there is none within the bounds.
        path: the names of the choices that lead to the bad state.
        states: the number of different states that were seen.
        taken: the number of choices that were taken.
        complete: whether all states were seen, and compared if that was wanted; False if the search found a bad state, reached the limit, or was
            stopped.
        depth: the number of choices on the way to the bad state, or to the farthest state.
        compared: the number of pairs of states with the same key whose successors were compared; `NOT_COMPARED` if none were.
        differing: the names of choices that led from two states with the same key to different ones; empty if the key holds all that matters.
    """

    bad: str
    path: tuple[str, ...]
    states: int
    taken: int
    complete: bool
    depth: int = 0
    compared: int = NOT_COMPARED
    differing: tuple[str, ...] = ()


class _State(NamedTuple):
    """A state whose choices are to be tried."""

    key: bytes
    left: Left
    number: int
    depth: int
    snapshot: Snapshot[Simulation]


class _Twin(NamedTuple):
    """A state that was left out, because a state with the same key and at least as much left was visited.

    Attributes:
        visited: what was left in the state that was visited.
    """

    key: bytes
    left: Left
    visited: Left
    snapshot: Snapshot[Simulation]


class _Reached(NamedTuple):
    """Where a choice leads."""

    names: tuple[str, ...]
    bad: str
    key: bytes
    left: Left


class Search:
    """A search. After `run`, the simulation is in the bad state that was found or, if none was found, in the state in which the search began.

    Attributes:
        states, taken: the number of different states that were seen so far, and of choices that were taken.
    """

    def __init__(
        self,
        simulation: Simulation,
        bad: Callable[[], str],
        acts: Callable[[], Iterable[Choice]] = tuple,
        *,
        also: tuple[object, ...] = (),
        first: Callable[[Choice], bool] | None = None,
        until: int | None = None,
        limit: int = 100_000,
        table: Table | None = None,
        left: Callable[[], Left] = tuple,
        bounds: tuple[object, ...] = (),
        only_acts: bool = False,
        compare: bool = False,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        """Prepare a search.

        Args:
            simulation: the simulation in the state where the search begins.
            bad: a function that returns a description of what is bad in the current state or on the path to it, or an empty string if
                nothing is bad. `bad` is called after each choice.
            acts: a function that returns the acts that the search can perform in the current state, in addition to the simulation's own next
                steps.
            also: objects outside the simulation that `bad` and `acts` depend on. The state of the objects in `also` counts as part of the
                simulation's state, and is restored with it.
            first: a function that returns whether a choice must be taken before all others. With `first`, the search visits fewer states,
                but misses the orders in which another choice comes first.
            until: the virtual time up to which the simulation can advance, in µs.
            limit: the maximum number of states to visit.
            table: the fields that are not plain state, by class.
            left: a function that returns how often each bounded thing can still happen. With more left, everything must be possible that is
                possible with less.
            bounds: objects that hold what is left. They are restored with the simulation's state, but do not count as part of it.
            only_acts: whether acts do all that is due with them, so that there are no other choices, and time never passes.
            compare: whether the successors of each state that was left out are compared with those of the state with the same key that was
                visited, at the end.
            stop: a function that returns whether the search must end, because it has taken too long. It is called for each state, and for each
                comparison.
        """
        self._simulation: Final = simulation
        self._bad, self._acts, self._first, self._left = bad, acts, first, left
        self._until, self._limit, self._only_acts, self._compare, self._stop = until, limit, only_acts, compare, stop
        self._roots: Final = (*also, *bounds)
        self._snapshots: Final = Snapshots()
        self._fingerprints: Final = Fingerprints(simulation, *also, table=table, still=only_acts)
        self._seen: Final[dict[bytes, list[Left]]] = {}
        self._came: Final[list[tuple[int, tuple[str, ...]]]] = []
        self._twins: Final[list[_Twin]] = []
        self._successors: Final[dict[tuple[bytes, Left], dict[str, _Reached]]] = {}
        self.states = self.taken = 0

    def run(self) -> Outcome:
        """Search until a bad state is found, all states were visited, or the limit is reached."""
        start = self._take()
        key, left = self._fingerprints.take(), self._left()
        self._seen[key] = [left]
        self._came.append((-1, ()))
        ahead = deque([_State(key, left, 0, 0, start)])
        self.states, depth = 1, 0
        while ahead:
            if self._stop():
                break
            state = ahead.popleft()
            tried: dict[str, _Reached] = {}
            for at, choice in enumerate(self._choices(state.snapshot)):
                if at:
                    state.snapshot.restore(unchanged=True)
                reached, snapshot = self._reach(choice)
                tried[choice.name] = reached
                if not reached.bad and self._is_known(reached, snapshot):
                    continue
                self.states += 1
                depth = state.depth + len(reached.names)
                self._came.append((state.number, reached.names))
                if reached.bad or self.states >= self._limit:
                    return Outcome(reached.bad, self._path(), self.states, self.taken, False, depth)
                ahead.append(_State(reached.key, reached.left, len(self._came) - 1, depth, snapshot))
            if self._compare:
                self._successors[state.key, state.left] = tried
        compared = NOT_COMPARED
        differing: tuple[str, ...] = ()
        if self._compare and not ahead:
            compared, differing = self._compared()
        start.restore()
        complete = not ahead and (compared == len(self._twins) or not self._compare)
        return Outcome("", (), self.states, self.taken, complete, depth, compared, differing)

    def _take(self) -> Snapshot[Simulation]:
        return self._snapshots.take(self._simulation, *self._roots)

    def _choices(self, snapshot: Snapshot[Simulation]) -> list[Choice]:
        """Go to a state, and return its choices."""
        snapshot.restore(unchanged=True)
        return list(self._acts()) if self._only_acts else enabled(self._simulation, self._acts(), self._until)

    def _reach(self, choice: Choice) -> tuple[_Reached, Snapshot[Simulation]]:
        """Take a choice, and everything that must come first then."""
        names: list[str] = []
        bad = ""
        following: Choice | None = choice
        while following is not None and not bad:
            take(self._simulation, following)
            names.append(following.name)
            bad = self._bad()
            following = None
            if self._first is not None:
                following = next(filter(self._first, enabled(self._simulation, (), self._until)), None)
        self.taken += len(names)
        snapshot = self._take()
        return _Reached(tuple(names), bad, self._fingerprints.take(), self._left()), snapshot

    def _is_known(self, reached: _Reached, snapshot: Snapshot[Simulation]) -> bool:
        """Return whether the state was visited with as much left. Otherwise, note that it is being visited."""
        known = self._seen.get(reached.key)
        if known is None:
            self._seen[reached.key] = [reached.left]
            return False
        for other in known:
            if all(map(int.__ge__, other, reached.left)):
                if self._compare:
                    self._twins.append(_Twin(reached.key, reached.left, other, snapshot))
                return True
        known.append(reached.left)
        return False

    def _compared(self) -> tuple[int, tuple[str, ...]]:
        """Compare the successors of each state that was left out with those of the state that was visited instead. Return the number of
        pairs, and the choices that lead to different states."""
        differing: dict[str, None] = {}
        for compared, twin in enumerate(self._twins):
            if self._stop():
                return compared, tuple(differing)
            others = self._successors[twin.key, twin.visited]
            choices = self._choices(twin.snapshot)
            if twin.left == twin.visited:
                differing.update(dict.fromkeys(sorted(others.keys() - {choice.name for choice in choices})))
            for at, choice in enumerate(choices):
                if at:
                    twin.snapshot.restore(unchanged=True)
                other = others.get(choice.name)
                reached, _ = self._reach(choice)
                if other is None or (reached.names, reached.bad, reached.key) != (other.names, other.bad, other.key):
                    differing[choice.name] = None
        return len(self._twins), tuple(differing)

    def _path(self) -> tuple[str, ...]:
        number, names = self._came[-1]
        path = names
        while number >= 0:
            number, names = self._came[number]
            path = names + path
        return path


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
    """Search for the nearest bad state, and compare no successors. The arguments are those of `Search`."""
    return Search(simulation, bad, acts, also=also, first=first, until=until, limit=limit, table=table).run()
