"""Kafka's metrics at one moment of a logged session or of a scenario, printed as lines that begin with the name of the MBean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Any

from core.kafka.release import Release
from core.lab.metrics import CONTROLLER, gauges
from core.lab.metrics.observer import MetricsObserver, Sample
from core.sim.events import time_of
from scenarios.language.script import Scenario
from scenarios.logs.log_reader import LogReader
from scenarios.running.runner import Run


def of_log(reader: LogReader, until_us: int | None) -> list[Sample]:
    """Return the metrics of a log at a virtual time or at its end.

    Metrics that cannot be computed from events are omitted (`core.lab.metrics.gauges`).

    Raises:
        LogError: a line of the log is invalid.
    """
    observer = MetricsObserver(reader.spec, reader.release)
    now = 0
    for event in reader:
        if until_us is None or time_of(event) <= until_us:
            observer.on_event(event)
            now = time_of(event)
    return observer.samples(now if until_us is None else until_us)


def of_scenario(scenario: Scenario, release: Release, seed: int | None, until_us: int | None) -> list[Sample]:
    """Return the metrics of a scenario at a virtual time or at its end."""
    observer = MetricsObserver(scenario.spec, release)
    run = Run(scenario, release, seed, observer.on_event)
    if until_us is None:
        run.run()
    else:
        run.advance_to(until_us)
    return sorted(
        [*observer.samples(run.cluster.now), *gauges.cluster_gauges(run.cluster)], key=lambda sample: (sample.name, sample.broker)
    )


def lines(samples: Iterable[Sample], broker: int | None = None, pattern: str | None = None) -> Iterator[str]:
    """Yield lines such as `kafka.server:type=…,name=…<TAB>broker=1<TAB>Value=3`.

    Args:
        samples: the values of the metrics.
        broker: the broker whose metrics are selected, or None for all brokers.
        pattern: a substring of the MBean's name, a shell pattern that matches the whole name, or None to select all metrics.
    """
    for sample in samples:
        if broker is not None and sample.broker != broker:
            continue
        if pattern is not None and not _matches(sample.name, pattern):
            continue
        who = "controller" if sample.broker == CONTROLLER else f"broker={sample.broker}"
        yield "\t".join([sample.name, who, *(f"{name}={_shown(value)}" for name, value in sample.attributes)])


def _matches(name: str, pattern: str) -> bool:
    if any(char in pattern for char in "*?["):
        return fnmatchcase(name, pattern)
    return pattern.lower() in name.lower()


def _shown(value: Any) -> str:
    return str(int(value)) if float(value).is_integer() else f"{value:.3f}"
