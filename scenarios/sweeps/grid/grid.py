"""The grid of a sweep: its cells, its faults, the virtual time that a run covers, and the experiment that the cells run."""

from __future__ import annotations

from typing import Any, Final, Generic, Protocol, TypeVar

import attrs

from core.sim.units import format_duration
from scenarios.sweeps.grid.fault_model import Fault


@attrs.frozen
class Cell:
    """One point in the grid. The cells of an experiment also contain what they run.

    Attributes:
        number: the number of the cell; the first cell has the number 1.
        name: the name in tables.
        values: the cell's values for the parameters that the grid varies, as pairs of the parameter's name in the grid and the value; None
            if the grid lists systems instead of varying parameters.
    """

    number: int
    name: str
    values: tuple[tuple[str, str], ...] | None


class Run(Protocol):
    """The result of one cell with one seed, which becomes one row of the output. An experiment adds its own columns."""

    @property
    def cell(self) -> int:
        """The number of the cell."""

    @property
    def seed(self) -> int:
        """The seed of the run."""

    @property
    def lost_acknowledged(self) -> int:
        """The number of lost records or writes that were acknowledged."""

    @property
    def latencies(self) -> Counts:
        """The latencies of acknowledged records or writes, in µs."""

    @property
    def waits(self) -> Counts:
        """The waiting times, in µs, of records that were not acknowledged."""


@attrs.frozen
class Stratum:
    """The windows of a run with the same number of nodes that are faulty at once.

    Attributes:
        windows: the number of windows that were drawn.
        frequency: the sum of their weights: an estimate of how many there are per year.
        square, largest: the sum of the squares of the weights, and the largest weight.
    """

    windows: int
    frequency: float
    square: float
    largest: float


@attrs.frozen
class Sample:
    """A window that a run has simulated for one stratum.

    Attributes:
        stratum: the windows from which it was chosen, with a probability proportional to its weight.
        expected: the frequency of such windows by a formula; None if there is none.
        lost: whether acknowledged records were lost; None if no window was simulated.
    """

    stratum: Stratum
    expected: float | None
    lost: bool | None


Counts = tuple[tuple[int, int], ...]
"""The counts of a histogram, as pairs of bucket and count."""

C = TypeVar("C", bound=Cell)
R = TypeVar("R", bound=Run)


class Experiment(Protocol[C, R]):
    """What the cells of a grid run, and what is measured. Kafka under its settings is one experiment, and replication models are another."""

    @property
    def most(self) -> float:
        """The largest value that `means` can return; infinite if there is no limit."""

    @property
    def run_type(self) -> type[R]:
        """The class of the result rows."""

    def simulate(self, grid: Grid[C], cell: C, seed: int) -> R:
        """Simulate one cell with one seed."""

    def means(self, grid: Grid[C], cell: C, run: R) -> dict[str, float]:
        """Return the values of a run, by name, whose means over all runs are estimated."""

    def samples(self, grid: Grid[C], cell: C, run: R) -> tuple[Sample, ...]:
        """Return the windows that a run has simulated by the number of nodes that are faulty at once. Return nothing if a run simulates all
        its faults, so that all runs count the same."""


@attrs.frozen
class Grid(Generic[C]):
    """The description of a whole sweep.

    Attributes:
        name, about: the name and the description, as in a scenario.
        source: the name of the file, for messages.
        text: the content of the grid file.
        experiment: what the cells run.
        cells: the cells, in order.
        faults: the fault model, which is the same for all cells.
        horizon: the time that a run represents.
        max_events: the number of events after which a run is stopped; None for no limit.
    """

    name: str
    about: str
    source: str
    text: str
    experiment: Experiment[C, Any]
    cells: tuple[C, ...]
    faults: tuple[Fault, ...]
    horizon: int
    max_events: int | None = None

    def cell(self, number: int) -> C:
        """Return the cell with the given number.

        Raises:
            KeyError: the cell does not exist.
        """
        if not 1 <= number <= len(self.cells):
            raise KeyError(number)
        return self.cells[number - 1]


MAX_CELLS: Final = 1_000
"""The maximum number of cells."""


def format_horizon(us: int) -> str:
    """Return a long duration as text, in days if possible."""
    day = 86_400_000_000
    return f"{us // day} days" if us >= 2 * day and us % day == 0 else format_duration(us)
