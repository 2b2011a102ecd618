"""The lines of the page with the transactions."""

from __future__ import annotations

import attrs
import pytest

from core.kafka.ids import TopicPartition
from core.lab.reports.transaction_report import HeldPartition, TransactionReport, TransactionView
from tui.pages.transactions import paint_transactions
from tui.rendering.palette import palette_of

TP = TopicPartition("orders", 0)
PAINT = palette_of("dark")


def held(*, hanging: bool, producer_id: int = 7, transactional_id: str = "app") -> HeldPartition:
    return HeldPartition(TP, 1, 6, 111, 6, producer_id, 0, 0, 104_000_000, transactional_id, hanging)


def app(state: str, pending: str = "") -> TransactionView:
    return TransactionView("app", 3, 0, 7, 0, state, pending, 60_000_000, 12_000_000, (TP,))


def text(report: TransactionReport, width: int = 120, height: int = 40) -> str:
    return " ".join(" ".join(line.text.split()) for line in paint_transactions(report, PAINT, (width, height), 0))


@pytest.mark.parametrize(("width", "height"), [(80, 20), (120, 36), (200, 56)])
def test_a_hanging_transaction_comes_with_the_command_that_ends_it(width: int, height: int) -> None:
    said = text(TransactionReport((app("Empty"),), (held(hanging=True),)), width, height)
    assert "1 hanging" in said
    assert "HANGING" in said
    assert "no coordinator knows of it, so none will end it" in said
    assert "kafka-transactions.sh --bootstrap-server HOST:PORT abort --topic orders --partition 0 --start-offset 6" in said
    assert "the 105 records between this offset and the high watermark, 111" in said


def test_a_transaction_whose_coordinator_is_away_does_not_hang() -> None:
    waiting = attrs.evolve(held(hanging=False, transactional_id=""), missing_coordinators=(4,))
    said = text(TransactionReport((), (waiting,)))
    assert "1 held back" in said
    assert "waits" in said
    assert "partition 4 of __transaction_state has no coordinator, because the leader is down or is still loading its log" in said
    assert "HANGING" not in said


def test_an_open_transaction_says_when_its_coordinator_ends_it() -> None:
    said = text(TransactionReport((app("Ongoing"),), (held(hanging=False),)))
    assert "1 held back" in said
    assert "its coordinator, b3, aborts it after a timeout, in 48s or more" in said


def test_a_decided_transaction_names_the_missing_marker() -> None:
    said = text(TransactionReport((app("PrepareCommit", "CompleteCommit"),), (held(hanging=False),)))
    assert "is decided (PrepareCommit), but orders-0 does not have its marker yet." in said
    assert "PrepareCommit → CompleteCommit" in said


def test_a_marker_that_is_not_committed_is_no_transaction() -> None:
    said = text(TransactionReport((app("PrepareCommit"),), (held(hanging=False, producer_id=-1, transactional_id=""),)))
    assert "its marker has not yet been replicated to the whole ISR" in said


def test_without_transactions_the_page_says_how_to_see_one() -> None:
    said = text(TransactionReport())
    assert "No producer of this cluster uses transactions." in said
    assert "t1-late-produce" in said
