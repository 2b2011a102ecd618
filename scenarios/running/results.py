"""Results of runs as lines of text, as JSON data, and as JUnit XML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from core.sim.units import SECOND, format_duration
from scenarios.io.escaping import escape_line, escape_value
from scenarios.running.runner import Check, Harm, Result, RunResult, State

if TYPE_CHECKING:
    from core.models.report import Report
    from scenarios.running.model_runner import ModelResult


def lines(result: RunResult) -> Iterator[str]:
    """For each run, yield `ok name (release or system)`, or `FAILED name (release or system)` and a few lines for each failure."""
    count = len(result.checks)
    about = f"{result.scenario} ({result.title}): {count} expectation{'' if count == 1 else 's'}, {format_duration(result.time)}, {result.events} events"
    if result.held:
        yield f"ok {about}"
        return
    yield f"FAILED {about}"
    for check in result.failures:
        yield f"  {check.place.source}:{check.place.line}: {check.text}" + (f"  ({check.note})" if check.note else "")
        if check.state is State.PENDING:
            yield "    never checked"
            continue
        yield f"    expected {check.expected}"
        yield f"    got      {check.got}"
        if check.since:
            yield f"    since    {escape_line(check.since)}"


def shown_lines(result: Result) -> Iterator[str]:
    """Yield the values that the script or its caller asked for."""
    return (one.line() for one in result.shown)


def summary(results: Sequence[RunResult]) -> str:
    """Return a summary of all runs in one line."""
    failed = sum(not result.held for result in results)
    checks = sum(len(result.checks) for result in results)
    runs = f"{len(results)} run{'' if len(results) == 1 else 's'}, {checks} expectations"
    return f"{runs}: all held" if not failed else f"{runs}: {failed} run{'' if failed == 1 else 's'} FAILED"


def as_data(results: Iterable[Result | ModelResult]) -> dict[str, Any]:
    """Return all runs as data for `--json`. Times are in µs of virtual time."""
    runs = [
        {
            "scenario": result.scenario,
            "file": result.source,
            "release" if isinstance(result, Result) else "system": result.under,
            **({"settings": dict(result.settings)} if isinstance(result, Result) and result.settings else {}),
            "seed": result.seed,
            "held": result.held,
            "time_us": result.time,
            "events": result.events,
            **({"durability": _durability(result.harm)} if isinstance(result, Result) else {"counts": _counts(result.counts)}),
            "expectations": [_check(check) for check in result.checks],
            **({"shown": [one.as_data() for one in result.shown]} if isinstance(result, Result) and result.shown else {}),
        }
        for result in results
    ]
    return {"held": all(run["held"] for run in runs), "runs": runs}


def _durability(harm: Harm) -> dict[str, Any]:
    return {
        "accepted": harm.accepted,
        "acknowledged": harm.acked,
        "duplicated": harm.duplicated,
        "exposed": harm.exposed,
        "lost": harm.lost,
        "lost_acknowledged": harm.lost_acknowledged,
        "lost_read": harm.lost_read,
        "exposed_offsets": [
            {"partition": str(tp), "from": start, "to": end} for tp, ranges in harm.exposed_ranges for start, end in ranges
        ],
        "lost_offsets": [
            {
                "partition": str(loss.tp), "producer": loss.producer, "epoch": loss.epoch, "from": loss.start, "to": loss.end,
                "acknowledged": loss.acknowledged, "read": loss.read, "doomed_by": loss.event,
            }
            for loss in harm.losses
        ],
    }  # fmt: skip


def _counts(report: Report) -> dict[str, Any]:
    """Return the counts of a run in a replication model other than Kafka. The names of the counts are those of
    `core.models.report.Report`."""
    names = (
        "acked", "failed", "unknown", "lost", "phantom", "unknown_present", "unknown_absent", "duplicates", "reads", "stale", "own_broken", "backward",
        "stale_because_lost", "stale_versions", "stale_us", "unacknowledged", "dirty", "divergence", "write_unavailable_us", "read_unavailable_us",
        "bytes_sent", "authority",
    )  # fmt: skip
    return {name: getattr(report, name) for name in names} | {
        f"latency_{name}_us": report.latency(share) for name, share in (("p50", 0.5), ("p99", 0.99), ("max", 1.0))
    }


def _check(check: Check) -> dict[str, Any]:
    data: dict[str, Any] = {
        "file": check.place.source,
        "line": check.place.line,
        "column": check.place.column,
        "expectation": check.text,
        "state": str(check.state),
        "held": check.state is State.HELD,
        "time_us": check.time,
        "expected": check.expected,
        "got": check.got,
    }
    if check.since:
        data["since"] = check.since
    if check.note:
        data["note"] = check.note
    return data


def as_junit(results: Sequence[RunResult]) -> str:
    """Return all runs as JUnit XML, with a suite for each run and a case for each expectation. `time` is in seconds of virtual time."""
    total = sum(len(result.checks) for result in results)
    failed = sum(len(result.failures) for result in results)
    parts = ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuites name="isrlab" tests="{total}" failures="{failed}">']
    for result in results:
        name = quoteattr(f"{result.scenario} ({result.title})")
        parts.append(
            f'  <testsuite name={name} tests="{len(result.checks)}" failures="{len(result.failures)}" errors="0" time="{result.time / SECOND:.6f}">'
        )
        for check in result.checks:
            case = quoteattr(f"line {check.place.line}: {check.text}")
            opened = f'    <testcase classname={name} name={case} file={quoteattr(check.place.source)} line="{check.place.line}"'
            if check.state is State.HELD:
                parts.append(opened + "/>")
                continue
            parts.append(opened + ">")
            message = f"expected {check.expected}, got {check.got}" if check.state is State.FAILED else "never checked"
            parts.append(f"      <failure message={quoteattr(message)}>{escape(f'{check.place}: {check.text}: {message}')}</failure>")
            parts.append("    </testcase>")
        parts.append("  </testsuite>")
    parts.append("</testsuites>")
    return "\n".join(parts) + "\n"


def escape(text: str) -> str:
    """Escape text for XML, including control characters, which XML cannot contain.

    This function replaces the module `xml.sax.saxutils`, which is slow to import.
    """
    return escape_value(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def quoteattr(text: str) -> str:
    """Return text as the quoted value of an XML attribute."""
    return f'"{escape(text)}"'
