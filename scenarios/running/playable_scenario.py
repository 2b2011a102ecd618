"""A run of a scenario that a screen can play, as an implementation of `core.lab.history.playable.Playable`.

This module is imported only when a scenario is played, because a cluster without a scenario does not need the script language.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

from core.kafka.events import EventTuple
from core.kafka.release import Release
from core.lab.cluster import Cluster
from core.lab.spec import Pace
from core.sim.state.snapshot import Snapshot
from scenarios.language.script import Scenario
from scenarios.running.runner import Run, Standing


@attrs.frozen
class PlayableScenarioSnapshot:
    """A saved state of a scenario's run."""

    scenario: Scenario
    release: Release
    seed: int
    cluster_snapshot: Snapshot[Cluster]
    standing: Standing

    def restore(self, sink: Callable[[EventTuple], None], *, in_place: bool = False) -> PlayableScenario:
        """Return a run that continues from the saved state."""
        return PlayableScenario(Run(self.scenario, self.release, self.seed, sink, resumed=(self.cluster_snapshot, self.standing, in_place)))


class PlayableScenario:
    """A scenario as a `Playable`. Each step is executed when it is due, exactly as in a headless run."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.cluster = run.cluster
        self._by_hand = run.scenario.spec.pace is Pace.BY_HAND

    @property
    def stepwise(self) -> bool:
        """Whether the next step belongs to a script with the pace `by-hand`, and therefore takes no virtual time."""
        return self._by_hand and not self.run.finished

    @property
    def finished(self) -> bool:
        """Whether the script is finished."""
        return self.run.finished

    def next_due(self) -> int | None:
        """Return the virtual time of the next step of the script or the next event of the cluster."""
        return self.run.next_due()

    def step(self) -> bool:
        """Execute one step of the script, or let the cluster handle its next event."""
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
        """Run to a virtual time in µs."""
        self.run.advance_to(time_us)

    def snapshot(self) -> PlayableScenarioSnapshot:
        """Save the current state."""
        run = self.run
        return PlayableScenarioSnapshot(run.scenario, run.release, run.seed, self.cluster.snapshot(), run.standing())

    def after_act(self) -> None:
        """After an act, check whether the condition that the script is waiting for holds."""
        step = self.run.next_step
        if step is not None and step.until:
            self.run.advance_to(self.cluster.now, steps=1)
