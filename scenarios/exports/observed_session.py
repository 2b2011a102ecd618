"""Replays an event log or runs a scenario with an observer of its events and records, such as an audit or a trace."""

from __future__ import annotations

from typing import Any, Protocol

from core.kafka.errors import KafkaError
from core.kafka.events import Acted, agree
from core.kafka.release import Release
from core.lab.cluster import Cluster
from core.lab.recorded_acts import act_of
from core.sim.errors import ActRefused
from core.sim.events import kind_of, time_of
from scenarios.errors import LogError
from scenarios.io.standard_streams import print_messages
from scenarios.logs.log_reader import LogReader


class SessionObserver(Protocol):
    """An observer of a session."""

    def attach(self, cluster: Cluster, /) -> None:
        """Begin to observe a cluster that has just been built."""

    def __call__(self, event: tuple[Any, ...], /) -> None:
        """Receive an event of the session."""


def observe_session(
    source: str, at: int | None, observer: SessionObserver, *, log: bool, release: Release | None = None, seed: int | None = None
) -> Cluster:
    """Replay an event log or run a scenario up to a virtual time in µs, or to its end if the time is None, and return its cluster.

    The replay of a log compares every event with the log, so the observer sees exactly the events in the log.

    Args:
        source: the path of the event log, or the scenario.
        at: the virtual time in µs; None for the end.
        observer: the object that observes the events and records of the session.
        log: whether the source is an event log.
        release: the release under which a scenario runs; None for the newest of its releases; a log always runs under its own release.
        seed: the seed of a scenario; None for the scenario's own seed; a log always has its own seed.

    Raises:
        InputError: the log or the scenario cannot be read, its cluster cannot be built or run, or the replay differs from the log.
    """
    if log:
        return _observe_log(source, at, observer)
    from scenarios import catalogue
    from scenarios.releases import release_named
    from scenarios.running.runner import Run

    scenario = catalogue.load(source)
    run = Run(scenario, release or release_named(scenario.releases[-1]), seed, observer)
    observer.attach(run.cluster)
    if at is None:
        run.run()
    else:
        run.advance_to(at)
    return run.cluster


class _Differs(Exception):
    """The exception for a replay that differs from the log. The exception's argument is the line number of the first difference."""


def _observe_log(source: str, at: int | None, observer: SessionObserver) -> Cluster:
    reader = LogReader(source)
    reader.refuse_observed("this command")
    events = list(reader)
    reader.refuse_unknown_kinds("a replay")
    if problem := reader.problem():
        print_messages(problem)
    count = 0

    def sink(event: tuple[Any, ...]) -> None:
        nonlocal count
        if count < len(events) and not agree(events[count], event):
            raise _Differs(count + 2)
        count += 1
        observer(event)

    built: list[tuple[Any, ...]] = []
    try:
        cluster = Cluster(reader.spec, reader.release, reader.header.seed, built.append)
        observer.attach(cluster)
        cluster.journal.sink = sink
        for event in built:
            sink(event)
        for number, event in enumerate(events):
            if kind_of(event) == Acted.kind and (at is None or time_of(event) <= at):
                cluster.run_until(time_of(event))
                if count != number:
                    raise _Differs(min(count, number) + 2)
                cluster.do(act_of(event))
        end = reader.end.t if reader.end is not None else time_of(events[-1]) if events else 0
        cluster.run_until(max(cluster.now, end if at is None else at))
    except _Differs as differs:
        raise LogError(source, differs.args[0], "a replay of the log produces a different event here; 'isrlab replay' shows both") from None
    except (ValueError, KafkaError, ActRefused) as wrong:
        raise LogError(source, 1, f"the log's acts cannot be replayed: {wrong}") from None
    return cluster
