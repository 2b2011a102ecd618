"""The experiment on Kafka: one run simulates every episode of a cell with one seed, and adds up its numbers."""

from __future__ import annotations

import math
from typing import Final

import attrs

from scenarios.sweeps.grid.grid import Counts, Grid, Sample
from scenarios.sweeps.simulation.event_limit import EventLimit
from scenarios.sweeps.simulation.histogram import Histogram
from scenarios.sweeps.simulation.kafka.cell import KafkaCell
from scenarios.sweeps.simulation.kafka.episodes import episodes_of
from scenarios.sweeps.simulation.kafka.simulate_episode import EpisodeResult, simulate_episode
from scenarios.sweeps.simulation.runs import as_counts, as_numbers


@attrs.frozen
class KafkaRun:
    """The result of one cell with one seed.

    Attributes:
        cell, seed: the cell and the seed of the run.
        episodes: the number of simulated episodes.
        simulated_us: the total virtual time of the episodes, in µs.
        faults: the number of faults that began within the horizon.
        events: the number of events that the episodes recorded.
        acked, failed, duplicated: the numbers of acknowledged records, of records that producers gave up on, and of records that retries
            appended again.
        lost: the number of permanently lost records; each record counts once.
        lost_acknowledged, lost_read: the number of lost records that were acknowledged, and the number of lost records that a consumer has
            read.
        losing: the numbers of the episodes that lost acknowledged records.
        unclean: the number of unclean elections.
        read_down_us, write_down_us, stalled_us: the time without reads, the time without writes, and the time during which acks=all writes
            waited; `write_down_us` does not include `stalled_us`, and each value is the total for all partitions, in µs.
        not_whole: the number of episodes that ended before the cluster had recovered.
        unanswered: the number of records without an answer at the end of an episode.
        latencies: the produce latencies of acknowledged records, in µs, as pairs of bucket and count.
        waits: the waiting times of unacknowledged records until a producer gave up on them or the episode ended, in µs, as pairs of bucket
            and count.
    """

    cell: int
    seed: int
    episodes: int
    simulated_us: int
    faults: int
    events: int
    acked: int
    failed: int
    duplicated: int
    lost: int
    lost_acknowledged: int
    lost_read: int
    losing: tuple[int, ...] = attrs.field(converter=as_numbers)
    unclean: int
    read_down_us: int
    write_down_us: int
    stalled_us: int
    not_whole: int
    unanswered: int
    latencies: Counts = attrs.field(converter=as_counts)
    waits: Counts = attrs.field(converter=as_counts)


class KafkaExperiment:
    """Kafka clusters under random faults."""

    run_type = KafkaRun
    most = math.inf

    def simulate(self, grid: Grid[KafkaCell], cell: KafkaCell, seed: int) -> KafkaRun:
        """Simulate every episode of a run."""
        limit = None if grid.max_events is None else EventLimit(grid.max_events)
        played: list[EpisodeResult] = []
        for episode in episodes_of(grid, cell, seed):
            played.append(simulate_episode(cell, episode, limit))
            if limit is not None:
                limit.next_cluster(played[-1].events)
        latencies, waits = Histogram(), Histogram()
        for each in played:
            latencies.merge(each.meter.latencies.counts)
            waits.merge(each.meter.waits.counts)
        return KafkaRun(
            cell=cell.number,
            seed=seed,
            episodes=len(played),
            simulated_us=sum(each.end for each in played),
            faults=sum(each.episode.faults for each in played),
            events=sum(each.events for each in played),
            acked=sum(each.meter.acked for each in played),
            failed=sum(each.meter.failed for each in played),
            duplicated=sum(each.duplicated for each in played),
            lost=sum(each.lost for each in played),
            lost_acknowledged=sum(each.lost_acknowledged for each in played),
            lost_read=sum(each.lost_read for each in played),
            losing=tuple(each.episode.number for each in played if each.lost_acknowledged),
            unclean=sum(each.meter.unclean for each in played),
            read_down_us=sum(each.meter.read_down for each in played),
            write_down_us=sum(each.meter.write_down for each in played),
            stalled_us=sum(each.meter.stalled for each in played),
            not_whole=sum(1 for each in played if not each.recovered),
            unanswered=sum(each.meter.unanswered for each in played),
            latencies=sorted(latencies.counts.items()),
            waits=sorted(waits.counts.items()),
        )

    def means(self, grid: Grid[KafkaCell], cell: KafkaCell, run: KafkaRun) -> dict[str, float]:
        """Return the lost records of a run, and its unavailability in µs per partition."""
        partitions = cell.partitions
        return {
            "lost_acknowledged": run.lost_acknowledged,
            "lost_read": run.lost_read,
            "write_down": run.write_down_us / partitions,
            "read_down": run.read_down_us / partitions,
            "stalled": run.stalled_us / partitions,
            "unacknowledged": (run.write_down_us + run.stalled_us) / partitions,
        }

    def samples(self, grid: Grid[KafkaCell], cell: KafkaCell, run: KafkaRun) -> tuple[Sample, ...]:
        """Return nothing: a run simulates all its faults."""
        return ()


KAFKA: Final = KafkaExperiment()
