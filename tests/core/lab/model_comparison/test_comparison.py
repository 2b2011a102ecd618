"""The same faults in all systems: what each system loses, how long writes are impossible, and the first difference that clients see."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import attrs
import pytest

from core.lab.model_comparison.comparison import Comparison, Run
from core.lab.model_comparison.faults import FAULT_AT, FAULTS, Fault, fault_named
from core.lab.model_comparison.first_difference import first_difference
from core.lab.model_comparison.kafka_system import KafkaSystem
from core.lab.model_comparison.systems import VARIANTS, variant_named
from core.lab.model_comparison.table import markdown_table
from core.models import acts
from core.models.report import Report
from core.sim.errors import ActRefused
from core.sim.units import SECOND


@cache
def played(fault: str, variant: str) -> tuple[Run, Report]:
    run = Run(variant_named(variant), fault_named(fault))
    return run, run.finish()


def short(fault: str) -> Fault:
    return attrs.evolve(fault_named(fault), healed_at=4 * SECOND)


@pytest.mark.parametrize("variant", [each.name for each in VARIANTS])
def test_without_faults_nothing_is_lost_dirty_or_unavailable(variant: str) -> None:
    report = Run(variant_named(variant), short("none")).finish()
    assert report.acked == 800
    assert (report.lost, report.dirty, report.duplicates, report.divergence, report.phantom) == (0, 0, 0, 0, 0)
    assert (report.write_outages, report.read_outages) == ((), ())
    assert report.backward == 0
    assert (report.own_broken > 0) == (variant == "kafka-acks-1"), (
        "with acks=1, reads end at a high watermark that is behind the acknowledgment"
    )
    assert (report.exposed > 0) == (variant in ("kafka-acks-1", "mysql"))


@pytest.mark.parametrize(("variant", "lost", "outage"), [
    ("kafka", 0, (7, 9.5)), ("kafka-acks-1", 1, (7, 9.5)), ("mysql", 0, (29, 31)), ("mysql-semi-sync", 0, (29, 31)),
    ("quorum", 0, (0.1, 0.6)),
])  # fmt: skip
def test_the_primary_dies(variant: str, lost: int, outage: tuple[float, float]) -> None:
    _, report = played("primary-dies", variant)
    assert (report.lost, report.phantom, report.duplicates) == (lost, 0, 0)
    assert outage[0] < report.write_unavailable_us / SECOND < outage[1]


def test_the_first_difference_that_a_client_sees() -> None:
    runs = [played("primary-dies", name)[0] for name in ("mysql", "kafka")]
    difference = first_difference(runs)
    assert difference is not None
    assert difference.at <= FAULT_AT + SECOND
    assert len(difference.answers) == 2
    assert first_difference([runs[0], runs[0]]) is None


def test_systems_run_in_step() -> None:
    comparison = Comparison((variant_named("mysql"), variant_named("quorum"), variant_named("kafka")), short("replica-dies"))
    views = comparison.run_until(2 * SECOND)
    assert {view.now for view in views} == {2 * SECOND}
    for view in views:
        assert len(view.copies) == 3
        assert [copy.running for copy in view.copies] == [True, True, False]
        best = max(copy.acknowledged for copy in view.copies)
        assert best >= view.acked
        assert all(copy.visible <= copy.stored for copy in view.copies)
        assert not view.refused


def test_acts_that_make_no_sense_are_refused_with_the_reason() -> None:
    system = KafkaSystem()
    with pytest.raises(ActRefused, match="elects the leader from the ISR"):
        system.do(acts.Promote("n2"))
    for name in ("quorum", "elasticsearch"):
        with pytest.raises(ActRefused):
            variant_named(name).build(0, lambda event: None).do(acts.Promote("n2"))


def test_all_faults_have_titles() -> None:
    assert len({fault.title for fault in FAULTS}) == len(FAULTS) == 7


def test_the_page_shows_what_the_runs_show() -> None:
    page = (Path(__file__).parents[4] / "docs/why.md").read_text("utf-8")
    section = page.split("<!-- table: primary-dies -->")[1].split("<!-- end of table -->")[0]
    for variant in ("kafka", "mysql", "mysql-semi-sync", "quorum"):
        _, report = played("primary-dies", variant)
        (row,) = markdown_table([variant_named(variant).title], [report])[2:]
        assert row in section
