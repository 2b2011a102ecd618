"""Readings of the message audit (`isrlab audit`): how many distinct records reached its tiers. The audit identifies each record by its
identity."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from core.lab.audit.message_audit import ACKED, dead_letter_tier, delayed_tier, group_tier
from scenarios.readings.reading import NUMBER, Moment, Reading


def _passed(moment: Moment, names: Iterable[str]) -> Any:
    """Return how many distinct records reached the tiers with the given names, over all topics; None if there is no audit."""
    report = moment.audit()
    return None if report is None else sum(row.records for row in report.tier_totals() if row.tier in names)


def _acked(moment: Moment) -> Any:
    return _passed(moment, (ACKED,))


def _lost(moment: Moment) -> Any:
    report = moment.audit()
    return None if report is None else sum(gap.end - gap.start for gap in report.lost)


def _of_client(moment: Moment, client: str) -> Any:
    return _passed(moment, (client, delayed_tier(client)))


def _dead_lettered(moment: Moment, client: str) -> Any:
    return _passed(moment, (dead_letter_tier(client),))


def _of_group(moment: Moment, group: str) -> Any:
    return _passed(moment, (group_tier(group),))


AUDIT_READINGS: Final = (
    Reading("audit-acked", (), NUMBER, "the number of distinct records that were acknowledged to producers, according to the audit", _acked, audits=True),
    Reading("audit-lost", (), NUMBER, "the number of acknowledged records that are no longer in any log, according to the audit", _lost, audits=True),
    Reading("audit-passed", ("client",), NUMBER, "the number of distinct records that a consumer without a group has received, or that a delay "
        "service has forwarded, according to the audit", _of_client, audits=True),
    Reading("audit-dead-lettered", ("client",), NUMBER, "the number of distinct records that a delay service has sent to its dead-letter topic, "
        "according to the audit", _dead_lettered, audits=True),
    Reading("audit-processed", ("group",), NUMBER, "the number of distinct records that a group has processed, according to the audit",
        _of_group, audits=True),
)  # fmt: skip
