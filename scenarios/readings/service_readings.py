"""Readings of processes, delay services, and retry services."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from core.kafka.applications.processes.process_step import ProcessStep
from scenarios.readings.group_readings import ENDED, of_member
from scenarios.readings.reading import DURATION, NUMBER, STATISTICS, WORD, Moment, Reading


def _processed(moment: Moment, client: str) -> Any:
    member = of_member(lambda view: view.processed)(moment, client)
    return _of_process("processed")(moment, client) if member is None else member


def _of_process(name: str) -> Callable[..., Any]:
    def read(moment: Moment, client: str) -> Any:
        for view in moment.view().processes:
            if view.name == client:
                return getattr(view, name)
        return None

    return read


def _of_service(name: str, statistic: str = "") -> Callable[..., Any]:
    def read(moment: Moment, client: str) -> Any:
        for view in moment.view().services:
            if view.name == client:
                value = getattr(view, name)
                return value.get(statistic) if statistic else value
        return None

    return read


def _of_retries(name: str, statistic: str = "") -> Callable[..., Any]:
    def read(moment: Moment, client: str) -> Any:
        for view in moment.view().retries:
            if view.name == client:
                value = getattr(view, name)
                if statistic:
                    return value.get(statistic)
                return sum(value.values()) if isinstance(value, dict) else value
        return None

    return read


def _of_either(name: str) -> Callable[..., Any]:
    """Read one numeric value from the view of a delay service or a retry service."""

    def read(moment: Moment, client: str) -> Any:
        value = _of_retries(name)(moment, client)
        return _of_service(name)(moment, client) if value is None else value

    return read


def _process_step(moment: Moment, client: str) -> Any:
    for view in moment.view().processes:
        if view.name == client:
            return view.step if view.running else ENDED
    return None


PROCESS_READINGS: Final = (
    Reading(
        "process-step", ("client",), WORD, "the current step of a process, or 'ended'", _process_step, (*map(str, ProcessStep), ENDED),
    ),
    Reading("processed", ("client",), NUMBER, "the number of a process's input records whose whole output is visible "
        "with read_committed; for a consumer of a group, the number of records that it has processed", _processed),
    Reading("processed-twice", ("client",), NUMBER, "the number of a process's input records with output that is visible "
        "more than once", _of_process("processed_twice")),
    Reading("half-visible", ("client",), NUMBER, "the number of a process's input records whose output is only partly "
        "visible", _of_process("half_visible")),
    Reading("never-processed", ("client",), NUMBER, "the number of a process's input records that are below its committed "
        "offset but have no output", _of_process("never_processed")),
)  # fmt: skip

SERVICE_READINGS: Final = (
    Reading("held", ("client",), NUMBER, "the number of records that a delay service, or one of its workers, holds in memory", _of_service("held")),
    Reading("overdue", ("client",), NUMBER, "the number of held records that are already due", _of_service("overdue")),
    Reading("paused", ("client",), NUMBER, "the number of partitions that a delay service, or one of its workers, has paused", _of_service("paused")),
    Reading("forwarded", ("client",), NUMBER, "the number of delayed records that are visible in the destination topic with "
        "read_committed", _of_service("forwarded")),
    Reading("forwarded-twice", ("client",), NUMBER, "the number of delayed records that are visible in the destination topic more than "
        "once", _of_service("forwarded_twice")),
    Reading("never-forwarded", ("client",), NUMBER, "the number of delayed records that are below the committed offset of the "
        "service but neither in the destination topic nor in the dead-letter topic", _of_service("never_forwarded")),
    Reading("expired", ("client",), NUMBER, "the number of delayed records that were deleted from the topic of their level before they "
        "were forwarded", _of_service("expired")),
    Reading("too-early", ("client",), NUMBER, "the number of delayed records that were forwarded before they were due", _of_service("too_early")),
    Reading("too-soon", ("client",), NUMBER, "the number of delayed records that reached the destination topic before the requested delay had passed in "
        "virtual time, for example because of a wrong clock", _of_service("too_soon")),
    Reading("order-inversions", ("client",), NUMBER, "the number of delayed records that were forwarded after a record of the same "
        "partition with a higher offset", _of_service("inversions")),
    *(
        Reading(f"lateness-{name}", ("client",), DURATION, f"{meaning} of the lateness of delayed records, which is the time from when a "
            "record is due until it is acknowledged in the destination topic", _of_service("lateness", name))
        for name, meaning in STATISTICS.items()
    ),
    Reading("tries", ("client",), NUMBER, "the number of tries by a retry service; a try of several records counts once for each record", _of_retries("tried")),
    Reading("failed-tries", ("client",), NUMBER, "the number of failed tries by a retry service; a try of several records counts once for each record", _of_retries("failed")),
    Reading("waiting", ("client",), NUMBER, "the number of records that the workers of a retry service have fetched but not finished", _of_retries("waiting")),
    Reading("succeeded", ("client",), NUMBER, "the number of distinct records that a retry service has processed successfully", _of_retries("succeeded")),
    Reading("succeeded-twice", ("client",), NUMBER, "how many times a record of a retry service succeeded although it had already succeeded", _of_retries("succeeded_twice")),
    Reading("dead", ("client",), NUMBER, "the number of distinct records in the dead-letter topic of a retry service or a delay service", _of_either("dead")),
    Reading("dead-twice", ("client",), NUMBER, "the number of records of a retry service or a delay service that reached the dead-letter topic again",
        _of_either("dead_twice")),
    Reading("given-up", ("client",), NUMBER, "the number of records that a retry service gave up on, because it has no dead-letter topic or "
        "because the handler of that topic failed", _of_retries("skipped")),
    Reading("dropped", ("client",), NUMBER, "the number of records below a committed offset of a retry service that neither succeeded nor "
        "reached another topic", _of_retries("dropped")),
    Reading("overtaken", ("client",), NUMBER, "the number of records of a retry service that succeeded after a later record of their "
        "original partition", _of_retries("inversions")),
    *(
        Reading(f"recovery-{name}", ("client",), DURATION, f"{STATISTICS[name]} of the recovery times in a retry service; each is the "
            "time from a record's first failure until its success", _of_retries("recovery", name))
        for name in ("mean", "max")
    ),
    *(
        Reading(f"rounding-{name}", ("client",), DURATION, f"{STATISTICS[name]} of the rounding errors of delayed records; each is the delay "
            "of the record's level minus the requested delay", _of_service("rounding", name))
        for name in ("mean", "max")
    ),
    *(
        Reading(f"delay-error-{name}", ("client",), DURATION, f"{STATISTICS[name]} of the delay errors of delayed records; each is the true "
            "delay minus the requested delay", _of_service("total_error", name))
        for name in ("mean", "max")
    ),
)  # fmt: skip
