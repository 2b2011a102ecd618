"""The grid of a sweep: its cells, its workload, and the virtual time that a run covers."""

from __future__ import annotations

from typing import Final

import attrs

from core.kafka.release import Release
from core.lab.spec import ClusterSpec
from core.sim.units import SECOND, format_duration
from scenarios.sweeps.grid.fault_model import Fault


@attrs.frozen
class ProducerLoad:
    """A producer with a constant rate.

    Attributes:
        name: the name of the producer.
        topic: the topic that the producer writes to.
        rate: the number of records per second.
        every: the interval, in µs, between batches near the beginning and the end of a fault.
        between: the interval between batches at all other times. The number of records per second stays the same.
        acks: the acks setting of the producer, which a cell can override; None for the release's default.
        bytes: the size of a record.
        idempotence: enable.idempotence, which a cell can override; None for the release's default.
    """

    name: str
    topic: str
    rate: int
    every: int = 50_000
    between: int = 50_000
    acks: str | None = None
    bytes: int = 100
    idempotence: bool | None = None


@attrs.frozen
class FaultWindow:
    """The windows around faults. If a grid defines such windows, a run simulates only them, and skips the rest of its horizon.

    Attributes:
        before: the warm-up before the first fault of a window.
        after: the time from the end of the last fault to the end of the window; if the cluster has not recovered by then, the window is
            extended.
        near: within this time before and after the beginning of a fault, and before and after its end, batches come at intervals of
            `every`.
        soon: for this long after a fault begins, and again after it ends, batches come every second, because partitions might still be
            waiting for a new leader; later, batches come at intervals of `between`.
    """

    before: int = 10 * SECOND
    after: int = 60 * SECOND
    near: int = 20_000
    soon: int = 20 * SECOND


@attrs.frozen
class Cell:
    """One point in the grid.

    Attributes:
        number: the number of the cell; the first cell has the number 1.
        name: the name in tables, which is the cell's own name or consists of the values in `values`.
        values: the cell's values for the parameters that the grid varies, as pairs of the parameter's name in the grid and the value.
        release: the Kafka release.
        spec: the cluster, with the cell's settings.
        producers: the workload, with the cell's acks.
    """

    number: int
    name: str
    values: tuple[tuple[str, str], ...]
    release: Release
    spec: ClusterSpec
    producers: tuple[ProducerLoad, ...]

    @property
    def partitions(self) -> int:
        """The number of partitions that receive the workload."""
        topics = {producing.topic for producing in self.producers}
        return sum(len(topic.assignment) or topic.partitions for topic in self.spec.topics if topic.name in topics)


@attrs.frozen
class Grid:
    """The description of a whole sweep.

    Attributes:
        name, about: the name and the description, as in a scenario.
        source: the name of the file, for messages.
        text: the content of the grid file.
        cells: the cells, in order.
        faults: the fault model, which is the same for all cells.
        consumers: the topics that have a consumer.
        horizon: the time that a run represents.
        around: the windows that are simulated; None for the whole horizon.
    """

    name: str
    about: str
    source: str
    text: str
    cells: tuple[Cell, ...]
    faults: tuple[Fault, ...]
    horizon: int
    consumers: tuple[str, ...] = ()
    around: FaultWindow | None = None

    def cell(self, number: int) -> Cell:
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
