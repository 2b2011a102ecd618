"""Builds the cluster of an event log or a scenario in its state at a given moment."""

from __future__ import annotations

from core.kafka.errors import KafkaError
from core.kafka.events import Acted
from core.kafka.release import Release
from core.lab.cluster import Cluster
from core.lab.recorded_acts import act_of
from core.sim.errors import ActRefused
from core.sim.events import kind_of, time_of
from scenarios.errors import InputError
from scenarios.logs.log_reader import LogReader


def cluster_at(source: str, at: int | None, *, log: bool, release: Release | None = None, seed: int | None = None) -> Cluster:
    """Replay an event log or run a scenario up to a virtual time in µs, or to its end if the time is None, and return its cluster.

    Args:
        source: the path of the event log, or the scenario.
        at: the virtual time in µs; None for the end.
        log: whether the source is an event log.
        release: the release under which a scenario runs; None for the newest of its releases; a log always runs under its own release.
        seed: the seed of a scenario; None for the scenario's own seed; a log always has its own seed.

    Raises:
        InputError: the log or the scenario cannot be read, or its cluster cannot be built or run.
    """
    if not log:
        from scenarios import catalogue
        from scenarios.releases import release_named
        from scenarios.running.runner import Run

        scenario = catalogue.load(source)
        run = Run(scenario, release or release_named(scenario.releases[-1]), seed)
        if at is None:
            run.run()
        else:
            run.advance_to(at)
        return run.cluster
    reader = LogReader(source)
    reader.refuse_observed("this command")
    events = list(reader)
    end = reader.end.t if reader.end is not None else time_of(events[-1]) if events else 0
    try:
        cluster = Cluster(reader.spec, reader.release, reader.header.seed)
        for event in events:
            if kind_of(event) == Acted.kind and (at is None or time_of(event) <= at):
                cluster.run_until(time_of(event))
                cluster.do(act_of(event))
        cluster.run_until(max(cluster.now, end if at is None else at))
    except (ValueError, KafkaError, ActRefused) as wrong:
        raise InputError(f"{source}: the log's acts cannot be replayed: {wrong}") from None
    return cluster
