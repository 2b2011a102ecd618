"""A scenario's run as a course that somebody watches: its steps come when they are due, exactly as they do headless.

Loaded with the first scenario that is played; a cluster that is played freely needs none of the script language.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

from core.kafka.events import EventTuple
from core.kafka.release import Release
from core.lab.cluster import Cluster
from core.lab.spec import Pace
from core.sim.snapshot import Snapshot
from scenarios.language.script import Scenario
from scenarios.running.runner import Run, Standing


@attrs.frozen
class KeptRun:
    """A scenario's run as it stood."""

    scenario: Scenario
    release: Release
    seed: int
    keyframe: Snapshot[Cluster]
    standing: Standing

    def bring_back(self, sink: Callable[[EventTuple], None], *, in_place: bool = False) -> ScenarioCourse:
        """A course that goes on from there."""
        return ScenarioCourse(Run(self.scenario, self.release, self.seed, sink, resumed=(self.keyframe, self.standing, in_place)))


class ScenarioCourse:
    """A scenario's run as a course: its steps come when they are due, exactly as they do headless."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.cluster = run.cluster
        self._by_hand = run.scenario.spec.pace is Pace.BY_HAND

    @property
    def stepwise(self) -> bool:
        """Whether the next thing is a step by hand, which takes no virtual time."""
        return self._by_hand and not self.run.finished

    @property
    def finished(self) -> bool:
        """Whether the script has come to its end."""
        return self.run.finished

    def next_due(self) -> int | None:
        """When the next step of the script or the next thing in the cluster is due."""
        return self.run.next_due()

    def step(self) -> bool:
        """Carry out one step, or let the cluster handle what is due next."""
        due = self.run.next_due()
        if due is None:
            return False
        if self.run.finished:
            self.cluster.run_until(max(due, self.cluster.now))
            return True
        self.run.advance_to(max(due, self.cluster.now), steps=1)
        if self.run.next_step is None and not self.run.finished:
            self.run.advance_to(self.cluster.now)
        return True

    def advance_to(self, time_us: int) -> None:
        """Run up to that time."""
        self.run.advance_to(time_us)

    def keep(self) -> KeptRun:
        """It as it stands now."""
        run = self.run
        return KeptRun(run.scenario, run.release, run.seed, self.cluster.snapshot(), run.standing())

    def after_act(self) -> None:
        """Somebody acted: what the script waits for may hold now."""
        step = self.run.next_step
        if step is not None and step.until is not None:
            self.run.advance_to(self.cluster.now, steps=1)
