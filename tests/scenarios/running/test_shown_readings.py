"""Values that a person asks for while a scenario runs: `isrlab run --show … --at …`."""

from __future__ import annotations

import pytest

from scenarios import catalogue
from scenarios.errors import InputError
from scenarios.language.script import releases_of
from scenarios.running.runner import Run
from scenarios.running.shown_readings import ShownReadings


def shown(name: str, readings: list[str], times: list[str]) -> list[str]:
    scenario = catalogue.load(name)
    views = ShownReadings.of(readings, times)
    run = Run(scenario, releases_of(scenario, [])[-1], readings=views.terms)
    lines = [one.line().strip() for one in views.run(run)]
    assert run.finished
    return lines


def test_values_at_times_in_order() -> None:
    assert shown("f2-min-isr-2-two-down", ["isr(orders-0)", "leo(orders-0, 2)"], ["40s", "16s"]) == [
        "16s  isr(orders-0) = [1]",
        "16s  leo(orders-0, 2) = 495",
        "40s  isr(orders-0) = [1, 2]",
        "40s  leo(orders-0, 2) = 3995",
    ]


def test_without_a_time_values_are_those_at_the_end() -> None:
    (line,) = shown("f2-min-isr-2-two-down", ["count broker-fenced"], [])
    assert line.endswith("count broker-fenced = 2")


def test_a_time_after_the_script_lets_the_cluster_run_on() -> None:
    (line,) = shown("f2-min-isr-2-two-down", ["in-flight(app)"], ["2m"])
    assert line == "2m00s  in-flight(app) = 0"


def test_readings_that_need_an_audit_have_one() -> None:
    (line,) = shown("f2-min-isr-2-one-down", ["audit-acked"], [])
    assert int(line.rpartition(" = ")[2]) > 0


@pytest.mark.parametrize(
    ("readings", "times", "message"),
    [
        (["x(1)"], [], "--show: 'x(1)': unknown word 'x'"),
        (["5"], [], "--show: '5': "),
        (["leo(orders-0, 2) == 3"], [], "--show: 'leo(orders-0, 2) == 3': unexpected '==' after the end of the reading"),
        ([""], [], "--show: '': the reading is empty"),
        (["lost"], ["soon"], "--at: 'soon' is not a time"),
        (["lost"], ["90000d"], "--at: '90000d' is "),
        ([], ["3s"], "--at: says when --show reads"),
    ],
)
def test_mistakes(readings: list[str], times: list[str], message: str) -> None:
    with pytest.raises(InputError) as wrong:
        ShownReadings.of(readings, times)
    assert wrong.value.lines[0].startswith(message)
