"""The table of agreement: for each version and measure, how many values were compared, how many agree, and how many differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs

from tests.fidelity.comparison import MEASURES, Comparison
from tests.fidelity.explained import EXPLAINED


@attrs.define
class Agreement:
    """The counts of one measure: the compared values, the values that agree, and how many of these agree only because a race of followers
    does not count."""

    compared: int = 0
    agree: int = 0
    races: int = 0


@attrs.define
class Table:
    """The counts by version and measure, and the values that differ.

    Attributes:
        counts: the counts by version and measure.
        reasons: the reasons why single values differ, by `measure: where`.
        measures: the compared measures, in the order of the lines.
        unplayable: the reason why a recording cannot be played, by its file.
        differing: every comparison that does not agree, except for those that are `explained`.
    """

    counts: dict[tuple[str, str], Agreement] = attrs.field(factory=dict)
    reasons: Mapping[str, str] = attrs.field(factory=lambda: EXPLAINED)
    measures: Sequence[str] = MEASURES
    differing: list[Comparison] = attrs.field(factory=list)
    explained: list[Comparison] = attrs.field(factory=list)
    unplayable: dict[str, str] = attrs.field(factory=dict)

    def add(self, version: str, comparisons: Iterable[Comparison]) -> None:
        """Add the comparisons of a recording."""
        for one in comparisons:
            count = self.counts.setdefault((version, one.measure), Agreement())
            count.compared += 1
            count.agree += one.agrees
            count.races += one.agrees and one.race
            if not one.agrees:
                (self.explained if one.name in self.reasons else self.differing).append(one)

    def total(self) -> Agreement:
        """Return the sums over all measures."""
        counts = self.counts.values()
        return Agreement(sum(one.compared for one in counts), sum(one.agree for one in counts), sum(one.races for one in counts))

    def lines(self) -> Iterator[str]:
        """Return the table as text."""
        yield f"{'Kafka':8}{'measure':30}{'compared':>10}{'agree':>10}{'':>10}{'races':>8}"
        for version in sorted({version for version, _ in self.counts}):
            for measure in self.measures:
                if (version, measure) in self.counts:
                    yield _line(version, measure, self.counts[version, measure])
        yield _line("all", "", self.total())
        for name, reason in self.unplayable.items():
            yield f"{name}: cannot be played: {reason}"


def _line(version: str, measure: str, count: Agreement) -> str:
    share = f"{100 * count.agree / count.compared:.3f} %" if count.compared else ""
    return f"{version:8}{measure:30}{count.compared:10,}{count.agree:10,}{share:>10}{count.races or '':>8}"
