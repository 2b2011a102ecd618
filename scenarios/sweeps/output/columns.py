"""The columns of `cells.csv`, `cells.json`, and `cells.parquet`, which have an entry for each cell.

The columns with bounds contain the bounds of 95% confidence intervals; an upper bound that is not known is empty. Numbers are rounded, so that they are the same on every machine.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import attrs

from scenarios.io.csv_values import csv_value
from scenarios.sweeps.simulation.histogram import Percentile
from scenarios.sweeps.statistics.cell_results import CellResult


@attrs.frozen
class Column:
    """A column.

    Attributes:
        name: the name of the column.
        value: the function that returns the value for a cell.
        type: the type of the values: int, float, str, bool, or list for a list of numbers. A number can also be None.
    """

    name: str
    value: Callable[[CellResult[Any]], Any]
    type: type = int


NUMBER: Final = Column("cell", lambda result: result.cell.number)
NAME: Final = Column("name", lambda result: result.cell.name, str)
RUNS: Final = Column("runs", lambda result: result.runs)
LOSING_RUNS: Final = Column("losing_runs", lambda result: len(result.losing))
LOSING_SEEDS: Final = Column("losing_seeds", lambda result: list(result.losing), list)


def mean(name: str, digits: int, unit: str = "") -> tuple[Column, Column, Column]:
    """Return the columns of a mean and its bounds, rounded to a number of digits. `unit` is the end of their names."""
    kind = float if digits else int

    def bound(which: str) -> Callable[[CellResult[Any]], float | None]:
        def value(result: CellResult[Any]) -> float | None:
            found = getattr(result.means[name], which)
            return None if found == math.inf else round(found, digits or None)

        return value

    return (
        Column(f"{name}{unit}", bound("value"), kind),
        Column(f"{name}_low{unit}", bound("low"), kind),
        Column(f"{name}_high{unit}", bound("high"), kind),
    )


def significant(value: float) -> float | None:
    """Return a number that can be very small, rounded to six digits; None if it is infinite."""
    return None if value == math.inf else float(f"{value:.6g}")


def csv_text(names: Iterable[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as CSV. A list becomes one value."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([csv_value(_words(value)) for value in row] for row in rows)
    return text.getvalue()


def _words(value: Any) -> Any:
    """Return a list as one value: its items are separated by spaces, and counts have the form bucket:count."""
    if not isinstance(value, (list, tuple)):
        return value
    return " ".join(":".join(map(str, item)) if isinstance(item, tuple) else str(item) for item in value)


def total(number: str, name: str = "") -> Column:
    """Return the column of the sum of a number over all runs. `name` is the name of the column if it is not that of the number."""
    return Column(name or number, lambda result: result.totals[number])


def most(number: str, name: str) -> Column:
    """Return the column of a number in the run where it is highest."""
    return Column(name, lambda result: result.most[number])


def _percentiles(name: str, shown: Callable[[Percentile], Any], kind: type = int) -> tuple[Column, ...]:
    """Return a column for each percentile of latency. `shown` returns its value, and the name contains `{}` for the percentile."""

    def value(place: int) -> Callable[[CellResult[Any]], Any]:
        return lambda result: None if (found := result.latencies[place]) is None else shown(found)

    return tuple(Column(name.format(each), value(place), kind) for place, each in enumerate(("p50", "p99", "p999")))


LATENCIES: Final = _percentiles("latency_{}_us", lambda found: round(found.value))
AT_LEAST: Final = _percentiles("{}_at_least", lambda found: found.at_least, bool)
"""Whether a percentile depends on unanswered records, so that it is only a lower bound."""
