"""Acts on the clocks of nodes."""

from __future__ import annotations

import attrs

from core.lab.acts.act import Act


@attrs.frozen(eq=False, repr=False)
class SetClock(Act, word="clock", does="set a node's clock to a wrong time, or make it run too fast or too slow"):
    """Set the clock of a broker, a client, or the controller.

    `skew` is the time by which the clock is ahead; if `skew` is negative, the clock is behind. `drift` is the rate at which the clock gains
    time from now on. Brokers and the controller use their own clocks to measure the durations that settings define. Retention compares the
    broker's time of day with the timestamps of records, which come from the clock of the producer, or, with LogAppendTime, from the clock
    of the leader.
    """

    node: str
    skew: int = 0
    drift_ppm: int = 0
