"""What a sweep is made of, as data: cells of settings, a workload, a fault model, a horizon. Times are virtual µs."""

from __future__ import annotations

import enum
import random
from typing import Final

import attrs

from core.kafka.release import Release
from core.lab.spec import ClusterSpec
from core.sim.units import SECOND, format_duration


class FaultKind(enum.StrEnum):
    """What can happen to a cluster by itself."""

    CRASH = "crash"
    """A broker's process dies and is started again after a while."""
    POWER_LOSS = "power-loss"
    """A broker's machine loses power; what was not flushed is gone."""
    PAUSE = "pause"
    """A broker's process stands still."""
    SLOW_DISK = "slow-disk"
    """Each write of a broker's disk takes time."""
    CUT = "cut"
    """The link between two brokers, or between a broker and the controller, is cut."""
    ISOLATE = "isolate"
    """A broker is cut off from everybody."""
    RACK_OUTAGE = "rack-outage"
    """Every broker of a rack loses power (or crashes) at once."""
    CONTROLLER_CRASH = "controller-crash"
    """The process of a dedicated controller of a quorum dies and is started again after a while."""
    ROLLING_RESTART = "rolling-restart"
    """Broker after broker is shut down in good order and started again."""


@attrs.frozen
class Span:
    """How long something lasts, µs: fixed (`least == most`), even between two bounds, or exponential with mean `mean`."""

    least: int = 0
    most: int = 0
    mean: int = 0

    def draw(self, draw: random.Random) -> int:
        """One duration, at least a millisecond."""
        if self.mean:
            return max(1_000, round(exponential(draw) * self.mean))
        return max(1_000, self.least + round(draw.random() * (self.most - self.least)))


def exponential(draw: random.Random) -> float:
    """An exponential variate of mean 1, by von Neumann's comparisons: no logarithm, so the same on every machine."""
    whole = 0
    while True:
        first = last = draw.random()
        falling = 1
        while (following := draw.random()) < last:
            last = following
            falling += 1
        if falling % 2:
            return whole + first
        whole += 1


@attrs.frozen
class Fault:
    """One kind of fault of a model.

    Attributes:
        kind: which.
        every: mean time from one to the next, over the whole cluster or, with `each_broker`, for each broker; a Poisson process.
            Rolling restarts come regularly, from a drawn moment on.
        lasts: until it is over: the process is started, the link healed.
        each_broker: whether `every` is a broker's.
        delay: of a slow disk, µs for each write.
        power: of a rack outage: whether the machines lose power; otherwise their processes crash.
        gap: of a rolling restart, from one broker's start to the next one's shutdown.
        controller: of a cut: whether links to the controller are cut too, and with `brokers` off only those.
        brokers: of a cut: whether links between brokers are cut.
    """

    kind: FaultKind
    every: int
    lasts: Span
    each_broker: bool = False
    delay: int = 0
    power: bool = True
    gap: int = 60 * SECOND
    controller: bool = False
    brokers: bool = True


@attrs.frozen
class Producing:
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
class Around:
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
    producers: tuple[Producing, ...]

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
    around: Around | None = None

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
