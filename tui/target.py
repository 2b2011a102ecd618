"""From what is to be played to a session that plays it: a scenario, a described cluster, or the cluster one gets for nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

import attrs

from core.acts import Act, Consume, Load
from core.journal.events import EventTuple
from core.release import CURRENT, Release
from core.sim.cluster import Cluster
from core.sim.keyframe import Keyframe
from core.spec import BrokerSpec, ClusterSpec, Pace, TopicSpec
from scenarios.errors import InputError
from scenarios.eventlog import Header, LogWriter, make_header
from scenarios.language.script import Scenario
from scenarios.play_target import PlayTarget
from scenarios.recording import session_script
from scenarios.runner import Run, Standing, State
from tui.course import Course, FreeCourse, Start
from tui.metrics_history import History
from tui.panels.scenario import Expected, ScenarioState, Verdict
from tui.ring import act_in_words
from tui.session import Session

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
        seed, spec, release: of the run.
        scenario: how the expectations stand; None when there are none.
        notes: what an import could not place.
        own_process: whether the process is the playground's alone, so that it may tune the garbage collector.
        record: where the session is saved as a script when it ends; None: nowhere.
        read_only: whether nobody may act.
        log: where its event log is written as it goes; None: nowhere.
        header: the first line of its event log.
        under: starts the same anew under a release.
        history: how the metrics went so far.
    """

    session: Session
    title: str
    seed: int
    spec: ClusterSpec
    release: Release
    scenario: Callable[[], ScenarioState | None]
    notes: tuple[str, ...] = ()
    own_process: bool = False
    record: Path | None = None
    read_only: bool = False
    log: Path | None = None
    header: Callable[[], Header] = attrs.field(kw_only=True)
    under: Callable[[Release], Start] = attrs.field(kw_only=True)
    history: History = attrs.field(factory=History)

    @property
    def pace(self) -> Pace:
        """Whether the cluster moves by itself."""
        return self.spec.pace

    def script(self, name: str) -> str:
        """The session up to now as a scenario script that makes the same events."""
        session = self.session
        session.mark_end()
        notes = [(mark.position.time, mark.note) for mark in session.bookmarks if mark.note and mark.branch == session.branch.name]
        return session_script(self.spec, self.release, self.seed, session.branch.timed_acts(), session.end.time, name=name, notes=notes)

    def save(self, path: Path) -> None:
        """Write the session as a script.

        Raises:
            InputError: the file cannot be written.
        """
        try:
            path.write_text(self.script(script_name(path)), encoding="utf-8")
        except OSError as wrong:
            raise InputError(f"{path}: cannot be written: {wrong.strerror or wrong}") from None


def script_name(path: Path) -> str:
    """The scenario's name for a script of that file name."""
    kept = "".join(char if char.isalnum() or char in "-_." else "-" for char in path.stem)
    return kept[:80] or "session"


@attrs.frozen
class KeptRun:
    """A scenario's run as it stood."""

    scenario: Scenario
    release: Release
    seed: int
    keyframe: Keyframe
    standing: Standing

    @property
    def size(self) -> int:
        """How many objects it is made of."""
        return len(self.keyframe)

    def bring_back(self, sink: Callable[[EventTuple], None]) -> ScenarioCourse:
        """A course that goes on from there."""
        return ScenarioCourse(Run(self.scenario, self.release, self.seed, sink, resumed=(self.keyframe, self.standing)))


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

    def keep(self) -> KeptRun:
        """It as it stands now."""
        run = self.run
        return KeptRun(run.scenario, run.release, run.seed, self.cluster.snapshot(), run.standing())

    def after_act(self) -> None:
        """Somebody acted: what the script waits for may hold now."""
        step = self.run.next_step
        if step is not None and step.until is not None:
            self.run.advance_to(self.cluster.now, steps=1)


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
    name = script_name(chosen.record) if chosen.record is not None else None if scenario is None else scenario.name

    def header() -> Header:
        return make_header(spec, chosen.release, chosen.seed, name)

    writer = None if chosen.log is None else LogWriter(chosen.log, header())

    def under(release: Release) -> Start:
        def start(sink: Callable[[EventTuple], None]) -> Course:
            if scenario is not None:
                return ScenarioCourse(Run(scenario, release, chosen.seed, sink))
            return FreeCourse(Cluster(spec, release, chosen.seed, sink))

        return start

    try:
        session = Session(under(chosen.release), log=writer)
        if free:
            for act in DEFAULT_ACTS:
                session.do(act)
        if chosen.old is not None:
            session.open_old(chosen.old, read_only=chosen.read_only, at=chosen.at)
    except BaseException:
        if writer is not None:
            writer.close()
        raise

    def state() -> ScenarioState | None:
        course = session.course.course
        return scenario_state(course.run) if isinstance(course, ScenarioCourse) else None

    title = chosen.title or (DEFAULT_TITLE if free else "")
    return Stage(
        session, title, chosen.seed, spec, chosen.release, state, chosen.notes, own_process, chosen.record, chosen.read_only, chosen.log,
        header=header, under=under,
    )  # fmt: skip
