"""From what is to be played to a session that plays it: a scenario, a described cluster, or the cluster one gets for nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

import attrs

from core.acts import Act, Consume, Load
from core.journal.events import EventTuple
from core.release import CURRENT
from core.sim.cluster import Cluster
from core.spec import BrokerSpec, ClusterSpec, Pace, TopicSpec
from scenarios.eventlog import LogWriter, make_header
from scenarios.play_target import PlayTarget
from scenarios.runner import Run, State
from tui.panels.scenario import Expected, ScenarioState, Verdict
from tui.ring import act_in_words
from tui.session import Course, FreeCourse, Session

DEFAULT_SPEC: Final = ClusterSpec(
    brokers=tuple(BrokerSpec(i) for i in (1, 2, 3)),
    topics=(TopicSpec("orders", partitions=6, replication_factor=3), TopicSpec("payments", partitions=3, replication_factor=3)),
    settings=(("min.insync.replicas", 2),),
)
"""The cluster one gets for nothing."""

DEFAULT_ACTS: Final[tuple[Act, ...]] = (
    Load("orders", 200, acks="all"),
    Load("payments", 20, acks="all", producer="payments-load"),
    Consume("orders"),
)
"""What makes it alive."""

DEFAULT_TITLE: Final = "three brokers under load"
"""What the screen calls it."""


@attrs.frozen
class Stage:
    """A session with what the screen says about it.

    Attributes:
        session: the session.
        title: of the scenario, the file or the cluster.
        seed: of the run.
        pace: whether the cluster moves by itself.
        scenario: how the expectations stand; None when there are none.
        notes: what an import could not place.
        own_process: whether the process is the playground's alone, so that it may tune the garbage collector.
    """

    session: Session
    title: str
    seed: int
    pace: Pace
    scenario: Callable[[], ScenarioState | None]
    notes: tuple[str, ...] = ()
    own_process: bool = False


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
        self.run.advance_to(max(due, self.cluster.now), steps=1)
        if self.run.next_step is None and not self.run.finished:
            self.run.advance_to(self.cluster.now)
        return True

    def advance_to(self, time_us: int) -> None:
        """Run up to that time."""
        self.run.advance_to(time_us)


def scenario_state(run: Run) -> ScenarioState:
    """How a run stands, for the screen."""
    verdicts = {State.PENDING: Verdict.PENDING, State.HELD: Verdict.HELD, State.FAILED: Verdict.FAILED}
    expected = tuple(
        Expected(verdicts[check.state], check.text, check.note, check.expected, check.got, f'line {check.place.line}')
        for check in run.expectations
    )  # fmt: skip
    step = run.next_step
    coming = ""
    if step is not None:
        words = ", ".join(_words(act) for act in step.acts) or (f"until {step.until.text}" if step.until is not None else "")
        coming = f"{words} ({step.note})" if step.note and words else step.note or words
    return ScenarioState(run.scenario.name, run.scenario.about, expected, coming, run.notes[-1][1] if run.notes else "", run.finished)


def _words(act: Act) -> str:
    """An act in words, what is as usual left out."""
    fields = {f.name: getattr(act, f.name) for f in attrs.fields(type(act)) if getattr(act, f.name) != f.default}
    return act_in_words(act.word, json.dumps(fields))


def set_stage(target: PlayTarget | None, *, own_process: bool = False) -> Stage:
    """Build what is to be played.

    Raises:
        ScriptError, ValueError, KafkaError: the cluster cannot be built.
        InputError: the event log cannot be written.
    """
    free = target is None or target.spec is None
    spec = DEFAULT_SPEC if target is None or target.spec is None else target.spec
    chosen = target if target is not None else PlayTarget(None, None, CURRENT)
    scenario = chosen.scenario
    writer = None
    if chosen.log is not None:
        writer = LogWriter(chosen.log, make_header(spec, chosen.release, chosen.seed, None if scenario is None else scenario.name))
    run: Run | None = None

    def start(sink: Callable[[EventTuple], None]) -> Course:
        nonlocal run
        if scenario is not None:
            run = Run(scenario, chosen.release, chosen.seed, sink)
            return ScenarioCourse(run)
        return FreeCourse(Cluster(spec, chosen.release, chosen.seed, sink))

    try:
        session = Session(start, log=writer)
        if free:
            for act in DEFAULT_ACTS:
                session.do(act)
    except BaseException:
        if writer is not None:
            writer.close()
        raise
    title = chosen.title or (DEFAULT_TITLE if free else "")
    return Stage(session, title, chosen.seed, spec.pace, lambda: None if run is None else scenario_state(run), chosen.notes, own_process)
