"""The faults of a comparison. Each fault is a list of timed acts, which is the same for all systems."""

from __future__ import annotations

from typing import Final

import attrs

from core.models import acts
from core.sim.units import SECOND, US_PER_MS

FAULT_AT: Final = SECOND + 1_500
"""The time at which a fault begins, in µs. At this time, an asynchronous write has been acknowledged but has not yet arrived at a
replica."""

HEALED_AT: Final = 61 * SECOND
"""The time at which a fault ends, in µs."""

OPERATOR_AFTER: Final = 30 * SECOND
"""The time from the first act until an operator promotes a replica, in µs. Operators act only in some models, and only if the source is
dead or cut off."""


@attrs.frozen
class Fault:
    """A fault that a comparison injects into all systems.

    Attributes:
        name: the name of the fault on the command line.
        title: a one-line description of the fault.
        steps: the acts, each with its time since the start of the run, in µs.
        healed_at: the time at which everything is repaired, in µs.
        isolated: whether client `a` is cut off together with the primary.
        servers: the number of servers, each of which has a copy.
    """

    name: str
    title: str
    steps: tuple[tuple[int, acts.Act], ...]
    healed_at: int = HEALED_AT
    isolated: bool = False
    servers: int = 3


FAULTS: Final = (
    Fault("none", "nothing fails", ()),
    Fault("primary-dies", "the primary's process is killed", ((FAULT_AT, acts.Kill("n1")),)),
    Fault(
        "replica-behind",
        "a replica falls 300 ms behind, and then the primary's process is killed",
        ((FAULT_AT, acts.SlowLink("n1", "n2", 300 * US_PER_MS)), (FAULT_AT + 2 * SECOND, acts.Kill("n1"))),
    ),
    Fault("replica-dies", "a replica's process is killed", ((FAULT_AT, acts.Kill("n3")),)),
    Fault(
        "primary-cut-off",
        "the primary is cut off together with a client",
        ((FAULT_AT, acts.Isolate("n1", ("a", "ra"))),),
        isolated=True,
    ),
    Fault("slow-replica", "writes to a replica's disk take 800 ms", ((FAULT_AT, acts.SlowDisk("n3", 800 * US_PER_MS)),)),
    Fault(
        "power-loss",
        "all machines lose power for 2 seconds",
        ((FAULT_AT, acts.PowerLoss(("n1", "n2", "n3"))), *((FAULT_AT + 2 * SECOND, acts.Restart(name)) for name in ("n1", "n2", "n3"))),
        healed_at=31 * SECOND,
    ),
)
"""The faults. The first entry in the list represents a run without a fault."""


def fault_named(name: str) -> Fault:
    """Return the fault with the given name.

    Raises:
        KeyError: there is no fault with this name.
    """
    return {each.name: each for each in FAULTS}[name]
