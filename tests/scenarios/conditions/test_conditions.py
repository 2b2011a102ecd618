"""The condition language: the conditions that it accepts, its error messages, and how it reads frozen views and recorded events."""

from __future__ import annotations

import pytest

from scenarios.conditions.condition_parser import parse_condition
from scenarios.conditions.conditions import ages, kinds_of
from scenarios.conditions.tokens import ConditionError
from tests.scenarios.readings.still import NAMES, Still

TRUE = [
    "committed-offset(group, orders-0) == 8 and not committed-offset(group, orders-1) == 0",
    "process-step(copier) == produce and processed(copier) == 10 and processed-twice(copier) == 3",
    "half-visible(copier) == 2 and never-processed(copier) == 1",
    "records(orders-0, 1) == 3 and value(orders-0, a, 1) == v2 and value(orders-0, b, 1) == none",
    "value(orders-0, b, 2) == v1 and value(orders-0, b, 2) != none",
    "lost == 2",
    "lost(orders-0) >= 2 and acked(orders-0) == 15",
    "acked(app) == 15 and failed(app) == 1 and in-flight(app) == 4 and sent(app) == 20 and retries(app) == 2",
    "isr(orders-0) == [1, 2]",
    "isr(orders-0) == [2,1]",
    "isr(orders-0) < 3",
    "2 == isr(orders-0)",
    "isr-row(orders-0) == [2, 1]",
    "isr-row(orders-0) != [1, 2]",
    "elr(orders-0) == [3]",
    "replicas(orders-0) == [1, 2, 3] and replicas(orders-0) != [2, 1, 3]",
    "isr(orders-0) != replicas(orders-0)",
    "leader(orders-0) == 1 and leader(orders-0) == b1",
    "leader(orders-1) == none and leader(orders-1) == -1 and leader(orders-0) != none",
    "hw(orders-0) == 12 and leo(orders-0) == 20",
    "leo(orders-0, 2) == 15 and hw(orders-0, b3) == 8",
    "leo(orders-0, 2) < leo(orders-0)",
    "epochs(orders-0, 1) == [(0, 0), (1, 5)]",
    "role(orders-0, 3) == offline and fetch-state(orders-0, 2) == fetching",
    "state(b3) == stopped and fenced(b3) and not fenced(1)",
    "urp == 1 and offline == 1",
    "under-min-isr == 0 and at-min-isr == 1",
    "unclean-elections == 1 and isr-shrinks == 3 and isr-expands == 2",
    "read(reader) == 10 and position(reader, orders-0) == 10",
    "p50-latency(app) == 50ms and p99-latency(app) == 99ms and max-latency(app) == 100ms",
    "max-latency(app) > 0",
    "status(orders-0) == under-replicated and stalled == 0 and stalled(orders-0) == 0",
    "longest-wait(app) == 3ms",
    "happened leader-elected {election=unclean, partition=orders-0}",
    "happened leader-elected {leader: 2, isr: [2, 3]}",
    "never records-lost and never leader-elected {leader=3}",
    "count leader-elected == 2 and count leader-elected {leader=b1} == 1",
    "order [leader-elected {leader=2}, broker-fenced, leader-elected {leader=1}]",
    "not order [broker-fenced, leader-elected {leader=2}]",
    "not order [broker-fenced, broker-fenced {silent-us=9100ms}]",
    "happened broker-fenced {silent-us=9100ms}",
    "count produce-acked {acks=all} == 100 and never produce-acked {acks=1}",
    "lost == 9 or (lost == 2 and not offline == 0)",
]


@pytest.mark.parametrize("text", TRUE)
def test_a_condition_that_holds(text: str) -> None:
    condition = parse_condition(text, NAMES)
    assert condition.text == text
    assert condition.holds(Still())
    assert not parse_condition(f"not ({text})", NAMES).holds(Still())


@pytest.mark.parametrize("text", ["hw(orders-1) == 0", "hw(orders-1) != 0", "hw(orders-1) < 5", "position(reader, orders-1) >= 0"])
def test_what_has_nothing_to_say_compares_with_nothing(text: str) -> None:
    condition = parse_condition(text, NAMES)
    assert not condition.holds(Still())
    assert condition.got(Still()) == "nothing"


@pytest.mark.parametrize(
    ("text", "expected", "got"),
    [
        ("isr(orders-0) == [1, 2, 3]", "[1, 2, 3]", "[2, 1]"),
        ("lost <= 1", "<= 1", "2"),
        ("leader(orders-1) == 2", "2", "none"),
        ("fenced(b3) == false", "false", "true"),
        ("max-latency(app) < 5ms", "< 5ms", "100ms"),
        ("epochs(orders-0, 1) == [(0, 0)]", "[(0, 0)]", "[(0, 0), (1, 5)]"),
        ("hw(orders-0) == leo(orders-0)", "leo(orders-0)", "12, compared with 20"),
        ("lost == 0 and offline == 0", "lost == 0 and offline == 0", "lost == 2, offline == 1"),
    ],
)
def test_a_failure_says_what_is(text: str, expected: str, got: str) -> None:
    condition = parse_condition(text, NAMES)
    assert not condition.holds(Still())
    assert condition.expected() == expected
    assert condition.got(Still()) == got


def test_a_missing_event_names_the_nearest_one() -> None:
    missing = parse_condition("happened leader-elected {leader=3}", NAMES).got(Still())
    assert missing.startswith("no event matches; the last leader-elected: event 210 leader-elected {topic=orders, partition=0, leader=1,")
    assert parse_condition("happened truncated", NAMES).got(Still()) == "no truncated event"
    broken = parse_condition("order [broker-fenced, leader-elected {leader=2}]", NAMES)
    assert broken.got(Still()).startswith("no leader-elected {leader=2} after event 205 broker-fenced")


@pytest.mark.parametrize(
    ("text", "offset", "words"),
    [
        ("", 0, "the condition is empty"),
        ("lost", 4, "there is nothing to compare lost with"),
        ("lost = 0", 5, "'=' is not a comparison"),
        ("lost == 0 lost", 10, "unexpected 'lost' after the end"),
        ("hw(orders-0", 11, "expected ')', not the end; write hw(partition, [broker])"),
        ("hw() == 0", 3, "expected a partition, not ')'"),
        ("hw == 0", 0, "hw needs an argument"),
        ("hw(orders-2) == 0", 3, "orders-2 does not exist"),
        ("hw(orders-0, 7) == 0", 13, "unknown broker 7"),
        ("isr(orders-0) == [1, 9]", 21, "unknown broker 9"),
        ("state(b1) > stopped", 12, "a word cannot be compared with < or >"),
        ("1 < 2", 0, "two fixed values"),
        ("acked(nobody) == 0", 6, "unknown client 'nobody'"),
        ("lost == 1e5", 8, "'1e5' is neither a whole number nor a duration"),
        ("lost == " + "9" * 30, 8, "the number is too large"),
        ("lost ? 0", 5, "'?' is not allowed here"),
        ("__import__('os').system('true') == 0", 11, "is not allowed here"),
        ("count leader-elected {topc=orders} == 1", 22, "did you mean 'topic'?"),
        ("(" * 200 + "lost == 0" + ")" * 200, 30, "the condition has more than 30 levels of nesting"),
        ("not " * 200 + "lost == 0", 120, "the condition has more than 30 levels of nesting"),
        ("lost == 0 and " * 500, 0, "the condition has 7,000 characters"),
        ("committed-offset(grup, orders-0) == 1", 17, "unknown group 'grup'; did you mean 'group'?"),
        ("[1, (0, 0)] == isr(orders-0)", 0, "the list mixes brokers and epochs"),
    ],
)
def test_a_wrong_condition_says_where(text: str, offset: int, words: str) -> None:
    with pytest.raises(ConditionError) as caught:
        parse_condition(text, NAMES)
    assert words in str(caught.value)
    assert caught.value.offset == offset


def test_only_the_kinds_that_are_looked_at_are_kept() -> None:
    text = "happened leader-elected or count isr-shrunk == 1 or order [truncated, isr-expanded] or p99-latency(app) > 1s or lost > 0"
    assert kinds_of(parse_condition(text, NAMES)) == {
        "leader-elected",
        "isr-shrunk",
        "truncated",
        "isr-expanded",
        "produce-acked",
        "produce-given-up",
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((f"{name}(app) > 1s", True) for name in ("p50-latency", "p99-latency", "max-latency", "longest-wait")),
        ("lost > 0 or max-latency(app) > 1s", True),
        ("lost > 0 or failed(app) > 0", False),
    ],
)
def test_conditions_on_the_age_of_waiting_batches_can_come_true_without_an_event(text: str, expected: bool) -> None:
    assert ages(parse_condition(text, NAMES)) is expected
