"""The search for the fewest faults after which a condition becomes true.

The search runs the cluster without faults first, then with one fault, then with two. Whenever a partition comes into a situation
(`core.lab.views.situation`) in which it has not been in a run with as few faults, faults and remedies are tried at this moment: each fault of
the menu, and each act that ends one. Acts happen at the end of an instant of virtual time, when everything that is due has been done. Faults of
brokers on which acknowledged records depend come first (`scenarios.exploration.lineage`), so that what there is to find is found early.

Situations leave out times and offsets, so two moments with the same situation can have different futures. What the search does not find is
therefore not proved to be impossible. What it finds is true: each finding is run again from the start.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from typing import Final

import attrs

from core.lab.acts import Act
from scenarios.exploration.goal import Timed
from scenarios.exploration.lineage import Lineage
from scenarios.exploration.menu import brokers_of, is_fault
from scenarios.exploration.player import Bounds, Moment, Player, Plays, Run, Task


@attrs.frozen
class Finding:
    """Acts after which the goal is true.

    Attributes:
        acts: the acts, in order.
        time: the virtual time at which the goal became true, in µs.
        faults: the kinds of the faults among the acts, sorted.
    """

    acts: tuple[Timed, ...]
    time: int
    faults: tuple[str, ...]


@attrs.define
class Layer:
    """What the search has done with one number of faults.

    Attributes:
        faults: the number of faults.
        runs: the number of runs, each with other acts or moments.
        situations: the number of situations that were new.
        complete: whether all moments were tried; False if the time limit came first.
        kinds: the number of runs by the kind of their last act.
        new: the number of situations that were new, by the kind of the last act.
        elections: the number of elections of leaders in the runs, by how the leader was elected.
        seconds: how long it took, in seconds of real time.
    """

    faults: int
    runs: int = 0
    situations: int = 0
    complete: bool = True
    kinds: Counter[str] = attrs.field(factory=Counter)
    new: Counter[str] = attrs.field(factory=Counter)
    elections: Counter[str] = attrs.field(factory=Counter)
    seconds: float = 0.0


Confirm = Callable[[Finding], tuple[str, ...] | None]
"""Returns the kinds of the faults in the simplest form of a finding; None if it does not happen again."""


class Search:
    """A search.

    Attributes:
        layers: what was done so far, by number of faults.
    """

    def __init__(self, player: Player, bounds: Bounds, confirm: Confirm, plays: Plays | None = None, seconds: float | None = None) -> None:
        """Prepare a search.

        Args:
            player: plays the first run.
            bounds: the bounds.
            confirm: is asked about each finding.
            plays: plays the other runs; None for `player`.
            seconds: the time limit, in seconds of real time; None for no limit.
        """
        self.layers: Final[list[Layer]] = []
        self._player = player
        self._bounds = bounds
        self._confirm = confirm
        self._plays: Plays = player if plays is None else plays
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._seen: dict[bytes, Counter[str]] = {}  # the faults with which each situation was reached first
        self._others: dict[
            tuple[bytes, ...], list[tuple[tuple[Timed, ...], Moment, tuple[str, ...]]]
        ] = {}  # with as many faults of other kinds
        self._found: list[Counter[str]] = []
        self._now: deque[Task] = deque()
        self._next: list[tuple[int, Task]] = []
        self._lineage = Lineage()

    def steps(self) -> Iterator[Layer]:
        """Search until the largest number of faults is reached, or the time is up. Yield the present layer after each run."""
        for faults in range(self._bounds.at_most + 1):
            layer = Layer(faults)
            self.layers.append(layer)
            begun = time.monotonic()
            for _ in self._layer(layer):
                layer.seconds = time.monotonic() - begun
                yield layer
            if not layer.complete or (faults == 0 and self._found):
                return
            self._others = {}
            self._now = deque([task for _, task in sorted(self._next, key=lambda each: each[0])])
            self._next = []

    def _layer(self, layer: Layer) -> Iterator[None]:
        """Play all runs with a number of faults."""
        last = layer.faults == self._bounds.at_most
        fewer = frozenset(self._seen)
        if layer.faults == 0:
            self._take_in(layer, self._player.first(self._lineage.note, last=last), (), ())
            yield

        def take() -> Task | None:
            if self._deadline is not None and time.monotonic() > self._deadline:
                layer.complete = layer.complete and not self._now
                return None
            while self._now:
                task = self._now.popleft()
                acts = tuple([act for act in task.acts if not self._is_known(_kinds(task.kinds, act))])
                if acts:
                    return attrs.evolve(task, acts=acts)
            return None

        for task, runs in self._plays.play(take, fewer, last=last):
            for number, act in enumerate(task.acts):
                kinds = _kinds(task.kinds, act)
                if self._is_known(kinds):
                    continue
                if self._deadline is not None and time.monotonic() > self._deadline:
                    layer.complete = False
                    return
                run = runs(number)
                if run is not None:
                    self._take_in(layer, run, (*task.path, (task.time, act)), kinds)
                    yield

    def _is_known(self, kinds: tuple[str, ...]) -> bool:
        """Return whether faults of the same kinds, or fewer of them, were found before."""
        here = Counter(kinds)
        return any(known <= here for known in self._found)

    def _take_in(self, layer: Layer, run: Run, path: tuple[Timed, ...], kinds: tuple[str, ...]) -> None:
        """Note what a run has found, and the moments at which it goes on."""
        word = path[-1][1].word if path else ""
        layer.runs += 1
        layer.elections.update(run.elections)
        if path:
            layer.kinds[word] += 1
        if run.reached is not None:
            simple = self._confirm(Finding(path, run.reached, tuple(sorted(kinds))))
            if simple is not None:
                self._found.append(Counter(simple))
                self._hand_over(Counter(simple))
                return
        here = Counter(kinds)
        for moment in run.moments:
            if any(key not in self._seen for key in moment.keys):
                layer.situations += 1
                layer.new[word] += 1
                self._go_on(path, moment, kinds)
                continue
            former = [self._seen[key] for key in moment.keys]
            if all(each != here and each.total() == layer.faults for each in former):
                others = self._others.setdefault(moment.keys, [])
                if all(Counter(each) != here for _, _, each in others):
                    others.append((path, moment, kinds))

    def _go_on(self, path: tuple[Timed, ...], moment: Moment, kinds: tuple[str, ...]) -> None:
        """Note what is to be tried at a moment of a run."""
        for key in moment.keys:
            self._seen.setdefault(key, Counter(kinds))
        if moment.remedies:
            self._now.append(Task(path, moment.time, kinds, moment.remedies))
        ranked: dict[int, list[Act]] = {}
        for act in moment.faults:
            ranked.setdefault(self._lineage.rank(brokers_of(act)), []).append(act)
        self._next += [(rank, Task(path, moment.time, kinds, tuple(ranked[rank]))) for rank in sorted(ranked)]

    def _hand_over(self, found: Counter[str]) -> None:
        """When faults are enough to reach the goal, nothing is tried after them any more. Situations that were reached with them go on from
        where they were reached with as many faults of other kinds."""
        for keys, others in self._others.items():
            if any(found <= self._seen[key] for key in keys):
                left = [each for each in others if not self._is_known(each[2])]
                if left:
                    self._seen.update({key: Counter(left[0][2]) for key in keys})
                    self._go_on(*left[0])


def _kinds(before: tuple[str, ...], act: Act) -> tuple[str, ...]:
    return (*before, act.word) if is_fault(act) else before
