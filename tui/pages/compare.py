"""Compares two runs side by side, and marks the differences.

The runs are this session and a run under another release, or two branches of this session.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar, Final

from rich.style import Style
from textual.strip import Strip

from core.kafka.broker.broker_state import BrokerState
from core.kafka.events import KINDS
from core.kafka.release import RELEASES
from core.lab.act_sentences import sentence
from core.lab.history.branch import Branch
from core.lab.history.parallel_run import FirstDifference, ParallelRun
from core.lab.history.playable import PlayableFactory
from core.lab.views.cluster_view import ClusterView
from core.lab.views.partition_view import PartitionView
from core.sim.events import kind_of, seq_of, time_of, values_of
from core.sim.units import format_clock
from tui.actions.context import Option, Question
from tui.analysis.partition_list import in_order
from tui.pages.page import Page
from tui.panels.cluster_totals import lost_words
from tui.panels.events import colored
from tui.rendering.palette import Palette
from tui.rendering.rows import Row, blank, clip, clip_name, rule, wrap
from tui.rendering.states import broker_state, partition_status
from tui.session.time_budget import within

BUDGET: Final = 0.010
"""The maximum time per frame that the page spends on the other run, in seconds."""


def facts(p: PartitionView) -> list[tuple[str, str]]:
    """Return the compared facts about a partition, as (name, text) pairs."""
    leader = next((replica for replica in p.replica_views if replica.broker == p.leader), None)
    return [
        ("leader", "none" if p.offline else f"b{p.leader}"),
        ("epoch", f"L{p.leader_epoch}"),
        ("ISR", "[" + ",".join(map(str, sorted(p.isr))) + "]"),
        ("HW", "HW -" if leader is None else f"HW {leader.hw:,}"),
        ("LEO", "LEO " + "/".join(f"{replica.leo:,}" for replica in sorted(p.replica_views, key=lambda replica: replica.broker))),
        ("lost", f"lost {lost_words(p)}" if p.lost else ""),
        ("diverged", f"≠ {p.diverged:,}" if p.diverged else ""),
    ]


def totals(view: ClusterView) -> list[tuple[str, str]]:
    """Return the compared totals of the cluster, as (name, text) pairs."""
    return [
        ("acked", f"{view.acked:,}"), ("lost", lost_words(view)), ("exposed", f"{view.exposed:,}"), ("duplicated", f"{view.duplicated:,}"),
        ("diverged", f"{view.diverged:,}"), ("unclean elections", f"{view.unclean_elections}"), ("ISR shrinks", f"{view.isr_shrinks}"),
        ("ISR expands", f"{view.isr_expands}"),
    ]  # fmt: skip


def _half(parts: Sequence[tuple[str, str]], other: Sequence[tuple[str, str]], paint: Palette, width: int, plain: Style) -> Row:
    """Return the half of a line that shows one of the two runs. Facts that differ from the other side are highlighted."""
    told = dict(other)
    row = Row()
    for name, words in parts:
        if not words:
            continue
        differs = told.get(name) != words
        style = paint.bad if differs and name in ("lost", "diverged") else paint.warn if differs else plain
        text = (" " if row.width else "") + words
        row.add(clip(text, max(0, width - row.width)), style)
    return row


def hidden_difference(parted: FirstDifference | None) -> list[str]:
    """If the displayed lines of two different events are the same, return a line with the fields in which the events differ.

    For example, two events can look the same although their times differ by a microsecond.
    """
    if parted is None or parted.here is None or parted.there is None:
        return []
    one, two = parted.here, parted.there
    if kind_of(one) != kind_of(two) or format_clock(time_of(one)) != format_clock(time_of(two)) or sentence(one) != sentence(two):
        return []
    names = ("time, µs", *(name.replace("_us", ", µs").replace("_", "-") for name in KINDS[kind_of(one)].columns))
    values = zip(names, (time_of(one), *values_of(one)), (time_of(two), *values_of(two)), strict=True)
    return ["The events differ in " + "; ".join(f"{name}: {here} and {there}" for name, here, there in values if here != there) + "."]


def paint_compare(
    here: ClusterView, there: ClusterView, names: tuple[str, str], parted: FirstDifference | None, notes: Sequence[str], paint: Palette, size: tuple[int, int], top: int
) -> tuple[list[Strip], int]:  # fmt: skip
    """Paint both runs with a line for each partition. Partitions that differ come first.

    Return the lines, and the number of partitions that differ.

    Args:
        here, there: the state of this run, and the state of the other run.
        names: the names of the two runs.
        parted: the first event that differs between the runs.
        notes: further messages to show at the bottom.
        paint, size: the palette, and the width and height of the page in cells.
        top: the index of the first partition to show.
    """
    width, height = size
    label = min(22, max([9, *(len(str(p.tp)) for p in here.partitions)]) + 6)
    half = (width - label - 3) // 2
    theirs = {p.tp: p for p in there.partitions}
    pairs = [(p, theirs.get(p.tp)) for p in in_order(here, True)]
    different = [pair for pair in pairs if pair[1] is None or facts(pair[0]) != facts(pair[1])]
    same = [pair for pair in pairs if pair not in different]
    note = f"{len(different)} of {len(pairs)} partitions differ" if different else "no partitions differ now"
    out = [rule("Side by side", note, width, paint.title_focused, paint.faint, paint.warn if different else paint.good)]
    head = Row().add(" " * label, paint.muted).add(clip(names[0], half), paint.strong).pad(label + half + 1).add("│ ", paint.faint)
    out.append(head.add(clip(names[1], half), paint.strong).strip(width))
    out.append(_line(" brokers", _brokers(here, paint), _brokers(there, paint), label, half, paint, width, _states(here) != _states(there)))
    for (name, one), (_, two) in zip(totals(here), totals(there), strict=True):
        if one != two or name in ("acked", "lost"):
            left, right = Row().add(one, paint.number), Row().add(two, paint.number)
            if one != two:
                style = paint.bad if name in ("lost", "diverged", "exposed") else paint.warn
                left, right = Row().add(one, style), Row().add(two, style)
            out.append(_line(f" {name}", left, right, label, half, paint, width, one != two))
    below: list[Strip] = [rule("First difference", "", width, paint.title, paint.faint, paint.muted)]
    if parted is None:
        words = " All events so far are the same, although the states differ." if different else " All events so far are the same."
        below.append(Row().add(words, paint.good).strip(width))
    for name, event in () if parted is None else ((names[0], parted.here), (names[1], parted.there)):
        words = "no further event yet" if event is None else f"{format_clock(time_of(event))} #{seq_of(event)} {sentence(event)}"
        for number, line in enumerate(wrap(words, max(10, width - 18))):
            row = Row().add(f" {clip(name, 14):<15} " if number == 0 else " " * 17, paint.strong)
            below.append(row.join(colored(line, paint, paint.muted if event is None else paint.text)).strip(width))
    for words in (*hidden_difference(parted), *notes):
        for line in wrap(words, width - 2):
            below.append(Row().add(f" {line}", paint.muted).strip(width))
    below = below[: max(3, height // 2)]
    rows = max(0, height - len(out) - len(below))
    shown = [*different, *same][top : top + rows]
    for p, other in shown:
        mine, other_facts = facts(p), [] if other is None else facts(other)
        plain = paint.text if p in [pair[0] for pair in different] else paint.muted
        glyph, _, style = partition_status(p, paint)
        row = Row().add(f" {glyph} ", style).add(clip_name(str(p.tp), label - 6), paint.partition).pad(label - 2)
        row.add("≠ " if other is None or mine != other_facts else "  ", paint.warn)
        left = _half(mine, other_facts, paint, half, plain)
        right = _half(other_facts, mine, paint, half, plain) if other is not None else Row().add("missing", paint.bad)
        _join(row, left, right, label, half, paint)
        out.append(row.strip(width))
    while len(out) < height - len(below):
        out.append(blank(width))
    return [*out, *below][:height], len(different)


def _line(name: str, left: Row, right: Row, label: int, half: int, paint: Palette, width: int, differs: bool) -> Strip:
    row = Row().add(clip(name, label - 2), paint.muted).pad(label - 2).add("≠ " if differs else "  ", paint.warn)
    _join(row, left, right, label, half, paint)
    return row.strip(width)


def _join(row: Row, left: Row, right: Row, label: int, half: int, paint: Palette) -> None:
    for segment in left.strip(min(left.width, half)):
        row.add(segment.text, segment.style or paint.text)
    row.pad(label + half + 1).add("│ ", paint.faint)
    for segment in right.strip(min(right.width, half)):
        row.add(segment.text, segment.style or paint.text)


def _states(view: ClusterView) -> list[tuple[int, BrokerState, bool]]:
    return [(b.id, b.state, b.fenced) for b in view.brokers]


def _brokers(view: ClusterView, paint: Palette) -> Row:
    row = Row()
    for broker in view.brokers:
        glyph, _, style = broker_state(broker, paint)
        row.add(f"b{broker.id}", paint.broker).add(f"{glyph} ", style)
    return row


class ComparePage(Page):
    """The page that compares two runs. The key Enter chooses the other run, and ↑ and ↓ scroll."""

    name: ClassVar[str] = "compare"
    wide: ClassVar[bool] = True
    calm: ClassVar[bool] = False

    second: ParallelRun | None = None
    _arrived = False

    def lines(self, width: int, height: int) -> list[Strip]:
        """Advance the other run toward this moment for at most the time budget of a frame, and return the lines to show."""
        screen, paint = self.screen, self.paint
        session = screen.session
        if self.second is None:
            words = (
                "Compare this session with another run that advances with it: the same cluster, script, and acts under another "
                "Kafka release, or another branch of this session. The screen marks differences and shows the first event that "
                "differs. To choose a run, press ⏎."
            )
            return [
                rule("Side by side", "", width, paint.title_focused, paint.faint, paint.muted),
                *(Row().add(f" {line}", paint.text).strip(width) for line in wrap(words, width - 2)),
            ]
        second = self.second
        run = session.run_so_far()
        self._arrived = second.advance_to(screen.view.now, run.steps, run.acts, within(BUDGET))
        notes = [
            f"{played.act.word} at {format_clock(played.time)} was refused in {second.words}: {reason}"
            for played, reason in second.refused[-3:]
        ]
        if not self._arrived:
            notes.insert(0, f"{second.words} is catching up: it is at {format_clock(second.now)} of {format_clock(screen.view.now)}.")
        names = (self._here(), second.words)
        now = screen.view.now
        ended = second.ended_before(now)
        if ended is not None:
            notes.insert(0, f"{second.words} ends at {format_clock(ended)}.")
        settled = self._arrived and not run.moving and ended is None and (run.stepwise or run.next_due is None or run.next_due > now)
        parted = second.compare(session.history.event_buffer, settled=settled)
        size = (width, height)
        painted, _ = paint_compare(screen.view, second.view(), names, parted, notes, paint, size, self.top)
        if not self._arrived:
            screen.call_after_refresh(screen.show_now)
        return painted

    def _here(self) -> str:
        session = self.screen.session
        return f"Kafka {self.screen.view.release}" + (f", {session.history.branch.name}" if len(session.history.branches) > 1 else "")

    def move(self, key: str) -> bool:
        """Scroll through the partitions."""
        by = {"up": -1, "down": 1, "pageup": -10, "pagedown": 10, "home": -100_000}.get(key)
        if by is None:
            return False
        self.top = max(0, min(self.top + by, len(self.screen.view.partitions) - 1))
        return True

    def enter(self) -> bool:
        """Ask for the run to compare with."""
        screen = self.screen
        session, loaded = screen.session, screen.loaded
        makers: list[tuple[str, str, Callable[[], ParallelRun]]] = []
        for branch in session.history.branches:
            if branch is not session.history.branch:
                makers.append((branch.name, f"ends at {format_clock(branch.end.time)}", partial(_branch_of, session.history.start, branch)))
        for name in reversed(RELEASES):
            if name != loaded.release.name:
                makers.append(
                    (
                        f"Kafka {name}",
                        "the same script under this release",
                        partial(ParallelRun, f"Kafka {name}", loaded.under(RELEASES[name])),
                    )
                )
        options = tuple(
            Option(str(number) if number < 10 else "", words, (), note) for number, (words, note, _) in enumerate(makers, start=1)
        )
        question = Question("Compare with", "Choose a run. From now on, the chosen run advances with this session.", options)

        def chosen(option: Option | None) -> None:
            if option is not None:
                self.top = 0
                self.second = makers[options.index(option)][2]()
                screen.show_now()

        screen.prompts.ask(question, chosen)
        return True


def _branch_of(start: PlayableFactory, branch: Branch) -> ParallelRun:
    return ParallelRun(branch.name, start, acts=branch.acts, end=branch.end.time)
