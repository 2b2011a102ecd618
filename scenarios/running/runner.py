"""Runs a scenario under a release and a seed: executes its steps and checks its expectations.

A `Run` can advance incrementally: `advance_to(time)` runs to a virtual time. A screen can therefore play a scenario at any speed, with
exactly the events of a headless run. `run_scenario` runs a whole scenario in one call.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import attrs

from core.kafka.errors import KafkaError
from core.kafka.features import finalized
from core.kafka.ids import TopicPartition
from core.kafka.release import Release
from core.lab.accounts.losses import Loss
from core.lab.acts import Act
from core.lab.audit.audit_report import AuditReport, audit_report
from core.lab.audit.message_audit import MessageAudit
from core.lab.cluster import Cluster
from core.lab.views.cluster_view import ClusterView
from core.lab.views.log_contents import LogContents
from core.lab.views.partition_view import PartitionView
from core.sim.errors import ActRefused
from core.sim.events import kind_of
from core.sim.state.snapshot import Snapshot
from core.sim.units import format_duration
from scenarios.conditions.conditions import Condition, Term, ages, audits, kinds_of
from scenarios.conditions.shown_value import ShownValue
from scenarios.errors import Place, ScriptError
from scenarios.language.script import KafkaExpectation, KafkaStep, Scenario

Sink = Callable[[tuple[Any, ...]], None]
"""A function that receives each event tuple."""


class State(enum.StrEnum):
    """The state of an expectation."""

    PENDING = "pending"
    """The expectation has not been checked yet."""
    HELD = "held"
    """The expectation was true."""
    FAILED = "failed"
    """The expectation was false."""


@attrs.define(slots=True)
class Check:
    """An expectation of a run with its result.

    Attributes:
        time: the virtual time of the check in µs, or -1 before the check.
        since: since when the value has been what the expectation got, and why, in words; empty if nobody asked.
    """

    place: Place
    text: str
    note: str = ""
    state: State = State.PENDING
    expected: str = ""
    got: str = ""
    time: int = -1
    since: str = ""


@attrs.frozen
class Harm:
    """The durability account at the end of a run.

    Attributes:
        accepted, acked, duplicated, exposed, lost, lost_acknowledged, lost_read: numbers of records (`core.lab.accounts.durability_account`).
        exposed_ranges: the committed offsets that an electable replica lacks, by partition.
        losses: the lost records by producer, each with the event that caused the loss.
    """

    accepted: int
    acked: int
    duplicated: int
    exposed: int
    lost: int
    lost_acknowledged: int
    lost_read: int
    exposed_ranges: tuple[tuple[TopicPartition, tuple[tuple[int, int], ...]], ...]
    losses: tuple[Loss, ...]


@attrs.frozen
class RunResult:
    """The result of a run, for Kafka and for other models.

    Attributes:
        scenario, source: the name of the script, and its file.
        under: the release or the system in which the script ran.
        seed: the seed.
        events: the number of events.
        time: the virtual time that the run took, in µs.
        checks: the expectations with their results.
    """

    scenario: str
    source: str
    under: str
    seed: int
    events: int
    time: int
    checks: tuple[Check, ...]

    @property
    def title(self) -> str:
        """What the script ran under, in a line."""
        return self.under

    @property
    def held(self) -> bool:
        """Whether all expectations held."""
        return all(check.state is State.HELD for check in self.checks)

    @property
    def failures(self) -> tuple[Check, ...]:
        """The expectations that failed."""
        return tuple(check for check in self.checks if check.state is not State.HELD)


@attrs.frozen
class Result(RunResult):
    """The result of a run under a release of Kafka.

    Attributes:
        harm: the durability account at the end.
        shown: the values that the script or its caller asked for, in order.
        settings: the values that differ from those of the script, by their words.
    """

    harm: Harm
    shown: tuple[ShownValue, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()

    @property
    def title(self) -> str:
        return ", ".join((self.under, *(f"{word}={value}" for word, value in self.settings if word != "release")))


class LiveMoment:
    """The current state of a cluster, from which conditions take readings. Views are built on first use and kept until the next event."""

    def __init__(self, cluster: Cluster, recorded: dict[str, list[tuple[Any, ...]]]) -> None:
        self._cluster = cluster
        self._recorded = recorded
        self._stamp: tuple[int, int] = (-1, -1)
        self._view: ClusterView | None = None
        self._partitions: dict[TopicPartition, PartitionView | None] = {}
        self._report: AuditReport | None = None

    def _fresh(self) -> None:
        stamp = (self._cluster.journal.seq, self._cluster.now)
        if stamp != self._stamp:
            self._stamp, self._view, self._partitions, self._report = stamp, None, {}, None

    def view(self) -> ClusterView:
        """Return the current view of the whole cluster."""
        self._fresh()
        if self._view is None:
            self._view = self._cluster.view()
        return self._view

    def partition(self, tp: TopicPartition) -> PartitionView | None:
        """Return the current view of one partition, or None if the partition does not exist."""
        self._fresh()
        if tp not in self._partitions:
            try:
                self._partitions[tp] = self._cluster.partition_view(tp)
            except KeyError:
                self._partitions[tp] = None
        return self._partitions[tp]

    def contents(self, tp: TopicPartition, broker: int) -> LogContents | None:
        """Return the records that a broker stores for a partition of a compacted topic, or None if there are none."""
        return LogContents.of(self._cluster.brokers[broker].disk, tp)

    def events(self, kind: str) -> list[tuple[Any, ...]]:
        """Return the recorded events of a kind that a condition of the scenario uses."""
        return self._recorded.get(kind, [])

    def audit(self) -> AuditReport | None:
        """Return the current report of the audit that observes the cluster, or None if there is no audit."""
        self._fresh()
        observer = self._cluster.account.record_observer
        if self._report is None and isinstance(observer, MessageAudit):
            self._report = audit_report(observer)
        return self._report


@attrs.frozen
class Standing:
    """The saved state of a run, without the state of its cluster.

    Lists to which a run only appends are not copied but shared, and are stored with their current lengths.

    Attributes:
        index: the index of the next step.
        entered: the virtual time, in µs, at which the step `index` became the next step.
        seen: the (seq, step) for which the condition of the step was last evaluated.
        notes, shown: the notes and the shown values of the executed steps, as in `Run`.
        recorded: the events that conditions use, by kind.
        checks: copies of `Run.expectations`, each with its index in the script. The index is -1 if a failure belongs to no expectation of
            the script.
    """

    index: int
    entered: int
    seen: tuple[int, int] | None
    notes: tuple[list[tuple[int, str]], int]
    shown: tuple[list[ShownValue], int]
    recorded: tuple[tuple[str, list[tuple[Any, ...]], int], ...]
    checks: tuple[tuple[int, Check], ...]


class Run:
    """One run of a scenario.

    Attributes:
        scenario, release, seed: the scenario, the release, and the seed of the run.
        cluster: the running cluster, on which callers can execute acts between two calls.
        expectations: the expectations that apply to this release, in the order of the script.
        moment: the current state, from which conditions and callers take readings.
        conditions: the conditions of the expectations that the script contains, in the order of the script.
        notes: the notes of the executed steps, as (time, note).
        shown: the values that the executed steps and callers show, in order.
    """

    def __init__(
        self,
        scenario: Scenario,
        release: Release,
        seed: int | None = None,
        sink: Sink | None = None,
        *,
        readings: Sequence[Term] = (),
        resumed: tuple[Snapshot[Cluster], Standing, bool] | None = None,
    ) -> None:
        """Build the cluster, or continue from a saved state of a run of the same script.

        Args:
            readings: what callers read from `moment`.
            resumed: the point at which the run resumes, as a tuple: a keyframe of the cluster, the saved state of the run, and whether the
                run restores the cluster object itself instead of a copy.

        Raises:
            ScriptError: the cluster cannot be built. The error message contains the reason for which Kafka refuses the cluster.
        """
        self.scenario = scenario
        try:
            self.release = release = finalized(release, scenario.spec.features)
        except ValueError as wrong:
            raise ScriptError(scenario.cluster_place, "cluster", str(wrong)) from None
        self.seed = scenario.seed if seed is None else seed
        self.steps = tuple(step for step in scenario.steps if step.under.includes(release))
        self.notes: list[tuple[int, str]] = []
        self.shown: list[ShownValue] = []
        self._recorded: dict[str, list[tuple[Any, ...]]] = {}
        finals = [one for one in scenario.expects if one.under.includes(release)]
        expected = {id(step): [one for one in step.expects if one.under.includes(release)] for step in self.steps}
        conditions = [
            *(one.condition for found in expected.values() for one in found),
            *(one.condition for one in finals),
            *(one.condition for step in self.steps for one in step.until),
        ]
        self._audit: MessageAudit | None = None
        for condition in conditions:
            for kind in kinds_of(condition):
                self._recorded.setdefault(kind, [])
        self._until = {id(step): [(one, Check(step.place, f"until {one.text}", step.note)) for one in step.until] for step in self.steps}
        self._checks = {id(step): [(one, Check(one.place, one.text, one.note)) for one in expected[id(step)]] for step in self.steps}
        self._finals = [(one, Check(one.place, one.text, one.note)) for one in finals]
        self.expectations: list[Check] = []
        for step in self.steps:
            self.expectations.extend(check for _, check in (*self._until[id(step)], *self._checks[id(step)]))
        self.expectations.extend(check for _, check in self._finals)
        self._planned = tuple(self.expectations)
        readings = [*readings, *(term for step in self.steps for term in step.show)]
        for term in readings:
            for kind in term.kinds:
                self._recorded.setdefault(kind, [])
        audited = any(map(audits, conditions)) or any(term.audits for term in readings)
        self._index = 0
        self._entered = 0
        self._seen: tuple[int, int] | None = None
        try:
            if resumed is None:
                self.cluster = Cluster(scenario.spec, release, self.seed, self._sink(sink, audited=audited))
                if audited:
                    self._audit = MessageAudit()
                    self._audit.attach(self.cluster)
            else:
                self._stand(resumed[1])
                self.cluster = Cluster.from_snapshot(resumed[0], self._sink(sink, audited=audited), in_place=resumed[2])
                observer = self.cluster.account.record_observer
                self._audit = observer if isinstance(observer, MessageAudit) else None
        except (ValueError, KafkaError) as wrong:
            raise ScriptError(scenario.cluster_place, "cluster", " ".join(str(wrong).split())) from None
        self.moment: Final = LiveMoment(self.cluster, self._recorded)
        self.conditions: Final = self._conditions()

    def _conditions(self) -> tuple[Condition, ...]:
        """Return the condition of each expectation that the script contains, in the order of `expectations`."""
        found: list[Condition] = []
        for step in self.steps:
            found.extend(one.condition for one, _ in (*self._until[id(step)], *self._checks[id(step)]))
        return (*found, *(one.condition for one, _ in self._finals))

    def is_checked(self, number: int) -> bool:
        """Return whether an expectation has been checked. `number` is its place in `conditions`."""
        return self._planned[number].state is not State.PENDING

    def number_of(self, check: Check) -> int | None:
        """Return the place of an expectation in `conditions`; None if the script does not contain it, as for a refused act."""
        return next((number for number, one in enumerate(self._planned) if one is check), None)

    def standing(self) -> Standing:
        """Return the current state of the run. Another run can continue from this state and a keyframe of the cluster."""
        number = {id(check): at for at, check in enumerate(self._planned)}
        return Standing(
            self._index,
            self._entered,
            self._seen,
            (self.notes, len(self.notes)),
            (self.shown, len(self.shown)),
            tuple((kind, events, len(events)) for kind, events in self._recorded.items()),
            tuple((number.get(id(check), -1), attrs.evolve(check)) for check in self.expectations),
        )

    def _stand(self, at: Standing) -> None:
        """Restore the state of another run."""
        self._index, self._entered, self._seen = at.index, at.entered, at.seen
        self.notes = at.notes[0][: at.notes[1]]
        self.shown = at.shown[0][: at.shown[1]]
        for kind, events, count in at.recorded:
            self._recorded[kind][:] = events[:count]
        self.expectations = []
        for number, kept in at.checks:
            if number < 0:
                self.expectations.append(attrs.evolve(kept))
                continue
            check = self._planned[number]
            check.state, check.expected, check.got, check.time = kept.state, kept.expected, kept.got, kept.time
            self.expectations.append(check)

    def _sink(self, sink: Sink | None, *, audited: bool) -> Sink | None:
        """Return a sink that passes events to `sink`, and to the run's audit if it has one, and records the events that conditions use."""
        recorded = self._recorded
        if not recorded and not audited:
            return sink

        def tee(event: tuple[Any, ...]) -> None:
            audit = self._audit
            if audit is not None and self.cluster.account.record_observer is audit:
                audit(event)
            kept = recorded.get(kind_of(event))
            if kept is not None:
                kept.append(event)
            if sink is not None:
                sink(event)

        return tee

    @property
    def finished(self) -> bool:
        """Whether all steps have been executed and all expectations have been checked."""
        return self._index > len(self.steps)

    @property
    def held(self) -> bool:
        """Whether all expectations checked so far hold."""
        return all(check.state is not State.FAILED for check in self.expectations)

    @property
    def next_step(self) -> KafkaStep | None:
        """The next step; None after the last step."""
        return self.steps[self._index] if self._index < len(self.steps) else None

    def next_due(self) -> int | None:
        """Return the virtual time of the next step or of the next event in the cluster; None if nothing is due."""
        if self.finished:
            return self.cluster.next_time()
        step = self.next_step
        if step is None or not step.until:
            due = self.cluster.now if step is None else self._target(step)
        else:
            due = self._entered + step.within
        coming = self.cluster.next_time()
        return due if coming is None else min(due, coming)

    def _target(self, step: KafkaStep) -> int:
        return step.at if step.at is not None else self._entered + step.wait

    def advance_to(self, time: int, steps: int | None = None) -> int:
        """Run the scenario up to and including a virtual time. After the last step, the cluster continues to run.

        Args:
            time: the virtual time in µs.
            steps: the maximum number of steps to execute; a screen that plays a scenario by hand executes one step at a time.

        Returns: The number of steps that were executed.
        """
        done = self._advance(time, steps)
        if self.finished and self.cluster.now < time:
            self.cluster.run_until(time)
        return done

    def _advance(self, time: int, steps: int | None = None) -> int:
        """Run like `advance_to`, but stop at the end of the script."""
        done = 0
        while not self.finished:
            if steps is not None and done >= steps:
                return done
            step = self.next_step
            if step is None:
                self._check(self._finals)
                self._index += 1
                continue
            if not (self._wait_until(step, time) if step.until else self._wait_for(step, time)):
                return done
            self._carry_out(step)
            done += 1
        return done

    def run(self) -> Result:
        """Run to the end of the scenario."""
        while not self.finished:
            step = self.next_step
            if step is None:
                self._advance(self.cluster.now)
            elif step.until:
                self._advance(self._entered + step.within, steps=1)
            else:
                self._advance(max(self._target(step), self.cluster.now))
        return self.result()

    def result(self) -> Result:
        """Return the result at the current moment."""
        return Result(
            scenario=self.scenario.name,
            source=self.scenario.source,
            under=self.release.name,
            seed=self.seed,
            events=self.cluster.journal.seq,
            time=self.cluster.now,
            checks=tuple(self.expectations),
            harm=self._harm(),
            shown=tuple(self.shown),
        )

    def _harm(self) -> Harm:
        account, exposure = self.cluster.account, self.cluster.exposure
        ranges = [(tp, tuple(found)) for tp in account.partitions if (found := exposure.exposed_offsets(tp))]
        return Harm(
            accepted=account.accepted,
            acked=account.acked,
            duplicated=account.duplicated,
            exposed=sum(end - start for _, found in ranges for start, end in found),
            lost=account.lost,
            lost_acknowledged=account.lost_acknowledged,
            lost_read=account.lost_read,
            exposed_ranges=tuple(ranges),
            losses=tuple(account.losses()),
        )

    # waiting

    def _wait_for(self, step: KafkaStep, time: int) -> bool:
        """Run the cluster until the step is due. Return False if the step is due later than `time`."""
        target = self._target(step)
        if target > time:
            if self.cluster.now <= time:  # Events that an act made due at exactly this time also run.
                self.cluster.run_until(time)
            return False
        if target > self.cluster.now:
            self.cluster.run_until(target)
        return True

    def _wait_until(self, step: KafkaStep, time: int) -> bool:
        """Run the cluster until the conditions of the step hold or its time limit is reached. Return False if the run reaches the virtual
        time `time` first.
        """
        cluster, conditions = self.cluster, [one.condition for one in step.until]
        deadline = self._entered + step.within
        ageing = any(map(ages, conditions))
        while True:
            seen = (cluster.journal.seq, self._index)
            if ageing or seen != self._seen:
                self._seen = seen
                if all(condition.holds(self.moment) for condition in conditions):
                    for _, check in self._until[id(step)]:
                        check.state, check.time = State.HELD, cluster.now
                    return True
            coming = cluster.next_time()
            target = deadline if coming is None else min(coming, deadline)
            if target > time:
                if cluster.now < time:
                    cluster.run_until(time)
                return False
            if coming is None or coming > deadline:
                cluster.run_until(deadline)
                for one, check in self._until[id(step)]:
                    check.state, check.time = State.FAILED, cluster.now
                    check.expected = f"{one.text} within {format_duration(step.within)}"
                    check.got = one.condition.got(self.moment)
                return True
            cluster.run_until(coming)

    # executing

    def _carry_out(self, step: KafkaStep) -> None:
        if step.at is not None and step.at < self.cluster.now:
            self._failure(
                step.place,
                f"at {format_duration(step.at)}",
                f"the previous steps ended later, at {format_duration(self.cluster.now)}",
                step.note,
            )
        for act in step.acts:
            self._do(act, step)
        if step.note:
            self.notes.append((self.cluster.now, step.note))
        self.show(step.show, step.place)
        self._check(self._checks[id(step)])
        self._index += 1
        self._entered = self.cluster.now

    def show(self, terms: Iterable[Term], place: Place | None = None) -> None:
        """Take readings now, and add their values to `shown`. `place` is the step of the script that asks for them."""
        self.shown += [ShownValue.taken(term, self.moment, self.cluster.now, place) for term in terms]

    def _do(self, act: Act, step: KafkaStep) -> None:
        try:
            self.cluster.do(act)
        except ActRefused as refused:
            self._failure(step.place, f"{act.word} is possible", f"refused: {refused}", step.note)

    def _failure(self, place: Place, expected: str, got: str, note: str) -> None:
        """Add the failure of an implicit expectation, for example the expectation that no act of the script is refused."""
        failed = Check(place, expected, note, State.FAILED, expected, got, self.cluster.now)
        pending = next((index for index, check in enumerate(self.expectations) if check.state is State.PENDING), len(self.expectations))
        self.expectations.insert(pending, failed)

    def _check(self, pairs: list[tuple[KafkaExpectation, Check]]) -> None:
        for expectation, check in pairs:
            condition = expectation.condition
            held = condition.holds(self.moment)
            check.state = State.HELD if held else State.FAILED
            check.time = self.cluster.now
            check.expected = condition.expected()
            check.got = condition.got(self.moment)


def run_scenario(scenario: Scenario, release: Release, seed: int | None = None, sink: Sink | None = None) -> Result:
    """Run a scenario to its end.

    Raises:
        ScriptError: the cluster of the scenario cannot be built.
    """
    return Run(scenario, release, seed, sink).run()
