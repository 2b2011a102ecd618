"""Runs the faults of a scenario under several replication models, with the same clients in each (`core.lab.model_comparison`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from itertools import accumulate

from core.kafka.release import Release
from core.lab.model_comparison.comparison import Comparison
from core.lab.model_comparison.faults import FAULTS
from core.lab.model_comparison.script import Script, script_of
from core.lab.model_comparison.systems import VARIANTS, Variant
from core.lab.model_comparison.table import COPY_MEANINGS, MEANINGS, copy_table, difference_lines, text_table
from core.lab.spec import Pace
from core.sim.journal import Sink, null_sink
from core.sim.units import SECOND, format_duration
from scenarios import catalogue
from scenarios.errors import InputError
from scenarios.language.script import KafkaStep, Scenario
from scenarios.releases import release_named
from scenarios.running.runner import Run, State


def fault_names() -> list[str]:
    """Return the names of the faults that every model supports."""
    return [fault.name for fault in FAULTS]


def lines(name: str, models: Sequence[str], seed: int, new_sink: Callable[[], Sink] = lambda: null_sink) -> Iterator[str]:
    """Run a fault, or the faults of a scenario, and yield the lines of the result. `new_sink` returns the sink of the next run's events.

    Raises:
        InputError: there is no such model or scenario, or no act in the scenario applies to other models.
    """
    variants = tuple(variant_of(model) for model in models)
    script = _script(name, new_sink)
    fault = script.fault
    comparison = Comparison(variants, fault, seed, new_sink)
    reports = comparison.finish()
    yield f"{fault.name}: {fault.title}"
    for time, act in fault.steps:
        yield f"  {format_duration(time)}: {act.text()}"
    yield f"  {format_duration(fault.healed_at)}: everything is repaired"
    yield from (f"  left out: {each}" for each in script.left_out)
    for run in comparison.runs:
        yield from (f"  {run.variant.name} refuses to {each}" for each in run.refused)
    yield ""
    yield from text_table(variants, reports)
    yield ""
    yield from copy_table(variants, reports)
    yield ""
    yield from difference_lines(comparison.runs)
    yield ""
    yield from (*MEANINGS, *COPY_MEANINGS)


def variant_of(name: str) -> Variant:
    """Return the variant with the given name: a model with its settings.

    Raises:
        InputError: there is no such model.
    """
    known = {variant.name: variant for variant in VARIANTS}
    if name in known:
        return known[name]
    near = get_close_matches(name, known, 1)
    hint = f"did you mean {near[0]}?" if near else f"the models are {', '.join(known)}"
    raise InputError(f"--model: there is no model {name}; {hint}")


def _script(name: str, new_sink: Callable[[], Sink]) -> Script:
    known = {fault.name: fault for fault in FAULTS}
    return Script(known[name], ()) if name in known else _script_of_scenario(catalogue.load(name), new_sink)


def _script_of_scenario(scenario: Scenario, new_sink: Callable[[], Sink]) -> Script:
    """Return the faults of a scenario, at the times at which its acts happen under Kafka.

    Raises:
        InputError: the first partition of the scenario has only one replica, or the scenario has no act that the other models support.
    """
    replicas = _replicas(scenario)
    if len(replicas) < 2:
        raise InputError(f"{scenario.source}: the first partition has one replica; a comparison needs at least two copies")
    servers = {broker: f"n{number}" for number, broker in enumerate(replicas, 1)}
    timeline = [(time, act) for time, step in _timed_steps(scenario, new_sink) for act in step.acts]
    script = script_of(scenario.name, scenario.title, timeline, servers)
    if not script.fault.steps:
        words = ", ".join(dict.fromkeys(act.word for _, act in timeline)) or "none"
        raise InputError(
            f"{scenario.source}: none of its acts applies to other models, which support only acts on brokers that have a replica "
            f"and on the links between those brokers; its acts are {words}"
        )
    return script


def _replicas(scenario: Scenario) -> tuple[int, ...]:
    """Return the brokers with a replica of the first partition, with the leader first. If there is no topic yet, return all brokers."""
    brokers = tuple(broker.id for broker in scenario.spec.brokers)
    if not scenario.spec.topics:
        return brokers
    topic = scenario.spec.topics[0]
    if not topic.assignment:
        return brokers[: topic.replication_factor]
    partition = topic.assignment[0]
    return tuple(sorted(partition.replicas, key=lambda broker: broker != partition.leader))


def _timed_steps(scenario: Scenario, new_sink: Callable[[], Sink]) -> list[tuple[int, KafkaStep]]:
    """Return the steps, each with the time at which the step runs, in µs.

    If steps wait for a state of Kafka (`until`), the scenario runs under Kafka first, and the times from that run apply to all models.
    Under Kafka, by-hand steps take no time. Under the other models, at least one second passes before each by-hand step.
    """
    release = release_named(scenario.releases[-1])
    steps = [step for step in scenario.steps if step.under.includes(release)]
    if scenario.spec.pace is Pace.BY_HAND:
        return list(zip(accumulate(max(step.wait, SECOND) for step in steps), steps, strict=True))
    if any(step.until for step in steps):
        return _steps_under_kafka(scenario, release, new_sink)
    timed = []
    now = 0
    for step in steps:
        now = now + step.wait if step.at is None else step.at
        timed.append((now, step))
    return timed


def _steps_under_kafka(scenario: Scenario, release: Release, new_sink: Callable[[], Sink]) -> list[tuple[int, KafkaStep]]:
    """Run a scenario under Kafka, and return its steps with their times."""
    run = Run(scenario, release, sink=new_sink())
    timed = []
    while (step := run.next_step) is not None and (due := run.next_due()) is not None:
        if run.advance_to(due, steps=1):
            timed.append((run.cluster.now, step))
    failed = next((check for check in run.expectations if check.state is State.FAILED and check.text.startswith("until ")), None)
    if failed is not None:
        raise InputError(
            f"{failed.place}: under Kafka, the condition '{failed.text}' does not become true in time; "
            "the acts of the other models need the time at which it becomes true"
        )
    return timed
