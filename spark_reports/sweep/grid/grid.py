"""The grid of a sweep: its cells, its workload, and the time that a run covers."""

from __future__ import annotations

from typing import Final

import attrs

from core.kafka.release import Release
from core.lab.spec import ClusterSpec
from core.sim.units import SECOND, format_duration
from spark_reports.sweep.grid.fault_model import Fault


@attrs.frozen
class ProducerLoad:
    """A steady producer of the workload.

    Attributes:
        name, topic, rate: records per second.
        every: between its batches while a fault begins or ends.
        between: between its batches the rest of the time; the rate stays the same.
        acks: unless a cell says otherwise.
        bytes: of one record.
        idempotence: enable.idempotence, unless a cell says otherwise.
    """

    name: str
    topic: str
    rate: int
    every: int = 50_000
    between: int = 50_000
    acks: str = "all"
    bytes: int = 100
    idempotence: bool = False


@attrs.frozen
class FaultWindow:
    """Which stretches of a long horizon are simulated: those around faults.

    Attributes:
        before: warm-up before a stretch's first fault.
        after: from the end of its last fault to the end of the stretch; longer while the cluster is not whole.
        near: how long before and after each beginning and end of a fault batches come at `every`.
        soon: how long after that they come every second, because partitions may be waiting for a new leader; else at `between`.
    """

    before: int = 10 * SECOND
    after: int = 60 * SECOND
    near: int = 20_000
    soon: int = 20 * SECOND


@attrs.frozen
class Cell:
    """One point of the grid.

    Attributes:
        number: from 1.
        name: what it is called in tables: its own, or what it varies.
        values: what it varies, as (word, value) in words.
        release: whose rules hold.
        spec: the cluster, with the cell's settings in it.
        producers: the workload, with the cell's acks in it.
    """

    number: int
    name: str
    values: tuple[tuple[str, str], ...]
    release: Release
    spec: ClusterSpec
    producers: tuple[ProducerLoad, ...]

    @property
    def partitions(self) -> int:
        """Partitions that the workload is spread over."""
        topics = {producing.topic for producing in self.producers}
        return sum(len(topic.assignment) or topic.partitions for topic in self.spec.topics if topic.name in topics)


@attrs.frozen
class Grid:
    """A whole sweep.

    Attributes:
        name, about: as in a scenario.
        source: the file, for messages and for `identity`.
        text: what was read.
        cells: in order.
        faults: the model, the same for all cells.
        consumers: topics that a consumer reads.
        horizon: the time that one run stands for.
        around: the stretches that are simulated; None: the whole horizon.
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
        """The cell of that number.

        Raises:
            KeyError: there is none.
        """
        if not 1 <= number <= len(self.cells):
            raise KeyError(number)
        return self.cells[number - 1]


MAX_CELLS: Final = 1_000
"""Most cells of a grid."""


def format_horizon(us: int) -> str:
    """A long time in words: days as days."""
    day = 86_400_000_000
    return f"{us // day} days" if us >= 2 * day and us % day == 0 else format_duration(us)
