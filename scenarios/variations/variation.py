"""Variations of a script or a session: the same acts in clusters, under releases, and with clients whose settings differ."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Final

import attrs

from core.kafka.release import Release
from core.lab.act_settings import GIVEN, TAKEN
from core.lab.acts import Act, CreateTopic
from core.lab.spec import ClusterSpec
from scenarios.errors import InputError, ScriptError, ScriptMistakes
from scenarios.language.nodes import from_data, shortened
from scenarios.language.script import Scenario, release_without
from scenarios.variations.changes import Chosen, Varied, changed, read_axes, written

MOST_RUNS: Final = 4
"""The largest number of runs that are compared side by side."""


@attrs.frozen
class Variation:
    """A run with other values than the script or the session gives, for example acks=1.

    Attributes:
        chosen: the values by their words; none for the run as it is given.
    """

    chosen: tuple[Chosen, ...] = ()

    @property
    def values(self) -> tuple[tuple[str, str], ...]:
        """The values as text, by their words."""
        return tuple((word, written(node)) for word, node in self.chosen)

    @property
    def name(self) -> str:
        """The values in a line, for example `acks=1, min.insync.replicas=2`."""
        return ", ".join(f"{word}={value}" for word, value in self.values) or "as given"

    def applied(self, spec: ClusterSpec, release: Release) -> Varied:
        """Return the cluster and the release with the values.

        Raises:
            InputError: a value is not valid, or the cluster cannot have it.
        """
        name, *off = release.name.split(" without ")
        try:
            return changed(Varied(spec, name, tuple(off)), self.chosen)
        except ScriptError as wrong:
            raise InputError(_message(wrong)) from None


@attrs.frozen
class VariedRun:
    """What a run with other values begins with.

    Attributes:
        name: the name of the run.
        values: the values that differ, as text, by their words.
        spec, release: the cluster and the release.
    """

    name: str
    values: tuple[tuple[str, str], ...]
    spec: ClusterSpec
    release: Release
    _varied: Varied

    @staticmethod
    def of(variation: Variation, spec: ClusterSpec, release: Release) -> VariedRun:
        """Apply a variation to a cluster and a release.

        Raises:
            InputError: a value is not valid, or the cluster cannot have it.
        """
        varied = variation.applied(spec, release)
        names = {name for name, _ in varied.clients}
        clients = (*(pair for pair in varied.spec.clients if pair[0] not in names), *varied.clients)
        spec = attrs.evolve(varied.spec, clients=clients)
        return VariedRun(variation.name, variation.values, spec, release_without(varied.release, varied.without), varied)

    def act(self, act: Act) -> Act:
        """Return an act with the values: a client that it starts has no setting of its own for what differs, so that it takes the setting
        of all clients, and neither has a topic that it creates.
        """
        names = {name for name, _ in (*self._varied.clients, *self.values)}
        changes: dict[str, object] = {}
        if config := getattr(act, "config", ()):
            changes["config"] = tuple(pair for pair in config if pair[0] not in names)
        for field, name in {**GIVEN.get(type(act), {}), **TAKEN.get(type(act), {})}.items():
            if name in names:
                changes[field] = getattr(attrs.fields(type(act)), field).default
        if isinstance(act, CreateTopic) and self._varied.replication_factor is not None and not act.replicas:
            changes["replication_factor"] = self._varied.replication_factor
        return attrs.evolve(act, **changes) if any(getattr(act, field) != value for field, value in changes.items()) else act

    def scenario(self, scenario: Scenario) -> Scenario:
        """Return a scenario with the values."""
        steps = tuple(attrs.evolve(step, acts=tuple(self.act(act) for act in step.acts)) for step in scenario.steps)
        return attrs.evolve(scenario, spec=self.spec, steps=steps)


def read_variations(written_values: Sequence[str], most: int = MOST_RUNS, *, beside: bool = False) -> tuple[Variation, ...]:
    """Read values that vary, each as `word=value,value`, and return a variation for each combination of them. If there is only one, the run
    as it is given comes first, unless the variations are `beside` it anyway.

    Raises:
        InputError: a word cannot vary, or there are more than `most` runs.
    """
    given: dict[str, list[str]] = {}
    for text in written_values:
        word, equals, values = text.partition("=")
        word = word.strip()
        listed = [value.strip() for value in values.split(",")]
        if not equals or not word or not all(listed):
            raise InputError(f"'{shortened(text)}': write a setting and its values, for example min.insync.replicas=1,2")
        if word in given:
            raise InputError(
                f"'{word}' is given twice; write all its values together, for example {word}={','.join([*given[word], *listed])}"
            )
        if len(set(listed)) < len(listed):
            raise InputError(f"'{shortened(text)}': a value is given twice")
        given[word] = listed
    try:
        axes = read_axes(from_data(given, ""))
    except ScriptError as wrong:
        raise InputError(_message(wrong)) from None
    found = tuple(Variation(chosen) for chosen in itertools.product(*axes))
    if len(found) == 1 and not beside:
        found = (Variation(), *found)
    if len(found) > most:
        product = " × ".join(str(len(axis)) for axis in axes)
        raise InputError(
            f"{product + ' = ' if len(axes) > 1 else ''}{len(found):,} runs are too many to compare side by side; "
            f"use at most {most}, or 'isrlab sweep' for a grid"
        )
    return found


def _message(wrong: ScriptError) -> str:
    """Return a mistake without its place, because what people type on one line has no other place."""
    first = wrong.mistakes[0] if isinstance(wrong, ScriptMistakes) else wrong
    word = first.field.partition("[")[0] if first.field != "script" else ""
    return f"{f'{word}: ' if word and word not in first.problem else ''}{first.problem}" + (f"; {first.remedy}" if first.remedy else "")
