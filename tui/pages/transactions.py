"""The page with the transactions: the state of each transactional ID, and what holds back the last stable offset of each partition."""

from __future__ import annotations

from typing import ClassVar

from textual.strip import Strip

from core.lab.acts import AbortHanging
from core.lab.reports.transaction_report import HeldPartition, TransactionReport, TransactionView
from core.sim.units import format_duration
from tui.actions.context import Option, Question
from tui.pages.page import Page
from tui.rendering.palette import Palette
from tui.rendering.rows import Row, blank, rule, wrap
from tui.rendering.tables import Cell, Column, paint_table

NO_TRANSACTIONS = (
    "No producer of this cluster uses transactions. Consumers with isolation.level=read_committed see the "
    "records of a transaction only after its producer commits it. To watch a transaction, press 7 and start the scenario t1-late-produce."
)
"""The text of the page for a cluster without transactions."""

ID_COLUMNS = (
    Column("transactional ID"), Column("coordinator"), Column("state"), Column("producer ID", right=True, rank=2),
    Column("epoch", right=True, rank=1), Column("open for", right=True), Column("timeout", right=True, rank=3), Column("partitions", rest=True, least=12),
)  # fmt: skip
"""The columns of the table of transactional IDs."""

HELD_COLUMNS = (
    Column(""), Column("partition"), Column("LSO", right=True), Column("HW", right=True), Column("gap", right=True, rank=1),
    Column("held by"), Column("producer ID", right=True, rank=2), Column("epoch", right=True, rank=2), Column("idle for", right=True, rank=3),
    Column("", rest=True, least=10),
)  # fmt: skip
"""The columns of the table of partitions whose last stable offset is held back."""


def who_holds(held: HeldPartition) -> str:
    """Return, in a few words, what holds back the last stable offset of a partition."""
    if held.producer_id < 0:
        return "an uncommitted marker"
    return held.transactional_id or "an unknown producer"


def explanation(held: HeldPartition, owner: TransactionView | None) -> list[str]:
    """Return sentences that explain why the last stable offset of a partition is held back, and what will release the offset."""
    tp, gap = held.tp, held.high_watermark - held.last_stable_offset
    records = "1 record" if gap == 1 else f"{gap:,} records"
    lines = [
        f"Consumers of {tp} with read_committed stop at the last stable offset, {held.last_stable_offset:,}. These consumers do not see "
        f"the "
        f"{records} between this offset and the high watermark, {held.high_watermark:,}, not even those of other producers."
    ]
    if held.producer_id < 0:
        return [*lines, "The transaction is over, but its marker has not yet been replicated to the whole ISR."]
    if held.missing_coordinators:
        numbers = held.missing_coordinators
        names = f"partition {numbers[0]}" if len(numbers) == 1 else f"{len(numbers)} partitions"
        return [
            *lines,
            f"The transaction of producer ID {held.producer_id} has been open since offset {held.first_offset:,}. No running coordinator knows it "
            f"now: {names} of __transaction_state ha{'s' if len(numbers) == 1 else 've'} no coordinator, because the leader is down or is "
            f"still loading its log. When the coordinator is back, it ends the transaction as usual.",
            "If the transaction is idle for longer than 15 minutes, kafka-transactions find-hanging lists it as hanging, because the tool asks only "
            "running brokers. Don't abort it by hand before the coordinator is back.",
        ]
    if held.hanging:
        return [
            *lines,
            f"The transaction of producer ID {held.producer_id} has been open since offset {held.first_offset:,}, but no coordinator "
            "knows of it, so none will end it. It is a hanging transaction.",
            f"To end it, press ⏎ or, on a real cluster, run: {held.abort_command}",
        ]
    if owner is not None and owner.waits_for_markers:
        return [
            *lines,
            f"The outcome of the transaction of {owner.transactional_id} is decided ({owner.state}), but {tp} does not have its marker yet.",
        ]
    if owner is not None:
        left = max(owner.timeout_us - owner.open_us, 0)
        return [
            *lines,
            f"The transaction of {owner.transactional_id} has been open since offset {held.first_offset:,}. It ends when the producer "
            f"commits or aborts it, or when its coordinator, b{owner.coordinator}, aborts it after a timeout, in "
            f"{format_duration(left // 1_000_000 * 1_000_000)} or more.",
        ]
    return lines


def paint_transactions(report: TransactionReport, paint: Palette, size: tuple[int, int], selected: int) -> list[Strip]:
    """Paint the partitions whose last stable offset is held back, the explanation of the selected partition, and the transactional IDs."""
    width, height = size
    count = len(report.held)
    hanging = sum(each.hanging for each in report.held)
    note = f"{hanging} hanging" if hanging else f"{count} held back" if count else "nothing is held back"
    style = paint.bad if hanging else paint.warn if count else paint.good
    out = [rule("Last stable offsets", note, width, paint.title_focused, paint.faint, style)]
    if not report.transactions and not report.held:
        out += [Row().add(f" {line}", paint.text).strip(width) for line in wrap(NO_TRANSACTIONS, width - 2)]
        return out
    owners = {each.transactional_id: each for each in report.transactions}
    if report.held:
        rows = max(1, min(count, height // 3))
        top = max(0, min(selected - rows // 2, count - rows))
        table = [_held_row(each, paint) for each in report.held[top : top + rows]]
        out += paint_table(HELD_COLUMNS, table, paint, width, selected=selected - top, marks=True)
        chosen = report.held[selected]
        for sentence in explanation(chosen, owners.get(chosen.transactional_id)):
            command = sentence.startswith("To end it")
            out += [Row().add(f" {line}", paint.strong if command else paint.text).strip(width) for line in wrap(sentence, width - 2)]
    else:
        out.append(Row().add(" In every partition, the last stable offset equals the high watermark.", paint.text).strip(width))
    out.append(blank(width))
    running = sum(each.state == "Ongoing" for each in report.transactions)
    out.append(rule("Transactional IDs", f"{running} ongoing of {len(report.transactions)}", width, paint.title, paint.faint, paint.muted))
    room = max(1, height - len(out) - 1)
    shown = [_id_row(each, paint) for each in report.transactions[:room]]
    out += paint_table(ID_COLUMNS, shown, paint, width)
    return out[:height]


def _held_row(held: HeldPartition, paint: Palette) -> list[Cell]:
    style = paint.bad if held.hanging else paint.warn
    word = "HANGING" if held.hanging else "waits" if held.missing_coordinators else "open" if held.producer_id >= 0 else "marker"
    return [
        ("✖" if held.hanging else "◬", style), (str(held.tp), paint.partition), (f"{held.last_stable_offset:,}", style),
        (f"{held.high_watermark:,}", paint.committed), (f"{held.high_watermark - held.last_stable_offset:,}", style),
        (who_holds(held), paint.text), (f"{held.producer_id}" if held.producer_id >= 0 else "·", paint.number),
        (f"{held.producer_epoch}" if held.producer_id >= 0 else "·", paint.muted),
        (format_duration(held.idle_us // 100_000 * 100_000) if held.producer_id >= 0 else "·", paint.muted), (word, style),
    ]  # fmt: skip


def _id_row(each: TransactionView, paint: Palette) -> list[Cell]:
    style = paint.warn if each.waits_for_markers else paint.good if each.state == "Ongoing" else paint.muted
    state = f"{each.state} → {each.pending}" if each.pending else each.state
    missing = " no marker: " if each.waits_for_markers else " "
    return [
        (each.transactional_id, paint.strong), (f"b{each.coordinator} epoch {each.coordinator_epoch}", paint.broker), (state, style),
        (f"{each.producer_id}", paint.number), (f"{each.producer_epoch}", paint.number),
        (format_duration(each.open_us // 100_000 * 100_000) if each.state == "Ongoing" else "·", paint.number),
        (format_duration(each.timeout_us), paint.muted), (missing.strip() + " " + " ".join(map(str, each.partitions)), paint.partition),
    ]  # fmt: skip


class TransactionsPage(Page):
    """The page with the transactions. The keys ↑ and ↓ select a partition whose last stable offset is held back."""

    name: ClassVar[str] = "transactions"
    calm: ClassVar[bool] = False

    _selected = 0
    _report = TransactionReport()

    def lines(self, width: int, height: int) -> list[Strip]:
        """Return the lines of the page."""
        self._report = self.screen.session.reports.transaction_report()
        self._selected = max(0, min(self._selected, len(self._report.held) - 1))
        return paint_transactions(self._report, self.paint, (width, height), self._selected)

    def move(self, key: str) -> bool:
        """On this page and in the overview, select another partition whose last stable offset is held back."""
        by = {"up": -1, "down": 1, "pageup": -8, "pagedown": 8, "home": -len(self._report.held)}.get(key)
        if by is None or not self._report.held:
            return False
        self._selected = max(0, min(len(self._report.held) - 1, self._selected + by))
        self.screen.selection.choose(partition=self._report.held[self._selected].tp)
        return True

    def enter(self) -> bool:
        """Ask whether to abort the selected transaction. The act has the effect of `kafka-transactions abort`."""
        if not self._report.held:
            return False
        held = self._report.held[self._selected]
        refused = None if held.hanging else "the coordinator will end this transaction; abort a transaction only if it is hanging"
        abort = Option("a", "abort it", (AbortHanging(held.tp, held.first_offset),), held.abort_command, refused)
        about = " ".join(explanation(held, None)[:1])
        self.screen.put(Question(f"The transaction of {who_holds(held)} on {held.tp}", about, (abort,)))
        return True
