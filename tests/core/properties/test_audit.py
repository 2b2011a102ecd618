"""The message audit and the durability account name the same lost records, whatever happens."""

from __future__ import annotations

import pytest

from core.kafka.release import RELEASES
from tests.core.properties.audits import audited, traced
from tests.core.properties.swarm import swarm


@pytest.mark.parametrize(("release", "seeds", "lost"), [("0.10.2", (4, 5, 6, 8), 2), ("2.4", (1, 2), 0), ("4.1", (3, 4, 5), 2)])
def test_audit_and_account_agree_after_harsh_faults(release: str, seeds: tuple[int, ...], lost: int) -> None:
    reports = [audited(swarm(seed, harsh=True), RELEASES[release])[0] for seed in seeds]
    assert sum(bool(report.lost) for report in reports) >= lost, "some of these seeds lose records"


@pytest.mark.parametrize(("release", "seed"), [("0.10.2", 4), ("4.1", 5)])
def test_traces_agree_with_the_account(release: str, seed: int) -> None:
    """The life of each record at an offset tells whether the record was acknowledged, read, and lost."""
    timeline = swarm(seed, harsh=True)
    report, audit = audited(timeline, RELEASES[release])
    tp, lost = next(
        (tp, next(iter(found))[0]) for tp, account in audit.cluster.account.partitions.items() for found in account.lost.values()
    )
    assert report.lost
    for offset in (0, lost):
        trace = traced(timeline, RELEASES[release], tp, offset)
        assert any(life.is_lost for life in trace.lives) == (offset == lost)
