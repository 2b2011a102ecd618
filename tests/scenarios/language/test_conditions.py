"""The condition language: the conditions that it accepts, its error messages, and how it reads frozen views and recorded events."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from core.kafka.broker.broker_state import BrokerState
from core.kafka.health import STALL_BOUND
from core.kafka.ids import TopicPartition
from core.kafka.log.leader_term import Batch, Run, Term
from core.lab.views.log_contents import LogContents
from core.lab.views.service_view import RetryView, ServiceView
from core.lab.views.view import (
    BatchingView,
    BrokerView,
    ClusterView,
    ConsumerView,
    ConsumptionView,
    GroupMemberView,
    GroupView,
    MemberView,
    PartitionStatus,
    PartitionView,
    ProcessView,
    ProducerView,
    ReplicaView,
)
from core.sim.units import SECOND
from scenarios.language.condition_parser import parse_condition
from scenarios.language.conditions import Names, kinds_of
from scenarios.language.readings import ALL_READINGS, READINGS, STATISTICS
from scenarios.language.tokens import ConditionError

ORDERS = TopicPartition("orders", 0)
LONELY = TopicPartition("orders", 1)
NAMES = Names(
    {"orders": 2}, frozenset({1, 2, 3}), frozenset({"app", "reader", "copier", "member", "delay", "retrier"}), frozenset({"group"})
)


def test_every_reading_has_a_name_of_its_own() -> None:
    names = [reading.name for reading in ALL_READINGS]
    assert sorted(names) == sorted(READINGS)


def replica(broker: int, role: str, leo: int, hw: int, *, in_isr: bool = True) -> ReplicaView:
    return ReplicaView(broker, role, leo, hw, 0, in_isr, True, "fetching", 0, ((0, 0), (1, 5)), 1, 1)


def partition(
    tp: TopicPartition, leader: int, isr: tuple[int, ...], replica_views: tuple[ReplicaView, ...], min_isr: int = 2
) -> PartitionView:
    return PartitionView(
        tp,
        leader,
        1,
        3,
        (1, 2, 3),
        isr,
        (3,),
        (),
        (),
        (),
        False,
        min_isr,
        PartitionStatus.UNDER_REPLICATED,
        replica_views,
        2,
        20,
        15,
        12,
        2,
        0,
        0,
    )


class Still:
    """One moment: a partition with a leader and ISR [2, 1], a partition without a leader, a stopped broker, and a few events."""

    def __init__(self) -> None:
        led = partition(
            ORDERS, 1, (2, 1), (replica(1, "leader", 20, 12), replica(2, "follower", 15, 12), replica(3, "offline", 9, 8, in_isr=False))
        )
        self.by_tp = {ORDERS: led, LONELY: partition(LONELY, -1, (3,), (replica(3, "offline", 9, 8),))}
        brokers = tuple(
            BrokerView(broker, None, BrokerState.STOPPED if broker == 3 else BrokerState.RUNNING, broker == 3, 1, int(broker == 1), 2, 1, 0)
            for broker in (1, 2, 3)
        )
        producer = ProducerView(
            "app", "orders", -1, 100, 20, 15, 1, 4, 2, 3_000, (3_000, 1_000), BatchingView(2, 20, 300, 1_000, 2_000, 500, 3)
        )
        consumer = ConsumerView("reader", "orders", 10, ((ORDERS, 10),))
        self.whole = ClusterView(
            9, 9, "4.1", "controller", brokers, (), tuple(self.by_tp.values()), (producer,), (consumer,), (), (), 20, 15, 2, 0, 0, 1, 3, 2,
            groups=(
                GroupView("group", 2, ((ORDERS, 8),), 1, "Stable", 3, "range", "m-1", (GroupMemberView("m-1", "", "member", (ORDERS,)),)),
            ),
            members=(
                MemberView(
                    "member", "group", ("orders",), True, False, "processing", "Stable", "m-1", 3, 2, (ORDERS,), ((ORDERS, 9),), 8, 1,
                ),
            ),
            consumption=(ConsumptionView("group", ORDERS, 8, 1, 1, 2),),
            services=(
                ServiceView(
                    "delay", "", "orders", True, 3, 1, 1, 12, 9, 2, 1, 0, 0, 0, 1,
                    dict.fromkeys(STATISTICS, 5), dict.fromkeys(STATISTICS, 7), dict.fromkeys(STATISTICS, 9),
                ),
            ),
            retries=(
                RetryView(
                    "retrier", "orders", True, 3, {1: 10, 2: 5}, {1: 5, 2: 1}, 9, 1, 0, 0, 0, 0, 2, dict.fromkeys(STATISTICS, 5)
                ),
            ),
            processes=(ProcessView("copier", "orders", "copies", "group", "at-least-once", 2, True, "produce", 12, 10, 3, 2, 1),),
        )  # fmt: skip
        acked = [(n, n, 0, "produce-acked", "app", "orders", 0, n, n + 1, 1, -1, n * 1_000, 1) for n in range(1, 101)]
        elected = [
            (200, 200, 0, "leader-elected", "orders", 0, 2, 1, 1, (2, 3), "clean", "b1 fenced"),
            (210, 210, 0, "leader-elected", "orders", 0, 1, 2, 2, (1,), "unclean", "b2 fenced"),
        ]
        self.recorded: dict[str, list[tuple[Any, ...]]] = {"produce-acked": acked, "leader-elected": elected, "records-lost": []}
        self.recorded["high-watermark"] = [(220, 220, 0, "high-watermark", 1, "orders", 0, 0, 0, 10, 1)]
        self.recorded["offset-committed"] = [(221, 221, 0, "offset-committed", 1, "group", "orders", 0, 8, -1)]
        self.recorded["broker-fenced"] = [(205, 205, 0, "broker-fenced", 2, 9_100_000, 9_000_000)]

    def view(self) -> ClusterView:
        return self.whole

    def partition(self, tp: TopicPartition) -> PartitionView | None:
        return self.by_tp.get(tp)

    def contents(self, tp: TopicPartition, broker: int) -> LogContents | None:
        """Return the contents of a log with two versions of a and a tombstone of b on broker 1; the other brokers lack the second version
        and the tombstone.
        """
        term = Term(0, 1)
        records = (("a", "v1"), ("a", "v2"), ("b", None)) if broker == 1 else (("a", "v1"), ("b", "v1"))
        term.append(Batch(0, len(records), 100, "app", 1, 0, content=records))
        return LogContents((Run(0, len(records), term),), len(records), ())

    def events(self, kind: str) -> list[tuple[Any, ...]]:
        return self.recorded.get(kind, [])


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
    assert missing.startswith("none; the last leader-elected: event 210 leader-elected {topic=orders, partition=0, leader=1,")
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
        ("lost ? 0", 5, "'?' has no meaning here"),
        ("__import__('os').system('true') == 0", 11, "has no meaning here"),
        ("count leader-elected {topc=orders} == 1", 22, "did you mean 'topic'?"),
        ("(" * 200 + "lost == 0" + ")" * 200, 30, "more than 30 levels of nesting"),
        ("not " * 200 + "lost == 0", 120, "more than 30 levels of nesting"),
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


def test_every_reading_can_be_taken() -> None:
    still = Still()
    samples = {"partition": "orders-0", "broker": "2", "client": "app", "partition-or-client": "app", "group": "group", "key": "a"}
    of_others = dict.fromkeys(("read", "position", "reads-from"), "reader")
    of_others |= dict.fromkeys(("process-step", "processed", "processed-twice", "half-visible", "never-processed"), "copier")
    of_others |= {
        name: "delay" for name, reading in READINGS.items() if "delayed records" in reading.meaning or name in ("held", "overdue", "paused")
    }
    of_others |= {name: "retrier" for name, reading in READINGS.items() if "retry service" in reading.meaning}
    of_others |= dict.fromkeys(("owned", "activity"), "member")
    for reading in READINGS.values():
        inside = ", ".join(
            of_others[reading.name] if reading.name in of_others and kind == "client" else samples[kind.rstrip("?")]
            for kind in reading.arguments
        )
        compared = f"{reading.name}({inside})" if inside else reading.name
        condition = parse_condition(f"{compared} == {compared}", NAMES)
        assert condition.holds(still), compared


def test_percentiles_count_what_was_never_answered() -> None:
    still = Still()
    (app,) = still.whole.producers
    blocked = attrs.evolve(app, waits_us=(46 * SECOND,) * 60 + (STALL_BOUND,))
    still.whole = attrs.evolve(still.whole, producers=(blocked,))
    still.recorded["produce-given-up"] = [(300, 300, 0, "produce-given-up", "app", "orders", 0, 1, -1, "REQUEST_TIMED_OUT", 120 * SECOND)]
    # 100 acknowledged after 1 to 100 ms, 60 unanswered for 46 s, one given up after 120 s; one that has just been sent tells nothing yet
    for text in (
        "p50-latency(app) == 81ms",
        "p99-latency(app) == 46s",
        "max-latency(app) == 2m",
        "longest-wait(app) == 46s",
    ):
        assert parse_condition(text, NAMES).holds(still), text


@pytest.mark.parametrize(
    ("leader", "isr", "min_isr", "words"),
    [
        (1, (1, 2), 2, "at-min-isr urp"),
        (1, (1, 2, 3), 3, "at-min-isr"),
        (1, (1, 2, 3), 2, ""),
        (1, (1,), 2, "under-min-isr urp"),
        (-1, (1, 2), 2, "offline"),
        (-1, (1,), 2, "offline"),
        (-1, (1, 2, 3), 3, "offline"),
    ],
)
def test_partitions_are_counted_as_their_leaders_count_them(leader: int, isr: tuple[int, ...], min_isr: int, words: str) -> None:
    """A partition can be at min ISR even if all replicas are in sync. A partition without a leader is not counted."""
    still = Still()
    one = partition(ORDERS, leader, isr, (replica(1, "leader", 20, 12),), min_isr)
    whole = partition(LONELY, 2, (1, 2, 3), (replica(2, "leader", 5, 5),))
    still.whole = attrs.evolve(still.whole, partitions=(one, whole))
    for name in ("offline", "urp", "under-min-isr", "at-min-isr"):
        assert parse_condition(f"{name} == {int(name in words.split())}", NAMES).holds(still), name


@pytest.mark.parametrize(
    ("count", "p50", "p99", "largest"),
    [(0, None, None, None), (1, 1, 1, 1), (2, 1, 2, 2), (3, 2, 3, 3), (4, 2, 4, 4), (100, 50, 99, 100), (101, 51, 100, 101), (200, 100, 198, 200), (201, 101, 199, 201)],
)  # fmt: skip
def test_percentiles_are_those_of_the_nearest_rank(count: int, p50: int | None, p99: int | None, largest: int | None) -> None:
    """A percentile is the smallest value that at least this share of the values does not exceed. Batches of other producers do not count,
    and the order does not matter.
    """
    still = Still()
    (app,) = still.whole.producers
    still.whole = attrs.evolve(still.whole, producers=(attrs.evolve(app, waits_us=()),))
    ours = [(n, n, 0, "produce-acked", "app", "orders", 0, n, n + 1, 1, -1, n * 1_000, 1) for n in range(count, 0, -1)]
    others = [(n, n, 0, "produce-acked", "other", "orders", 0, n, n + 1, 1, -1, 9 * SECOND, 1) for n in range(300, 310)]
    still.recorded["produce-acked"] = [*others, *ours]
    still.recorded["produce-given-up"] = [(320, 320, 0, "produce-given-up", "other", "orders", 0, 1, -1, "REQUEST_TIMED_OUT", 9 * SECOND)]
    for name, expected in (("p50-latency", p50), ("p99-latency", p99), ("max-latency", largest)):
        assert READINGS[name].read(still, "app") == (None if expected is None else expected * 1_000), name


@pytest.mark.parametrize(("waits", "counts"), [(STALL_BOUND, False), (STALL_BOUND + 1, True)])
def test_a_wait_counts_once_it_is_longer_than_the_bound(waits: int, counts: bool) -> None:
    still = Still()
    (app,) = still.whole.producers
    still.whole = attrs.evolve(still.whole, producers=(attrs.evolve(app, waits_us=(waits,)),))
    assert READINGS["max-latency"].read(still, "app") == (waits if counts else 100_000)
