"""Converts a run of a scenario into the state that the screen shows."""

from __future__ import annotations

import json

import attrs

from core.lab.act_sentences import act_sentence
from core.lab.acts import Act
from scenarios.running.runner import Run, State
from tui.session.scenario_state import Expected, ScenarioState, Verdict


def scenario_state(run: Run) -> ScenarioState:
    """Return the state of a run for the screen."""
    verdicts = {State.PENDING: Verdict.PENDING, State.HELD: Verdict.HELD, State.FAILED: Verdict.FAILED}
    expected = tuple(
        Expected(verdicts[check.state], check.text, check.note, check.expected, check.got, f'line {check.place.line}')
        for check in run.expectations
    )  # fmt: skip
    step = run.next_step
    coming = ""
    if step is not None:
        words = ", ".join(_words(act) for act in step.acts) or " and ".join(f"until {one.text}" for one in step.until)
        coming = f"{words} ({step.note})" if step.note and words else step.note or words
    return ScenarioState(
        run.scenario.name, run.scenario.about, expected, coming, run.notes[-1][1] if run.notes else "", run.finished, _last_shown(run)
    )


def _last_shown(run: Run) -> str:
    """Return the values that the last step with `show` has shown."""
    last = run.shown[-1].place if run.shown else None
    return ", ".join(f"{one.reading} = {one.value}" for one in run.shown if one.place == last)


def _words(act: Act) -> str:
    """Describe an act in words. Fields that have their default value are left out."""
    fields = {f.name: getattr(act, f.name) for f in attrs.fields(type(act)) if getattr(act, f.name) != f.default}
    return act_sentence(act.word, json.dumps(fields))
