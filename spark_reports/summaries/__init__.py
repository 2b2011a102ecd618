"""The questions a report answers, in the order it prints the answers."""

from __future__ import annotations

from typing import Final

from spark_reports.summaries.availability import AVAILABILITY
from spark_reports.summaries.elections import ELECTIONS
from spark_reports.summaries.errors import ERRORS
from spark_reports.summaries.isr_churn import ISR_CHURN
from spark_reports.summaries.produce_latency import PRODUCE_LATENCY
from spark_reports.summaries.records import RECORDS
from spark_reports.summaries.summary import Summary

SUMMARIES: Final[tuple[Summary, ...]] = (ELECTIONS, ISR_CHURN, AVAILABILITY, RECORDS, PRODUCE_LATENCY, ERRORS)
"""Every summary."""

KINDS: Final[tuple[str, ...]] = tuple(sorted({kind for summary in SUMMARIES for kind in summary.kinds}))
"""Every event kind that some summary looks at."""

COLUMNS: Final[tuple[str, ...]] = tuple(sorted({column for summary in SUMMARIES for column in summary.columns}))
"""Every event column that some summary looks at."""
