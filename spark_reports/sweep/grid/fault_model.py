"""The fault model of a sweep: the kinds of faults, their frequency, and their durations."""

from __future__ import annotations

import enum
import random

import attrs

from core.sim.units import SECOND


class FaultKind(enum.StrEnum):
    """The kinds of faults."""

    CRASH = "crash"
    """A broker's process dies and starts again later."""
    POWER_LOSS = "power-loss"
    """A broker's machine loses power, and unflushed data is gone."""
    PAUSE = "pause"
    """A broker's process is paused."""
    SLOW_DISK = "slow-disk"
    """Each write to a broker's disk is delayed."""
    CUT = "cut"
    """The link between two brokers, or between a broker and the controller, is cut."""
    ISOLATE = "isolate"
    """All links of a broker are cut."""
    RACK_OUTAGE = "rack-outage"
    """All brokers of a rack lose power (or crash) at the same time."""
    CONTROLLER_CRASH = "controller-crash"
    """The process of a dedicated controller of a quorum dies and starts again later."""
    ROLLING_RESTART = "rolling-restart"
    """One broker after another is shut down cleanly and started again."""


@attrs.frozen
class Duration:
    """A distribution of durations in µs: fixed (`least == most`), uniform between two bounds, or exponential with mean `mean`."""

    least: int = 0
    most: int = 0
    mean: int = 0

    def draw(self, draw: random.Random) -> int:
        """Draw a duration of at least a millisecond."""
        if self.mean:
            return max(1_000, round(exponential(draw) * self.mean))
        return max(1_000, self.least + round(draw.random() * (self.most - self.least)))


def exponential(draw: random.Random) -> float:
    """Return an exponential variate with mean 1, by von Neumann's comparisons.

    Because this method needs no logarithms, the result is the same on every machine.
    """
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
    """One kind of fault in a model.

    Attributes:
        kind: the kind of fault.
        every: the mean time between two faults of a Poisson process, for the whole cluster or, with `each_broker`, for each broker; rolling
            restarts instead come at regular times after a random first one.
        lasts: the time until the fault is over and the process starts or the link heals.
        each_broker: whether `every` is for each broker.
        delay: the delay of each write to a slow disk, µs.
        power: whether the machines of a rack lose power in an outage, or only their processes crash.
        gap: the time from the start of a broker to the shutdown of the next one in a rolling restart.
        controller: whether a cut can affect links to the controller.
        brokers: whether a cut can affect links between brokers.
    """

    kind: FaultKind
    every: int
    lasts: Duration
    each_broker: bool = False
    delay: int = 0
    power: bool = True
    gap: int = 60 * SECOND
    controller: bool = False
    brokers: bool = True
