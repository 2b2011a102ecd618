"""Readings of the message audit. The scenarios `k1-unclean-election` and `k3-lost-reports` use them."""

from __future__ import annotations

import pytest

from core.lab.audit.message_audit import MessageAudit
from core.sim.units import SECOND
from scenarios import catalogue
from scenarios.releases import release_named
from scenarios.running.runner import Run

NAME = "k1-unclean-election"


def run() -> Run:
    return Run(catalogue.load(NAME), release_named("4.3"))


@pytest.mark.parametrize("in_place", [False, True])
def test_a_run_that_continues_from_a_saved_state_continues_its_audit(in_place: bool) -> None:
    first = run()
    first.advance_to(22 * SECOND)
    standing, snapshot = first.standing(), first.cluster.snapshot()
    first.advance_to(65 * SECOND)
    again = Run(first.scenario, first.release, resumed=(snapshot, standing, in_place))
    again.run()
    assert again.held


def test_the_readings_use_the_audit_that_observes_the_run() -> None:
    """`isrlab audit` replaces the audit of the run by its own."""
    mine, other = run(), MessageAudit(10 * SECOND)
    other.attach(mine.cluster)
    mine.run()
    assert mine.held
    assert other.produced.of("delayed-30s")


def test_only_a_run_that_asks_for_it_has_an_audit() -> None:
    other = Run(catalogue.load("k1-lateness"), release_named("4.3"))
    assert other.cluster.account.record_observer is None
    assert isinstance(run().cluster.account.record_observer, MessageAudit)
