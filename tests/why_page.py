"""Writes the tables of `docs/why.md` from runs of all systems. The text between the tables stays as it is.

    python -m tests.why_page docs/why.md

A table stands between `<!-- table: NAME -->` and `<!-- end of table -->`. NAME is a fault of a comparison, `reads`, which compares ways of
reading from Kafka's replicas, `costs`, which compares the risks and costs of the copies, or `copies`, which shows how many copies each rule
can lose.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path
from typing import Final

import attrs

from core.lab.model_comparison.comparison import Run
from core.lab.model_comparison.faults import fault_named
from core.lab.model_comparison.kafka_reads import READS
from core.lab.model_comparison.systems import VARIANTS, variant_named
from core.lab.model_comparison.table import markdown, markdown_table, needed, size
from core.models import tolerance
from core.models.report import Report

TABLE: Final = re.compile(r"<!-- table: ([a-z-]+) -->\n.*?<!-- end of table -->", re.DOTALL)


EXPOSING: Final = ("primary-dies", "primary-cut-off", "replica-dies")
"""The faults under which the table of the costs shows the exposure."""


def table(name: str) -> list[str]:
    """Return the lines of a table."""
    if name == "reads":
        fault, base = fault_named("replica-behind"), variant_named("kafka-acks-1")
        reports = [Run(attrs.evolve(base, secondary_reads=how), fault).finish() for how in READS]
        return markdown_table([f"`{how}`" for how in READS], reports)
    if name == "costs":
        return costs()
    if name == "copies":
        return copies()
    return markdown_table([each.title for each in VARIANTS], [report(name, each.name) for each in VARIANTS])


def costs() -> list[str]:
    """Return the lines of the table of costs: the exposure under three faults, and the bytes that a write takes without faults."""
    columns = ["per write", *(f"`{fault}`" for fault in EXPOSING), "1 loss", "2 losses"]
    rows = []
    for variant in VARIANTS:
        exposed = [report(fault, variant.name) for fault in EXPOSING]
        quiet = report("none", variant.name)
        rows.append([
            size(quiet.bytes_sent // quiet.acked), *(f"{each.exposed:,} ({each.exposed_us / 1_000_000:,.1f})" for each in exposed),
            *(needed(variant.copies_needed(losses)) for losses in (1, 2)),
        ])  # fmt: skip
    return markdown(columns, [each.title for each in VARIANTS], rows)


def copies() -> list[str]:
    """Return the lines of the table that shows how many losses each number of copies tolerates."""
    rules = {
        "majority": tolerance.majority, "ISR, min 1": lambda number: tolerance.isr(number, 1), "ISR, min 2": lambda number: tolerance.isr(number, 2),
        "semi-sync, 1 replica": lambda number: tolerance.semi_sync(number, 1), "Elasticsearch": tolerance.in_sync_copies,
    }  # fmt: skip
    numbers = range(2, 6)
    rows = [[f"{rule(number).write} / {rule(number).keep}" for rule in rules.values()] for number in numbers]
    return markdown([*rules], [f"{number} copies" for number in numbers], rows)


@cache
def report(fault: str, variant: str) -> Report:
    """Return the counts of a system under a fault."""
    return Run(variant_named(variant), fault_named(fault)).finish()


def written(page: str) -> str:
    """Return the page with new tables."""
    return TABLE.sub(lambda found: "\n".join([f"<!-- table: {found[1]} -->", *table(found[1]), "<!-- end of table -->"]), page)


def main() -> int:
    """Run the command line and return the exit code."""
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    page = Path(sys.argv[1])
    page.write_text(written(page.read_text("utf-8")), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
