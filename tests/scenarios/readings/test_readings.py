"""The readings: each reading can be taken, its name is unique, percentiles use the nearest rank, and health is counted as in Kafka."""

from __future__ import annotations

import attrs
import pytest

from core.kafka.health import STALL_BOUND
from core.kafka.transaction.transaction_state import TransactionState
from core.sim.units import SECOND
from scenarios.conditions.condition_parser import parse_condition
from scenarios.exploration.goal import Goal
from scenarios.readings.all_readings import ALL_READINGS, READINGS
from scenarios.readings.client_readings import TRANSACTION_STATES
from tests.scenarios.readings.still import LONELY, NAMES, ORDERS, Still, partition, replica


def test_every_reading_has_a_name_of_its_own() -> None:
    names = [reading.name for reading in ALL_READINGS]
    assert sorted(names) == sorted(READINGS)


def test_every_reading_can_be_taken() -> None:
    still = Still()
    samples = {
        "partition": "orders-0",
        "broker": "2",
        "client": "app",
        "partition-or-client": "app",
        "group": "group",
        "key": "a",
        "transactional-id": "app",
    }
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


def test_the_state_of_a_transactional_id_is_the_last_one_that_was_written() -> None:
    still = Still()
    for text in ("txn(app) == ongoing", "txn(other) == prepare-commit", "ongoing(orders-0) == 0"):
        assert parse_condition(text, NAMES).holds(still), text
    assert not parse_condition("txn(unknown) == ongoing", NAMES).holds(still)
    assert set(TRANSACTION_STATES) == {state.value for state in TransactionState}


def test_utilization_is_rounded_down_exists_only_with_a_limit_and_can_be_a_goal() -> None:
    still = Still()
    both = parse_condition("utilization-out(2) == 97 and utilization-in(b2) == 40", NAMES)
    assert both.holds(still)
    assert not parse_condition("utilization-out(1) >= 0", NAMES).holds(still)
    assert Goal(both).ages, "a search checks it again when nothing but time has passed"


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
