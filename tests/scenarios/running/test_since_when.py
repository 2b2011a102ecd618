"""Since when a failed expectation's value has been what it is, and why."""

from __future__ import annotations

import pytest

from scenarios.language.script import read_script, releases_of
from scenarios.running.runner import Run
from scenarios.running.since_when import explain_failures

CLUSTER = "cluster: {brokers: 3, topics: {orders: {replicas: [[3, 1, 2]], config: {min.insync.replicas: 2}}}}\n"
TIMELINE = "timeline:\n- {at: 1s, load: {topic: orders, rate: 50}}\n- {at: 5s, kill: 3}\n- {at: 30s, expect: ['%s']}\n"


def since(condition: str) -> str:
    """Run a script in which a condition fails, and return since when its value has been so."""
    scenario = read_script(CLUSTER + TIMELINE % condition, "since.yaml")
    run = Run(scenario, releases_of(scenario, [])[-1])
    run.run()
    explain_failures(run)
    (check,) = run.expectations
    return check.since


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        ("leader(orders-0) == 3", "12.486s: b1 leads orders-0 in epoch 1 after b3: "),
        ("isr(orders-0) == [1, 2, 3]", "12.486s: "),
        ("state(3) == running", "5s: b3 was killed; "),
        ("min-isr(orders-0) == 1", "the start"),
    ],
)
def test_the_last_change_and_its_act(condition: str, text: str) -> None:
    told = since(condition)
    assert told.startswith(text)
    assert told.endswith(", because of kill b3 (5s)") == (text != "the start")


def test_what_holds_is_not_explained() -> None:
    assert since("leader(orders-0) == 1") == ""


def test_a_condition_about_the_past_has_no_value_that_changed() -> None:
    assert since("happened truncated") == ""
