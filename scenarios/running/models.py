"""Runs the faults of a scenario under several replication models, with the same clients in each (`core.lab.comparison`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from core.lab.comparison.comparison import Comparison
from core.lab.comparison.faults import FAULTS
from core.lab.comparison.script import Script, script_of
from core.lab.comparison.systems import VARIANTS, Variant
from core.lab.comparison.table import COPY_MEANINGS, MEANINGS, copy_table, difference_lines, text_table
from core.lab.spec import Pace
from core.sim.units import format_duration
from scenarios import catalogue
from scenarios.errors import InputError
from scenarios.language.script import Scenario


def fault_names() -> list[str]:
    """Return the names of the faults that every model knows."""
    return [fault.name for fault in FAULTS]


def lines(name: str, models: Sequence[str], seed: int) -> Iterator[str]:
    """Run a fault, or the faults of a scenario, and yield the lines of the result.

    Raises:
        InputError: there is no such model or scenario, or the faults of the scenario depend on the state of Kafka.
    """
    variants = tuple(variant_of(model) for model in models)
    script = _script(name)
    fault = script.fault
    comparison = Comparison(variants, fault, seed)
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
    """Return a model with settings by its name.

    Raises:
        InputError: there is no such model.
    """
    known = {variant.name: variant for variant in VARIANTS}
    if name in known:
        return known[name]
    near = get_close_matches(name, known, 1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
    raise InputError(f"--model: there is no model {name}; {hint}")


def _script(name: str) -> Script:
    known = {fault.name: fault for fault in FAULTS}
    return Script(known[name], ()) if name in known else _script_of_scenario(catalogue.load(name))


def _script_of_scenario(scenario: Scenario) -> Script:
    if scenario.spec.pace is Pace.BY_HAND:
        raise InputError(f"{scenario.source}: the steps are done by hand; only scenarios with a timeline run under other models")
    if len(scenario.spec.brokers) != 3:
        raise InputError(f"{scenario.source}: the cluster has {len(scenario.spec.brokers)} brokers; the other models have 3 servers")
    timeline = []
    now = 0
    for step in scenario.steps:
        if step.until is not None:
            raise InputError(
                f"{step.place}: 'until' waits for a state of Kafka, which other models do not have; write 'at' or 'wait' instead"
            )
        now = now + step.wait if step.at is None else step.at
        timeline += [(now, act) for act in step.acts]
    return script_of(scenario.name, scenario.headline, timeline)
