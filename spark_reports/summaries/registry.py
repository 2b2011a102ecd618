"""Lists all summaries in the order of a report, and the data of the charts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from spark_reports.summaries.chart_data import CURVES, HELD, LAG_CURVES, OWNERS, TIMELINE
from spark_reports.summaries.clients.audit import AUDIT
from spark_reports.summaries.clients.errors import ERRORS
from spark_reports.summaries.clients.harm import HARM
from spark_reports.summaries.clients.produce_errors import PRODUCE_ERRORS
from spark_reports.summaries.clients.produce_latency import PRODUCE_LATENCY
from spark_reports.summaries.clients.records import RECORDS
from spark_reports.summaries.clients.traces import TRACES
from spark_reports.summaries.clients.unavailability import UNAVAILABILITY
from spark_reports.summaries.cluster.event_kinds import EVENT_KINDS
from spark_reports.summaries.cluster.faults import FAULTS
from spark_reports.summaries.cluster.idle import IDLE
from spark_reports.summaries.cluster.settings import SETTINGS
from spark_reports.summaries.groups.deliveries import DELIVERIES
from spark_reports.summaries.groups.group_lag import GROUP_LAG
from spark_reports.summaries.groups.groups import GROUPS
from spark_reports.summaries.groups.rebalances import REBALANCES
from spark_reports.summaries.leaders.controllers import CONTROLLERS
from spark_reports.summaries.leaders.elections import ELECTIONS
from spark_reports.summaries.leaders.leadership import LEADERSHIP
from spark_reports.summaries.replicas.availability import AVAILABILITY
from spark_reports.summaries.replicas.degraded import DEGRADED
from spark_reports.summaries.replicas.isr_churn import ISR_CHURN
from spark_reports.summaries.replicas.isr_flapping import ISR_FLAPPING
from spark_reports.summaries.replicas.lag import LAG
from spark_reports.summaries.replicas.min_isr import MIN_ISR
from spark_reports.summaries.series import SERIES
from spark_reports.summaries.services.delays import DELAYS
from spark_reports.summaries.services.retries import RETRIES
from spark_reports.summaries.services.retry_outcomes import RETRY_OUTCOMES
from spark_reports.summaries.story import STORY
from spark_reports.summaries.summary import Summary
from spark_reports.summaries.transactions.aborted_transactions import ABORTED_TRANSACTIONS
from spark_reports.summaries.transactions.duplicates import DUPLICATES
from spark_reports.summaries.transactions.hanging_transactions import HANGING_TRANSACTIONS
from spark_reports.summaries.transactions.refusals import REFUSALS
from spark_reports.summaries.transactions.stable_offsets import STABLE_OFFSETS
from spark_reports.summaries.transactions.transactions import TRANSACTIONS

SUMMARIES: Final[tuple[Summary, ...]] = (
    FAULTS, ELECTIONS, LEADERSHIP, CONTROLLERS, ISR_CHURN, ISR_FLAPPING, AVAILABILITY, MIN_ISR, DEGRADED, UNAVAILABILITY, RECORDS, HARM,
    LAG, PRODUCE_LATENCY, PRODUCE_ERRORS, AUDIT, IDLE, ERRORS, SETTINGS,
    TRANSACTIONS, ABORTED_TRANSACTIONS, STABLE_OFFSETS, HANGING_TRANSACTIONS, DUPLICATES, REFUSALS,
    GROUPS, REBALANCES, GROUP_LAG, DELIVERIES, DELAYS, RETRIES, RETRY_OUTCOMES, TRACES,
    EVENT_KINDS,
)  # fmt: skip
"""All summaries, in the order of a report."""

CHARTS: Final[tuple[Summary, ...]] = (TIMELINE, CURVES, HELD, LAG_CURVES, OWNERS, SERIES, STORY)
"""The summaries that provide the data for the charts in an HTML report."""

WHOLE_SESSIONS: Final = (SERIES, STORY)
"""Those of `CHARTS` that concern whole sessions. The others concern the partitions that have a chart."""


def kinds_of(summaries: Iterable[Summary]) -> tuple[str, ...]:
    """Return all event kinds that at least one of the given summaries needs."""
    return tuple(sorted({kind for summary in summaries for kind in summary.kinds}))


def columns_of(summaries: Iterable[Summary]) -> tuple[str, ...]:
    """Return all event columns that at least one of the given summaries needs."""
    return tuple(sorted({column for summary in summaries for column in summary.columns}))
