"""Prints the report of a message audit as text or JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from core.lab.accounts.missed_records import WORDS
from core.lab.audit.audit_report import TOTAL, AuditReport, BucketRow, LostRecords, SkippedRecords, TierRow
from core.lab.audit.message_audit import ACKED, PRODUCED, STORED
from core.sim.units import format_clock, format_duration

MOST_GAPS = 20
"""The maximum number of ranges of lost or skipped records that are printed as text."""

_LATENCIES = ("mean", "p50", "p95", "p99", "max")


def audit_lines(report: AuditReport) -> Iterator[str]:
    """Yield the report as text: the buckets, the tiers, the lost and skipped records, and the comparison with the durability account."""
    yield (
        f"Audit at {format_clock(report.now)}: buckets of {format_duration(report.bucket)} by record timestamp; a bucket closes "
        f"{format_duration(report.lateness)} after its end"
    )
    yield ""
    if not report.buckets:
        yield "no records"
        return
    names = [name for name in BucketRow._fields if name not in ("topic", "start")]
    yield from _table(
        [
            ("topic", "bucket", *names),
            *((row.topic, _bucket(report, row.start), *(str(getattr(row, name)) for name in names)) for row in report.buckets),
        ],
        total="version",
    )
    yield ""
    counts = ("records", "duplicated", "unread", "pending", "skipped", "left_out", "late")
    rows: list[Sequence[str]] = [("topic", "bucket", "tier", *(name.replace("_", " ") for name in counts), *_LATENCIES)]
    for tier in report.tiers:
        rows.append((tier.topic, _bucket(report, tier.start), tier.tier, *_counts(tier, counts), *_latencies(tier)))
    yield from _table(rows)
    yield ""
    yield from _gap_lines("lost", [lost_text(gap) for gap in report.lost])
    yield from _gap_lines("skipped", [skipped_text(gap) for gap in report.skipped])
    yield account_sentence(report)


def _bucket(report: AuditReport, start: int | None) -> str:
    return "total" if start is TOTAL else f"{format_duration(start)}–{format_duration(start + report.bucket)}"


def _counts(row: TierRow, names: Sequence[str]) -> list[str]:
    """Return the counts of one pipeline tier: the log, a producer, or a consumer. Only consumers have unread, pending, skipped, and left out
    records.
    Duplicates are counted only in the log and for consumers.
    """
    nothing = {PRODUCED: names[1:6], ACKED: names[1:6], STORED: names[2:6]}.get(row.tier, ())
    return ["" if name in nothing else str(getattr(row, name)) for name in names]


def _latencies(row: TierRow) -> list[str]:
    return [format_duration(getattr(row.latency, name)) if row.latency.records else "" for name in _LATENCIES]


def _table(rows: Sequence[Sequence[str]], total: str = "") -> Iterator[str]:
    """Yield the lines of a table. In a row of totals, the column that the argument `total` names is empty."""
    hidden = rows[0].index(total) if total else -1
    cells = [[("" if at == hidden and row[1] == "total" else cell) for at, cell in enumerate(row)] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    texts = 3 if "tier" in rows[0] else 2
    for row in cells:
        yield "  ".join(
            cell.ljust(width) if at < texts else cell.rjust(width) for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()


def _gap_lines(what: str, gaps: Sequence[str]) -> Iterator[str]:
    for gap in gaps[:MOST_GAPS]:
        yield f"{what}: {gap}"
    if len(gaps) > MOST_GAPS:
        yield f"{what}: {len(gaps) - MOST_GAPS} more; --json prints all"


def counters(producer: str, start: int, end: int) -> str:
    """Return the name of a producer's records [start, end), for example `p1#120–121`."""
    return f"{producer}#{start}" if end == start + 1 else f"{producer}#{start}–{end - 1}"


def lost_text(gap: LostRecords) -> str:
    """Return the description of a range of lost records."""
    return f"{counters(gap.producer, gap.start, gap.end)} of {gap.tp}, written in leader epoch {gap.epoch} and acknowledged by {gap.node}"


def skipped_text(gap: SkippedRecords) -> str:
    """Return the description of a range of skipped records."""
    what = f"offset {gap.start}" if gap.end == gap.start + 1 else f"offsets {gap.start}–{gap.end - 1}"
    why = f": {WORDS[gap.reason]}" if gap.reason in WORDS else ""
    return f"{what} of {gap.tp}, by {gap.consumer}{why}"


def account_sentence(report: AuditReport) -> str:
    """Return a sentence that compares the audit with the durability account."""
    account = report.account
    lost = f"{account.lost_acknowledged} acknowledged {'record' if account.lost_acknowledged == 1 else 'records'}"
    copies = f"; {account.copies} of them are still in the log as copies" if account.copies else ""
    same = "the same records as" if account.equal else "NOT the same records as"
    return f"The durability account finds {lost} lost{copies}, {same} this audit."


def audit_data(report: AuditReport) -> dict[str, Any]:
    """Return the report as data for `--json`. Times are in µs; in the rows of totals, `start` is null."""
    return {
        "now": report.now,
        "bucket": report.bucket,
        "lateness": report.lateness,
        "buckets": [row._asdict() for row in report.buckets],
        "tiers": [{**row._asdict(), "latency": row.latency._asdict()} for row in report.tiers],
        "lost": [{**gap._asdict(), "tp": str(gap.tp)} for gap in report.lost],
        "skipped": [{**gap._asdict(), "tp": str(gap.tp)} for gap in report.skipped],
        "account": report.account._asdict(),
    }
