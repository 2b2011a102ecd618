"""The questions a report answers, in the order it prints the answers, and what its charts are drawn from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from spark_reports.summaries.availability import AVAILABILITY
from spark_reports.summaries.charts import CURVES, TIMELINE
from spark_reports.summaries.controllers import CONTROLLERS
from spark_reports.summaries.degraded import DEGRADED
from spark_reports.summaries.elections import ELECTIONS
from spark_reports.summaries.errors import ERRORS
from spark_reports.summaries.harm import HARM
from spark_reports.summaries.idle import IDLE
from spark_reports.summaries.isr_churn import ISR_CHURN
from spark_reports.summaries.isr_flapping import ISR_FLAPPING
from spark_reports.summaries.lag import LAG
from spark_reports.summaries.leadership import LEADERSHIP
from spark_reports.summaries.min_isr import MIN_ISR
from spark_reports.summaries.produce_errors import PRODUCE_ERRORS
from spark_reports.summaries.produce_latency import PRODUCE_LATENCY
from spark_reports.summaries.records import RECORDS
from spark_reports.summaries.settings import SETTINGS
from spark_reports.summaries.summary import Summary
from spark_reports.summaries.unavailability import UNAVAILABILITY

SUMMARIES: Final[tuple[Summary, ...]] = (
    ELECTIONS, LEADERSHIP, CONTROLLERS, ISR_CHURN, ISR_FLAPPING, AVAILABILITY, MIN_ISR, DEGRADED, UNAVAILABILITY, RECORDS, HARM,
    LAG, PRODUCE_LATENCY, PRODUCE_ERRORS, IDLE, ERRORS, SETTINGS,
)  # fmt: skip
"""Every summary."""

CHARTS: Final[tuple[Summary, ...]] = (TIMELINE, CURVES)
"""What the charts of an HTML report are drawn from."""


def kinds_of(summaries: Iterable[Summary]) -> tuple[str, ...]:
    """Every event kind that some of these looks at."""
    return tuple(sorted({kind for summary in summaries for kind in summary.kinds}))


def columns_of(summaries: Iterable[Summary]) -> tuple[str, ...]:
    """Every event column that some of these looks at."""
    return tuple(sorted({column for summary in summaries for column in summary.columns}))
