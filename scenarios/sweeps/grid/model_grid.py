"""The grid of a sweep over replication models: systems with settings, a fault model, and the load that every system gets."""

from __future__ import annotations

import attrs

from core.lab.model_comparison.systems import Variant
from core.sim.units import SECOND, US_PER_MS
from scenarios.sweeps.grid.fault_model import Fault


@attrs.frozen
class ModelCell:
    """A system of the grid.

    Attributes:
        number: the number of the cell; the first cell has the number 1.
        name: the name of the cell in tables.
        variant: the replication model and its settings.
    """

    number: int
    name: str
    variant: Variant


@attrs.frozen
class ModelGrid:
    """The description of a sweep over models.

    Attributes:
        name, about, source, text, horizon: the same as in a grid of Kafka settings.
        cells: the systems, in the order in which the grid lists them.
        faults: the fault model, which is the same for all systems.
        write_every: the time between two writes by a client, in µs.
        read_every: the time between two reads by a client, in µs.
        operator_after: the time, in µs, after which an operator promotes a replica if the MySQL source dies or is cut off.
    """

    name: str
    about: str
    source: str
    text: str
    cells: tuple[ModelCell, ...]
    faults: tuple[Fault, ...]
    horizon: int
    write_every: int = 20 * US_PER_MS
    read_every: int = 40 * US_PER_MS
    operator_after: int = 30 * SECOND

    def cell(self, number: int) -> ModelCell:
        """Return the cell with the given number.

        Raises:
            KeyError: the cell does not exist.
        """
        if not 1 <= number <= len(self.cells):
            raise KeyError(number)
        return self.cells[number - 1]
