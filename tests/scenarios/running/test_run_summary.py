"""What `isrlab run` tells of a run: the acts, what they led to, and what clients felt of it."""

from __future__ import annotations

from scenarios import catalogue
from scenarios.language.script import Scenario, read_script, releases_of
from scenarios.running.run_summary import MOST_LINES, RunSummary
from scenarios.running.runner import run_scenario


def told(scenario: Scenario, number: int = -1) -> list[str]:
    """Run a scenario under one of its releases, and return the lines without their indentation."""
    summary = RunSummary()
    result = run_scenario(scenario, releases_of(scenario, [])[number], None, summary)
    return [line.strip() for line in summary.lines(result.time, result.harm.acked, result.harm.losses)]


def of(timeline: str, *, config: str = "min.insync.replicas: 2") -> list[str]:
    """Run a script with one partition on three brokers."""
    cluster = f"cluster: {{brokers: 3, topics: {{orders: {{replicas: [[1, 2, 3]], config: {{{config}}}}}}}}}"
    return told(read_script(f"{cluster}\ntimeline:\n{timeline}", "summary.yaml"))


def test_a_stalled_write_names_the_partition_the_time_and_the_act() -> None:
    lines = told(catalogue.load("f2-min-isr-2-two-down"))
    assert "5s  kill b2, kill b3" in lines
    (writes,) = [line for line in lines if line.startswith("writes")]
    assert writes.startswith("writes  orders-0: one waited for 34.")
    assert writes.endswith("from 5s on, because of kill b2 (5s)")
    assert "refused  6 times: NOT_ENOUGH_REPLICAS" in lines
    assert lines[-1].endswith("acknowledged, none lost")


def test_a_write_without_an_answer_at_the_end() -> None:
    lines = of("- {at: 1s, load: {topic: orders, rate: 50}}\n- {at: 5s, kill: 3}\n- {at: 6s, kill: 2}\n- {at: 30s, expect: {lost: 0}}")
    assert "writes  orders-0: one waited for 24.75s from 5.25s on, and has no answer yet, because of kill b3 (5s)" in lines
    assert [line for line in lines if "kill b" in line and "because" not in line] == ["5s  kill b3", "6s  kill b2"]


def test_losses_of_one_cause_are_one_line_with_their_offsets() -> None:
    lines = told(catalogue.load("d8-split-brain"))
    losses = [line for line in lines if line.startswith("LOST")]
    assert losses == ["LOST  141 records of orders-0 at offsets 99–239 (141 acknowledged), because of cut b1 and zookeeper (5s)"]
    assert lines[-1].endswith("acknowledged, 141 lost")


def test_an_unclean_election_is_told() -> None:
    lines = told(catalogue.load("d6-unclean-election-on"))
    assert any(line.endswith("b2 leads orders-0 after an unclean election") for line in lines)


def test_by_hand_what_an_act_led_to_comes_after_it() -> None:
    lines = told(catalogue.load("e1-data-loss"), 0)
    acts = next(at for at, line in enumerate(lines) if "kill b" in line)
    assert acts < next(at for at, line in enumerate(lines) if "leads orders-0" in line)
    assert any(line.startswith("LOST  1 record of orders-0 at offset 1 (1 acknowledged)") for line in lines)


def test_a_quiet_run_says_that_nothing_was_lost() -> None:
    assert of("- {at: 1s, produce: {topic: orders, records: 7}}\n- {at: 3s, expect: {lost: 0}}") == [
        "1s  produce 7 records to orders",
        "records  7 acknowledged, none lost",
    ]


def test_long_runs_keep_the_important_lines_and_count_the_others() -> None:
    lines = told(catalogue.load("h3-rolling-restart"))
    counted = next(at for at, line in enumerate(lines) if line.startswith("and "))
    assert counted == MOST_LINES
    assert any("shutdown b2" in line for line in lines)


def test_every_scenario_has_a_summary_of_bounded_length() -> None:
    for name in ("j1-slow-member", "i2-at-least-once", "k2-poison", "t1-late-produce", "s12-diverging-fetch", "l5-compaction"):
        lines = told(catalogue.load(name))
        assert 1 <= len(lines) <= MOST_LINES + 16, name
        assert all(len(line) < 400 for line in lines), name


def test_what_is_lost_and_acknowledged_is_what_the_durability_account_says_at_the_end() -> None:
    """Records that come back are not lost, and acks=0 acknowledges nothing."""
    assert told(catalogue.load("e4-unused-epoch"))[-1] == "records  7 acknowledged, none lost"
    assert told(catalogue.load("f1-acks"))[-1] == "records  1,990 acknowledged, none lost"
