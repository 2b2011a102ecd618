"""A search for harmful faults from the present moment of a session, in a process of its own, and the way from what it finds to a branch."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from core.kafka.errors import KafkaError
from core.lab.acts import Act
from core.lab.cluster import Cluster
from core.lab.history.branch import Branch
from core.lab.history.destination import Destination
from core.lab.history.history import History
from core.lab.history.position import Position
from core.lab.history.search import SearchTask
from core.lab.recorded_acts import act_of
from core.sim.errors import ActRefused
from core.sim.events import seq_of, time_of

if TYPE_CHECKING:
    from core.kafka.release import Release
    from core.lab.spec import ClusterSpec
    from scenarios.exploration.execution.beside import SearchBeside
    from scenarios.exploration.exploration import Counterexample

GOAL: Final = "lost > 0"
"""The goal that is offered first."""

APART: Final = 1
"""How far a branch is played, in µs, before a counterexample that begins at its end gets a branch of its own."""


class SessionSearch:
    """The search of a session, if one was begun.

    Attributes:
        beside: the search; None before the first.
    """

    def __init__(self, history: History, spec: ClusterSpec, release: Release, seed: int) -> None:
        self.beside: SearchBeside | None = None
        self._history = history
        self._cluster = (spec, release, seed)
        self._from: tuple[Branch, Position, tuple[tuple[int, Act], ...]] | None = None  # with the load that the session does not have

    @property
    def running(self) -> bool:
        """Whether a search has not ended yet."""
        return self.beside is not None and not self.beside.ended

    def check(self, goal: str) -> None:
        """Check a goal.

        Raises:
            ValueError: it is not a goal, or the cluster is stepped by hand.
        """
        from scenarios.conditions.condition_parser import parse_condition
        from scenarios.conditions.tokens import ConditionError
        from scenarios.exploration.goal import Goal
        from scenarios.exploration.start import names_of

        cluster = self._history.cluster
        if not isinstance(cluster, Cluster) or cluster.by_hand:
            raise ValueError("the search needs time to pass, and this cluster is stepped by hand")
        try:
            Goal(parse_condition(goal, names_of(cluster.view())))
        except ConditionError as wrong:
            raise ValueError(str(wrong)) from None

    def begin(self, goal: str) -> None:
        """Search from the present moment, and end the former search."""
        from scenarios.exploration.execution.beside import SearchBeside
        from scenarios.exploration.request import Request
        from scenarios.exploration.start import Start

        history = self._history
        history.record_branch_end()
        here = history.replay_run.position
        acts = tuple([(time_of(event), act_of(event)) for event in history.branch.act_events if seq_of(event) <= here.seq])
        start = Start(*self._cluster, acts, here.time).with_load("all", history.cluster.view())
        self.end()
        self._from = (history.branch, here, start.acts[len(acts) :])
        self.beside = SearchBeside(Request(start, goal))
        self.beside.begin()

    def end(self) -> None:
        """End the search, if one is running."""
        if self.beside is not None:
            self.beside.end()

    def play(self, found: Counterexample, then: Callable[[str], None]) -> None:
        """Do the acts of a counterexample on a branch, and go back to just before the first of them. Then call `then`, with the reason if an
        act was refused, or with an empty string.
        """
        assert self._from is not None
        history = self._history
        branch, position, load = self._from
        wanted = [*load, *found.finding.acts]
        before = position

        def go_on(done: int) -> None:
            """Go to the moment of the next act, and do it; after the last one, go to the moment of the goal, and back."""
            if done > len(wanted):
                go_back("")
                return
            time = wanted[done][0] if done < len(wanted) else found.finding.time
            moment = Destination("what was found", time=time)
            task = SearchTask(history.replay_run, history.keyframe_cache, destination=moment)
            history.start_task(moment.what, task, lambda: arrived(done))

        def arrived(done: int) -> None:
            nonlocal before
            if done < len(wanted):
                history.replay_run.finish_present_moment()
                if done == len(load):
                    before = history.replay_run.position
                try:
                    history.do(wanted[done][1])
                except (ActRefused, KafkaError, ValueError) as wrong:
                    go_back(str(wrong))
                    return
            go_on(done + 1)

        def go_back(refused: str) -> None:
            history.go_to(Destination("the moment before the first fault", position=before), then=lambda: then(refused))

        if branch is history.branch and not history.in_the_past and history.replay_run.position.place == position.place:
            history.run_until(position.time + APART)
        history.go_to(Destination("where the search began", position=position), branch, lambda: go_on(0))
