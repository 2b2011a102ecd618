"""The search for the fewest faults after which a condition becomes true.

The search runs the cluster without faults first, then with one fault, then with two. Whenever a run comes into a situation
(`core.lab.views.situation`) in which no run with as few faults has been, this moment becomes a branch point: from there, each fault of the menu,
and each act that ends one, is tried. Acts happen at the end of an instant of virtual time, when everything that is due has been done.

Situations leave out times and offsets, so two moments with the same situation can have different futures. What the search does not find is
therefore not proved to be impossible. What it finds is true: each finding is run again from the start.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Sequence
from typing import Final

import attrs

from core.kafka.errors import KafkaError
from core.lab.acts import Act
from core.lab.cluster import Cluster
from core.sim.errors import ActRefused
from core.sim.state.snapshot import Snapshot
from core.sim.units import SECOND
from scenarios.exploration.goal import Goal, Timed, checks
from scenarios.exploration.menu import Fault, remedies


@attrs.frozen
class Bounds:
    """The bounds of a search.

    Attributes:
        goal: what the search tries to make true.
        faults: the kinds of faults that it tries.
        at_most: the largest number of faults.
        within: how long the cluster runs, in µs of virtual time, counted from the beginning of the search.
        seconds: the time limit of the search, in seconds of real time; None for no limit.
    """

    goal: Goal
    faults: Sequence[Fault]
    at_most: int = 2
    within: int = 30 * SECOND
    seconds: float | None = None


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
        findings: what was found.
        complete: whether all branch points were tried; False if the time limit came first.
        kinds: the number of runs by the kind of their last act.
        seconds: how long it took, in seconds of CPU time.
    """

    faults: int
    runs: int = 0
    situations: int = 0
    findings: list[Finding] = attrs.field(factory=list)
    complete: bool = True
    kinds: Counter[str] = attrs.field(factory=Counter)
    seconds: float = 0.0


@attrs.frozen
class _Branch:
    """A moment from which one more act is tried."""

    snapshot: Snapshot[Cluster]
    acts: tuple[Timed, ...]
    faults: tuple[str, ...]
    act: Act


class Search:
    """A search in a cluster.

    Attributes:
        cluster: the cluster. Its state changes while the search runs.
        bounds: the bounds.
        layers: what was done so far, by number of faults.
    """

    def __init__(self, cluster: Cluster, bounds: Bounds, tell: Callable[[Layer], None] = lambda layer: None) -> None:
        """Begin a search at the present state of a cluster. `tell` is called after each run, to show progress."""
        self.cluster: Final = cluster
        self.bounds: Final = bounds
        self.layers: Final[list[Layer]] = []
        self._tell = tell
        self._end = cluster.now + bounds.within
        self._seen: dict[Hashable, int] = {}
        self._found: set[tuple[str, ...]] = set()
        self._next: deque[_Branch] = deque()
        self._deadline = None if bounds.seconds is None else time.monotonic() + bounds.seconds

    def run(self) -> list[Layer]:
        """Search until the largest number of faults is reached, or the time is up."""
        ahead: deque[_Branch] = deque()
        for faults in range(self.bounds.at_most + 1):
            layer = Layer(faults)
            self.layers.append(layer)
            begun = time.process_time()
            if faults == 0:
                self._play(layer, (), (), ahead)
            while ahead:
                if self._deadline is not None and time.monotonic() > self._deadline:
                    layer.complete = False
                    break
                branch = ahead.popleft()
                if self._is_known(branch.faults):
                    continue
                branch.snapshot.restore()
                if not self._do(branch.act):
                    continue
                layer.kinds[branch.act.word] += 1
                self._play(layer, (*branch.acts, (self.cluster.now, branch.act)), branch.faults, ahead)
                layer.seconds = time.process_time() - begun
                self._tell(layer)
            layer.seconds = time.process_time() - begun
            if not layer.complete or (faults == 0 and layer.findings):
                break
            ahead, self._next = self._next, deque()
        return self.layers

    def _is_known(self, faults: tuple[str, ...]) -> bool:
        """Return whether faults of the same kinds, or fewer of them, were found before."""
        here = Counter(faults)
        return any(not Counter(known) - here for known in self._found)

    def _do(self, act: Act) -> bool:
        try:
            self.cluster.do(act)
        except (ActRefused, KafkaError, ValueError):
            return False
        return True

    def _play(self, layer: Layer, acts: tuple[Timed, ...], faults: tuple[str, ...], ahead: deque[_Branch]) -> None:
        """Run the cluster to the end, and note the branch points on the way."""
        layer.runs += 1
        for new in checks(self.cluster, self._end):
            if self.bounds.goal.reached(self.cluster):
                layer.findings.append(Finding(acts, self.cluster.now, faults))
                self._found.add(faults)
                return
            known = self._seen.get(new)
            if known is not None and known < layer.faults and not self.bounds.goal.ages:
                return  # as after fewer faults, from where a former run has gone on
            if new is None or known is not None:
                continue
            self._seen[new] = layer.faults
            layer.situations += 1
            self._branch(acts, faults, ahead)

    def _branch(self, acts: tuple[Timed, ...], faults: tuple[str, ...], ahead: deque[_Branch]) -> None:
        """Note what can be done at the present moment."""
        cluster = self.cluster
        here = cluster.snapshots.take(cluster)
        for act in remedies(cluster):
            ahead.append(_Branch(here, acts, faults, act))
        if len(faults) < self.bounds.at_most:
            for fault in self.bounds.faults:
                more = tuple(sorted((*faults, fault.word)))
                if not self._is_known(more):
                    self._next.extend(_Branch(here, acts, more, act) for act in fault.acts(cluster))
