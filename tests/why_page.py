"""Writes the tables of `docs/why.md` from runs of all systems. The text between the tables stays as it is.

    python -m tests.why_page docs/why.md

A table stands between `<!-- table: NAME -->` and `<!-- end of table -->`. NAME is a fault of a comparison, or `reads`, which compares ways of
reading from Kafka's replicas.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

import attrs

from core.lab.comparison.comparison import Run
from core.lab.comparison.faults import fault_named
from core.lab.comparison.kafka_reads import READS
from core.lab.comparison.systems import VARIANTS, variant_named
from core.lab.comparison.table import markdown_table
from core.models.report import Report

TABLE: Final = re.compile(r"<!-- table: ([a-z-]+) -->\n.*?<!-- end of table -->", re.DOTALL)


def table(name: str) -> list[str]:
    """The lines of a table."""
    if name == "reads":
        fault, base = fault_named("replica-behind"), variant_named("kafka-acks-1")
        reports = [Run(attrs.evolve(base, secondary_reads=how), fault).finish() for how in READS]
        return markdown_table([f"`{how}`" for how in READS], reports)
    return markdown_table([each.title for each in VARIANTS], [report(name, each.name) for each in VARIANTS])


def report(fault: str, variant: str) -> Report:
    """The counts of a system under a fault."""
    return Run(variant_named(variant), fault_named(fault)).finish()


def written(page: str) -> str:
    """The page with new tables."""
    return TABLE.sub(lambda found: "\n".join([f"<!-- table: {found[1]} -->", *table(found[1]), "<!-- end of table -->"]), page)


def main() -> int:
    """Run the command line; returns the exit code."""
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    page = Path(sys.argv[1])
    page.write_text(written(page.read_text("utf-8")), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
