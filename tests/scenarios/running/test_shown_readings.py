"""Values that a script (`show:`) or a person (`isrlab run --show … --at …`) asks for while a scenario runs."""

from __future__ import annotations

import pytest

from scenarios import catalogue
from scenarios.errors import InputError
from scenarios.language.script import read_script, releases_of
from scenarios.running.playable_scenario import PlayableScenario
from scenarios.running.results import as_data
from scenarios.running.runner import Run
from scenarios.running.shown_readings import ShownReadings


def shown(name: str, readings: list[str], times: list[str]) -> list[str]:
    scenario = catalogue.load(name)
    views = ShownReadings.of(readings, times)
    run = Run(scenario, releases_of(scenario, [])[-1], readings=views.terms)
    views.run(run)
    assert run.finished
    return [one.line().strip() for one in run.shown]


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


SHOWS = """scenario: shows
cluster: {brokers: 2, topics: {orders: {partitions: 1, replication-factor: 2}}}
timeline:
  - at: 1s
    produce: {topic: orders, records: 3, producer: app}
    show: [acked(app), 'leo(orders-0, 2)', count broker-stopped]
  - at: 2s
    kill: 2
    show: count broker-stopped
  - at: 3s
    show: acked(app)
    under: {before: "4.0"}
"""


def test_a_step_shows_values_of_its_moment_with_its_place() -> None:
    scenario = read_script(SHOWS, "shows.yaml")
    views = ShownReadings.of(["acked"], ["1500ms"])
    run = Run(scenario, releases_of(scenario, [])[0], readings=views.terms)
    views.run(run)
    assert [one.line().strip() for one in run.shown] == [
        "1s  acked(app) = 0  (line 5)",
        "1s  leo(orders-0, 2) = 0  (line 5)",
        "1s  count broker-stopped = 0  (line 5)",
        "1.5s  acked = 3",
        "2s  count broker-stopped = 1  (line 8)",
    ]
    (data,) = as_data([run.result()])["runs"]
    assert data["shown"][-1] == {
        "time_us": 2_000_000, "reading": "count broker-stopped", "value": "1", "file": "shows.yaml", "line": 8, "column": 5,
    }  # fmt: skip


def test_values_come_back_with_the_state_of_a_run() -> None:
    scenario = read_script(SHOWS, "shows.yaml")
    played = PlayableScenario(Run(scenario, releases_of(scenario, [])[0]))
    played.advance_to(1_500_000)
    saved = played.snapshot()
    assert saved is not None
    played.advance_to(2_500_000)
    back = saved.restore(lambda event: None)
    assert len(back.run.shown) == 3
    back.advance_to(2_500_000)
    assert back.run.shown == played.run.shown


def test_a_reading_that_a_client_does_not_have_names_those_that_it_has() -> None:
    (line,) = shown("j2-lag", ["read(m1)"], [])
    assert line.endswith("read(m1) = nothing (m1 does not have this value; it has owned, activity, processed)")


def test_a_reading_of_an_unknown_client_is_refused_before_the_run() -> None:
    with pytest.raises(InputError, match=r"^--show: 'read\(m9\)' \(j2-lag\): unknown client 'm9'; "):
        ShownReadings.of(["read(m9)"], []).check(catalogue.load("j2-lag"))


def test_a_mistake_in_show_has_its_place() -> None:
    with pytest.raises(InputError) as wrong:
        read_script(SHOWS.replace("2)'", "7)'").replace("show: acked(app)", "show: []"), "shows.yaml")
    assert [line.partition(": ")[0] for line in wrong.value.lines] == ["shows.yaml:6:39", "shows.yaml:11:11"]
