"""The fault model of a sweep: what breaks, how often, and for how long."""

from __future__ import annotations

import enum
import random

import attrs

from core.sim.units import SECOND


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
class Duration:
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
    lasts: Duration
    each_broker: bool = False
    delay: int = 0
    power: bool = True
    gap: int = 60 * SECOND
    controller: bool = False
    brokers: bool = True
