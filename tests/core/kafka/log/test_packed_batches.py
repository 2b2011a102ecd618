"""A term packs its older batches: they take little memory, and every question about them has the same answer as before."""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right

import pytest

from core.kafka.log.control_record import ABORT
from core.kafka.log.leader_term import Batch, Term
from core.kafka.log.log_records import LogRecords
from core.kafka.log.packed_batches import BATCHES_PER_BLOCK, FEWEST


def filled(count: int, *, stamped: bool = False, closed_at: tuple[int, ...] = ()) -> tuple[Term, list[Batch]]:
    dice, term, batches = random.Random(7), Term(3, 1), []
    offset, time = 1_000, 5
    for number in range(count):
        records, time = dice.randint(1, 9), time + dice.randint(0, 40_000)
        transactional = dice.random() < 0.2
        content = ABORT if dice.random() < 0.02 else (("k", number),) if dice.random() < 0.02 else None
        stamp = time - dice.randint(0, 90_000) if stamped else time
        producer = dice.choice(["load", "payments"])
        batches.append(Batch(offset, records, dice.randint(60, 900), producer, number, stamp, 7, 0, number, transactional, content))
        term.append(tuple(batches[-1]))
        offset += records
        if number in closed_at:
            term.close()
    term.stamped = stamped
    return term, batches


@pytest.mark.parametrize(("stamped", "closed_at"), [(False, ()), (True, ()), (False, (20, 25, 150, 300, 336)), (True, (16, 280))])
def test_packed_batches_answer_as_plain_ones_do(stamped: bool, closed_at: tuple[int, ...]) -> None:
    """This also holds for a term whose leader appended after other logs had gone on with another term."""
    term, batches = filled(5 * BATCHES_PER_BLOCK + 17, stamped=stamped, closed_at=closed_at)
    ends = [batch.base + batch.records for batch in batches]
    totals = [sum(batch.bytes for batch in batches[: number + 1]) for number in range(len(batches))]
    assert len(term.packed) > 2
    assert (term.count, term.batches, term.bytes) == (len(batches), batches, totals[-1])
    dice = random.Random(8)
    for offset in [ends[0], ends[-1], *(end + step for end in ends[:: BATCHES_PER_BLOCK // 2] for step in (-1, 0, 1))]:
        assert term.number_after(offset) == bisect_right(ends, offset)
        number = bisect_left(ends, offset)
        assert term.number_at(offset) == number
        if number < len(ends):
            batch = term.batch(number)
            size = totals[number] - batch.bytes + batch.bytes * max(offset - batch.base, 0) // batch.records
            assert (batch, term.bytes_before(offset)) == (batches[number], size)
        stop = offset + dice.randint(1, 2_000)
        assert term.batches_within(offset, stop) == batches[bisect_right(ends, offset) : bisect_left(ends, stop) + 1]
        time = dice.randint(0, batches[-1].timestamp + 10)
        later = [
            max(offset, each.base) for each in batches if each.base < stop and offset < each.base + each.records and each.timestamp >= time
        ]
        assert term.first_since(offset, stop, time) == (later[0] if later else -1)
        if not stamped:
            assert term.number_later(time) == bisect_right([batch.timestamp for batch in batches], time)
    for size in [0, totals[-1], *(total + step for total in totals[:: BATCHES_PER_BLOCK // 2] for step in (-1, 0, 1))]:
        assert term.number_above(size) == bisect_right(totals, size)


def test_a_term_that_is_over_keeps_no_batches_as_tuples() -> None:
    """Otherwise, a session with many elections would keep up to 128 tuples for each of them."""
    log, first, second = LogRecords(), *(filled(count)[0] for count in (100, FEWEST - 1))
    log.begin_run(first, 0)
    assert len(first.written) == 100
    log.begin_run(second, 600)
    assert (len(first.written), len(first.packed), first.count) == (0, 1, 100)
    log.begin_run(Term(5, 1), 700)
    assert len(second.written) == FEWEST - 1, "a few batches take less memory as they are"


def test_an_old_batch_takes_a_few_bytes() -> None:
    """A load of 20 batches per second runs for a day: as tuples, its 1.7 million batches would take half a gigabyte."""
    term = Term(0, 1)
    for number in range(40 * BATCHES_PER_BLOCK):
        term.append((number * 5, 5, 1_200, "load", number, number * 50_000 + number * 7919 % 900, -1, -1, -1, False, None))
    assert len(term.written) <= 2 * BATCHES_PER_BLOCK
    assert sum(len(block.data) for block in term.packed) < 10 * BATCHES_PER_BLOCK * len(term.packed)


@pytest.mark.parametrize("step", [0, 1, 50_000])
def test_batches_of_a_steady_load_are_packed_without_loss(step: int) -> None:
    """Their fields are the same, or grow by the same number."""
    term = Term(0, 1)
    batches = [
        Batch(10 * number, 10, 100, "load", number, 7 + step * number, -1, -1, -1, False, None) for number in range(3 * BATCHES_PER_BLOCK)
    ]
    for batch in batches:
        term.append(tuple(batch))
    assert term.packed
    assert term.batches == batches
    assert [term.end_of(number) for number in range(term.count)] == [10 * number + 10 for number in range(term.count)]
