"""Values that a person asks for while a scenario runs: readings, taken at given times or at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from core.sim.simulation import MAX_TIME
from core.sim.units import format_duration, parse_duration
from scenarios.conditions.condition_parser import parse_reading
from scenarios.conditions.conditions import Names, Term
from scenarios.conditions.tokens import ConditionError
from scenarios.errors import InputError
from scenarios.language.script import Scenario
from scenarios.running.runner import Run


@attrs.frozen
class ShownReadings:
    """The readings that a run shows, and when.

    Attributes:
        terms: the readings.
        times: the virtual times at which they are taken, in µs and in order; if there are none, they are taken at the end.
    """

    terms: tuple[Term, ...]
    times: tuple[int, ...]

    @staticmethod
    def of(readings: Sequence[str], times: Sequence[str]) -> ShownReadings:
        """Read the options `--show` and `--at`.

        Raises:
            InputError: a reading or a time is not valid.
        """
        if times and not readings:
            raise InputError("--at: says when --show reads, and there is no --show; for example --show 'leo(orders-0, 2)' --at 16s")
        return ShownReadings(tuple(_term(text) for text in readings), tuple(sorted(_time(text) for text in times)))

    def check(self, scenario: Scenario) -> None:
        """Check that a scenario has the topics, brokers, and clients that the readings name.

        Raises:
            InputError: it lacks one of them.
        """
        for term in self.terms:
            _term(term.text, scenario.names, f" ({scenario.name})")

    def run(self, run: Run) -> None:
        """Run a scenario to its end, and at least to the last of the times. The values are added to `run.shown`."""
        for time in self.times:
            run.advance_to(time)
            run.show(self.terms)
        run.run()
        if not self.times:
            run.show(self.terms)


def _term(text: str, names: Names | None = None, of: str = "") -> Term:
    try:
        return parse_reading(text, names)
    except ConditionError as wrong:
        remedy = f"; {wrong.remedy}" if wrong.remedy else ""
        raise InputError(f"--show: '{text[:60]}'{of}: {wrong.problem}{remedy}") from None


MOST: Final = format_duration(MAX_TIME)


def _time(text: str) -> int:
    try:
        time = parse_duration(text)
    except ValueError:
        raise InputError(f"--at: '{text[:40]}' is not a time; write a time with its unit, for example 16s") from None
    if not 0 <= time <= MAX_TIME:
        raise InputError(f"--at: '{text[:40]}' is outside virtual time, which ends at {MOST}")
    return time
