"""A run of several systems in lockstep, with the same fault and the same clients.

Two clients write: `a`, which prefers the first server, and `b`, which prefers the others. Both `a` and `b` read their own writes back from
the server that accepts writes. The readers `ra` and `rb` also use that server, and read the rows that `a` and `b` write. The reader `rs`
reads from the secondaries in turn. `probe` and `probe-r` measure when writes and reads are possible.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs

from core.lab.model_comparison.faults import OPERATOR_AFTER, Fault
from core.lab.model_comparison.systems import Compared, Variant
from core.models import acts
from core.models.account import OK
from core.models.client import ReadLoop, WriteLoop
from core.models.exposure import Exposure
from core.models.mysql.system import MySQL
from core.models.report import Report
from core.models.server import CopyView
from core.sim.errors import ActRefused
from core.sim.journal import Sink, null_sink
from core.sim.units import SECOND, US_PER_MS

EVERY: Final = 20 * US_PER_MS
"""The time between two writes by a client, in µs."""

LIMIT: Final = 12 * SECOND
"""The time limit of a write, in µs. The limit is longer than MySQL's default timeout for semi-synchronous replication."""

READ_EVERY: Final = 37 * US_PER_MS
"""The time between two reads by a client, in µs."""

WARM_UP: Final = SECOND // 10
"""The time, in µs, that clients have to find the leader before the load starts."""

AFTER: Final = 4 * SECOND
"""How long the load continues after everything is repaired, in µs."""

QUIET: Final = 60 * SECOND
"""How long each system runs without load after the load has ended, in µs."""


@attrs.frozen
class SystemView:
    """The state of a system at one moment.

    Attributes:
        name, title: the name and the title of the variant.
        now: the time since the start of the run, in µs.
        copies: for each copy, the rows that it has stored, and which of these rows are acknowledged, are visible, and would survive a power
            loss.
        acked: the number of acknowledged writes so far.
        open: for each client, whether its last write has no outcome yet.
        stale, backward, unacknowledged: the numbers of reads so far that were behind the acknowledged writes, that were behind an earlier
            read by the same client, and that returned rows that were not acknowledged yet.
        refused: the acts that this system refused, with the reasons.
    """

    name: str
    title: str
    now: int
    copies: tuple[CopyView, ...]
    acked: int
    stale: int
    backward: int
    unacknowledged: int
    refused: tuple[str, ...]


class Run:
    """The run of one system under one fault.

    Attributes:
        variant, fault: the variant of the system, and the fault.
        system: the system that is running.
        start: the virtual time at which the load starts, in µs. All times in the run are measured from `start`.
        refused: the acts that the system refused, with the reasons.
    """

    def __init__(self, variant: Variant, fault: Fault, seed: int = 0, sink: Sink = null_sink) -> None:
        self.variant = variant
        self.fault = fault
        self.system: Compared = variant.sized(fault.servers)(seed, sink)
        self.exposure = Exposure(self.system)
        self.start = self.system.now + WARM_UP
        self.refused: list[str] = []
        self._steps = [(time, act) for time, act in fault.steps]
        self._operator_is_due = isinstance(self.system, MySQL)
        self._start_clients()

    def _start_clients(self) -> None:
        system, start = self.system, self.start
        first = tuple(f"n{number}" for number in range(1, self.fault.servers + 1))
        secondaries = first[1:]
        others = (*secondaries, "n1")
        if self.avoids_first and self.variant.model == "kafka":
            others = secondaries  # these are only bootstrap servers, so Kafka's clients still find the leader
        until = start + self.fault.healed_at + AFTER
        for number, (name, servers) in enumerate((("a", first), ("b", others))):
            only = ("n1",) if self.fault.isolated and name == "a" else servers
            phase = start + number * EVERY // 2
            writer = system.add_client(name, only)
            writer.start(WriteLoop(f"k{name}", EVERY, phase, until, LIMIT))
            writer.start(ReadLoop(f"k{name}", READ_EVERY, start=phase + 3 * US_PER_MS, until=until, limit=SECOND))
            reader = system.add_client(f"r{name}", only)
            reader.start(ReadLoop(f"k{name}", READ_EVERY, start=phase + 7 * US_PER_MS, until=until, limit=SECOND))
        system.add_client("rs", others).start(
            ReadLoop("ka", READ_EVERY, secondaries, self.variant.secondary_reads, start + 9 * US_PER_MS, until, SECOND)
        )
        probe = system.add_client("probe", others)
        probe.start(WriteLoop("probe", 100 * US_PER_MS, start, until, SECOND, probe=True))
        reading_probe = system.add_client("probe-r", others)
        reading_probe.start(ReadLoop("ka", 100 * US_PER_MS, start=start, until=until, limit=SECOND, probe=True))

    @property
    def avoids_first(self) -> bool:
        """Whether only client `a` and its reader ask the first server where the leader is."""
        return self.fault.isolated

    @property
    def elapsed(self) -> int:
        """The time since the start of the run, in µs."""
        return self.system.now - self.start

    def run_until(self, time: int) -> None:
        """Run until a given time since the start, and execute the acts that are due."""
        while self._steps and self._steps[0][0] <= time:
            due, act = self._steps.pop(0)
            self._operate_until(due)
            self._advance(due)
            try:
                self.system.do(act)
            except ActRefused as refused:
                self.refused.append(f"{act.text()}: {refused}")
            self.exposure.recheck()
        self._operate_until(time)
        self._advance(time)

    def _advance(self, time: int) -> None:
        """Run until a given time since the start."""
        self.exposure.run_until(self.start + time)

    def _operate_until(self, time: int) -> None:
        """If the operator's promotion is due by `time`, run until it is due, and promote a replica if MySQL's source is dead or cut off at
        that time."""
        moment = (self.fault.steps[0][0] if self.fault.steps else 0) + OPERATOR_AFTER
        if not self._operator_is_due or time < moment:
            return
        self._operator_is_due = False
        system = self.system
        assert isinstance(system, MySQL)
        self._advance(moment)
        if not system.network.alive[system.source] or system.is_cut(system.source, "n2"):
            system.do(acts.Promote())
            self.exposure.recheck()

    def finish(self) -> Report:
        """Run to the end, repair everything, and return the counts."""
        self.run_until(self.fault.healed_at)
        self.system.repair()
        self.exposure.recheck()
        self.run_until(self.fault.healed_at + AFTER)
        return self.exposure.added_to(self.system.settle(QUIET))

    def report(self) -> Report:
        """Return the counts of the run up to now, such as the number of lost writes."""
        return self.exposure.added_to(self.system.report())

    def view(self) -> SystemView:
        """Return a frozen view of the present moment."""
        account = self.system.account
        reads = [each for each in account.reads if each.outcome == OK and not each.probe]
        return SystemView(
            self.variant.name,
            self.variant.title,
            self.elapsed,
            self.system.copies(),
            sum(each.outcome == OK and not each.probe for each in account.writes),
            sum(each.stale > 0 for each in reads),
            sum(each.backward > 0 for each in reads),
            sum(each.unacknowledged for each in reads),
            tuple(self.refused),
        )


class Comparison:
    """Several systems under one fault, in lockstep on one timeline.

    Attributes:
        runs: the run of each system.
    """

    def __init__(
        self, variants: tuple[Variant, ...], fault: Fault, seed: int = 0, new_sink: Callable[[], Sink] = lambda: null_sink
    ) -> None:
        """Build the systems. `new_sink` returns the sink of the next system's events."""
        self.fault = fault
        self.runs = tuple(Run(variant, fault, seed, new_sink()) for variant in variants)

    def run_until(self, time: int) -> tuple[SystemView, ...]:
        """Run all systems until a given time since the start, and return their views."""
        for run in self.runs:
            run.run_until(time)
        return tuple(run.view() for run in self.runs)

    def finish(self) -> tuple[Report, ...]:
        """Run all systems to the end, and return their counts."""
        return tuple(run.finish() for run in self.runs)
