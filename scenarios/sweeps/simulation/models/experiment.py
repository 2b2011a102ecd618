"""The experiment on replication models: one run simulates a system with the faults of a seed, and counts what its clients see."""

from __future__ import annotations

from typing import Final

import attrs

from core.lab import acts as kafka_acts
from core.lab.model_comparison.comparison import Run as ComparisonRun
from core.lab.model_comparison.faults import Fault as ComparedFault
from core.lab.model_comparison.script import translated
from core.lab.model_comparison.systems import Variant
from core.lab.spec import BrokerSpec, ClusterSpec
from core.models import acts
from core.models.client import Client, ReadLoop, WriteLoop
from core.models.mysql.system import Follow, MySQL, Rebuild
from core.models.report import Outage, Report, covered
from core.sim.errors import ActRefused
from core.sim.journal import null_sink
from core.sim.units import SECOND, US_PER_MS
from scenarios.sweeps.grid.grid import Cell, Counts, Grid, Sample
from scenarios.sweeps.simulation.draw_faults import HealLinks, draw_faults
from scenarios.sweeps.simulation.event_limit import EventLimit
from scenarios.sweeps.simulation.histogram import Histogram
from scenarios.sweeps.simulation.runs import as_counts

SERVERS: Final = ("n1", "n2", "n3")
"""The servers that faults can affect, which exist in all systems."""

TICK: Final = SECOND
"""The interval, in µs, at which the MySQL operator checks the servers."""


@attrs.frozen
class ModelCell(Cell):
    """A replication system under the load of a few clients. The load and the operator are the same in all cells of a grid.

    Attributes:
        variant: the replication model and its settings.
        write_every: the time between two writes by a client, in µs.
        read_every: the time between two reads by a client, in µs.
        operator_after: the time, in µs, after which an operator promotes a replica if the MySQL source dies or is cut off.
    """

    variant: Variant
    write_every: int
    read_every: int
    operator_after: int


@attrs.frozen
class ModelRun:
    """The result of one system with one seed, which becomes one row of the output.

    Attributes:
        cell, seed: the cell and the seed of the run.
        faults: the number of faults.
        acked, failed, unknown: the numbers of writes by outcome.
        lost_acknowledged: the acknowledged writes that the final data lacks.
        offline: 1 if no server accepts writes at the end; in that case, no write counts as lost.
        phantom, dirty, stale, backward, divergence: the counts of `core.models.report.Report`.
        reads: the number of reads that returned a value.
        write_down_us, read_down_us: the time without writes and the time without reads, in µs.
        bytes_sent: the bytes that servers sent to each other.
        latencies: the times, in µs, that acknowledged writes took, as pairs of bucket and count.
    """

    cell: int
    seed: int
    faults: int
    acked: int
    failed: int
    unknown: int
    lost_acknowledged: int
    offline: int
    phantom: int
    dirty: int
    stale: int
    backward: int
    divergence: int
    reads: int
    write_down_us: int
    read_down_us: int
    bytes_sent: int
    latencies: Counts = attrs.field(converter=as_counts)

    @property
    def waits(self) -> Counts:
        """No waiting times, because clients of models count writes without an answer as unknown."""
        return ()


def draw_steps(grid: Grid[ModelCell], seed: int) -> tuple[int, tuple[tuple[int, acts.Act], ...]]:
    """Draw the faults of a run from its seed. Return the number of faults, and the acts of all faults with their times. The faults are the
    same for all systems."""
    spec = ClusterSpec(tuple(BrokerSpec(number, rack="all") for number in range(1, len(SERVERS) + 1)))
    drawn = draw_faults(grid.faults, spec, seed, grid.horizon)
    steps: list[tuple[int, acts.Act]] = []
    for fault in drawn:
        for time, act in fault.acts:
            steps += [(time, common) for common in _common(act)]
    return len(drawn), tuple(sorted(steps, key=lambda step: step[0]))


def _common(act: kafka_acts.Act | HealLinks) -> list[acts.Act]:
    """Translate an act on Kafka's brokers into the acts that all models have."""
    match act:
        case HealLinks(broker):
            server = f"n{broker}"
            return [acts.Heal(server, other) for other in (*SERVERS, "a", "ra") if other != server]
        case kafka_acts.SlowDisk(broker, 0):
            return [acts.SlowDisk(f"n{broker}", US_PER_MS)]
        case kafka_acts.Act():
            common = translated(act)
            return [] if common is None else [common]


class RandomFaults(ComparisonRun):
    """A run of one system with the faults that are drawn for a seed.

    A MySQL operator promotes the best replica some time after the source has died or has been cut off from all replicas, directs clients to
    the promoted replica, and rebuilds the former source when it is back.
    """

    def __init__(self, grid: Grid[ModelCell], cell: ModelCell, seed: int) -> None:
        self.grid = grid
        self.cell = cell
        self.faults, steps = draw_steps(grid, seed)
        self.looked = 0
        self.gone_since = -1
        super().__init__(
            cell.variant,
            ComparedFault(grid.name, grid.name, steps, grid.horizon),
            seed,
            null_sink if grid.max_events is None else EventLimit(grid.max_events),
        )

    def _start_clients(self) -> None:
        system, start, cell = self.system, self.start, self.cell
        until = start + self.grid.horizon
        for number, name in enumerate(("a", "b")):
            order = SERVERS if name == "a" else (*SERVERS[1:], SERVERS[0])
            phase = start + number * cell.write_every // 2
            system.add_client(name, order).start(WriteLoop(f"k{name}", cell.write_every, phase, until, 12 * SECOND))
            reads = ReadLoop(f"k{name}", cell.read_every, start=phase + 7 * US_PER_MS, until=until, limit=SECOND)
            system.add_client(f"r{name}", order).start(reads)
        secondary = ReadLoop("ka", cell.read_every, ("n2", "n3"), self.variant.secondary_reads, start + 9 * US_PER_MS, until, SECOND)
        system.add_client("rs", SERVERS).start(secondary)
        order = (*SERVERS[1:], SERVERS[0])
        system.add_client("probe", order).start(WriteLoop("probe", 100 * US_PER_MS, start, until, SECOND, probe=True))
        system.add_client("probe-r", order).start(ReadLoop("ka", 100 * US_PER_MS, start=start, until=until, limit=SECOND, probe=True))

    def _operate_until(self, time: int) -> None:
        """Let the MySQL operator check the servers at each tick up to the given time."""
        system = self.system
        if not isinstance(system, MySQL):
            return
        while self.looked + TICK <= time:
            self.looked += TICK
            system.run_until(self.start + self.looked)
            self._operate(system)

    def _operate(self, system: MySQL) -> None:
        source = system.source
        others = [name for name in system.servers if name != source]
        if system.network.alive[source] and source not in system.paused and not all(system.is_cut(source, name) for name in others):
            self.gone_since = -1
        elif self.gone_since < 0:
            self.gone_since = self.looked
        if 0 <= self.gone_since <= self.looked - self.cell.operator_after:
            try:
                system.do(acts.Promote())
                self.gone_since = -1
            except ActRefused:
                return
        self._attach(system)

    def _attach(self, system: MySQL) -> None:
        """Have each server that can be reached replicate from the source, and direct clients to the source."""
        source = system.source
        if not system.network.alive[source]:
            return
        for name in system.running():
            if name != source and name not in system.paused and not system.is_cut(name, source):
                if system.errant(name):
                    system.do(Rebuild(name))
                elif system.server(name).source != source or system.server(name).error:
                    system.do(Follow(name, source))
        for client in system.clients.values():
            if isinstance(client, Client) and not system.is_cut(client.address, source):
                client.servers = (source,)
                client.target = source

    def _advance(self, time: int) -> None:
        """Run until the given time since the start. Exposed writes are not tracked, because a sweep does not report them."""
        self.system.run_until(self.start + time)

    def finish(self) -> Report:
        """Run to the end, repair everything, and return the counts."""
        self.run_until(self.grid.horizon)
        self.system.repair()
        system = self.system
        if isinstance(system, MySQL):
            if not system.network.alive[system.source]:
                system.do(acts.Promote())
            self._attach(system)
        return system.settle(QUIET)


QUIET: Final = 90 * SECOND
"""How long a system runs without faults at the end, in µs. Elasticsearch can take more than a minute to recover."""


class ModelExperiment:
    """Replication systems under random faults."""

    run_type = ModelRun
    most = 1.0

    def simulate(self, grid: Grid[ModelCell], cell: ModelCell, seed: int) -> ModelRun:
        """Simulate one system with one seed, and return its row."""
        run = RandomFaults(grid, cell, seed)
        report = run.finish()
        latencies = Histogram()
        for latency in report.latencies:
            latencies.add(latency)
        return ModelRun(
            cell=cell.number,
            seed=seed,
            faults=run.faults,
            acked=report.acked,
            failed=report.failed,
            unknown=report.unknown,
            lost_acknowledged=report.lost,
            offline=int(not report.authority),
            phantom=report.phantom,
            dirty=report.dirty,
            stale=report.stale,
            backward=report.backward,
            divergence=report.divergence,
            reads=report.reads,
            write_down_us=_within(report.write_outages, run.start, run.start + grid.horizon),
            read_down_us=_within(report.read_outages, run.start, run.start + grid.horizon),
            bytes_sent=report.bytes_sent,
            latencies=sorted(latencies.counts.items()),
        )

    def means(self, grid: Grid[ModelCell], cell: ModelCell, run: ModelRun) -> dict[str, float]:
        """Return the proportions of a run: of its acknowledged writes, of its reads, and of its time."""
        return {
            "lost": _share(run.lost_acknowledged, run.acked),
            "dirty": _share(run.dirty, run.reads),
            "stale": _share(run.stale, run.reads),
            "backward": _share(run.backward, run.reads),
            "write_down": run.write_down_us / grid.horizon,
            "read_down": run.read_down_us / grid.horizon,
        }

    def samples(self, grid: Grid[ModelCell], cell: ModelCell, run: ModelRun) -> tuple[Sample, ...]:
        """Return nothing: a run simulates all its faults."""
        return ()


MODELS: Final = ModelExperiment()


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _within(outages: tuple[Outage, ...], start: int, end: int) -> int:
    """Return the total time, in µs, of outages while the load runs. An outage can last longer than the load."""
    return covered([Outage(max(each.start, start), min(each.end, end)) for each in outages if each.start < end])
