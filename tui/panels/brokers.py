"""The panel with the brokers and the controller. If there is room, each broker is shown as a card. If there is not enough room, each broker
is shown as a one-line chip.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs
from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip

from core.kafka.broker.broker_state import BrokerState
from core.kafka.ids import CONTROLLER, broker_address
from core.lab.views.broker_view import BUSY, BrokerView
from core.lab.views.cluster_view import ClusterView
from core.sim.units import format_duration
from tui.analysis.faults import faults_at
from tui.analysis.word_filter import matcher
from tui.panels.lines import RIGHT, Lines
from tui.rendering.palette import Palette
from tui.rendering.rows import Row, blank, clip, rule
from tui.rendering.states import DOWN, OUT, broker_state, broker_words, registration, short_state

CARD: Final = 25
"""The minimum width of a card in columns, including the gap."""
_LATE: Final = 3_000_000
"""The time without a heartbeat, in µs, after which a broker's card shows how long the broker has been silent."""

WIDEST_CARD: Final = 36
"""The maximum width of a card in columns."""
MOST_NAMED: Final = 12
"""For each state other than up, the maximum number of brokers that the headline names."""
CHIP: Final = 19
"""The minimum width of a chip in columns."""


def card_width(brokers: int, width: int) -> int:
    """Return the width of a card in columns, or 0 if the cards of all brokers and of the controller do not fit side by side."""
    each = width // (brokers + 1)
    return min(WIDEST_CARD, each) if each >= CARD else 0


def height_for(brokers: int, width: int, cards: bool, most: int = 4) -> int:
    """Return the number of lines that the panel needs, including its headline. Chips take at most `most` lines."""
    if cards and card_width(brokers, width):
        return 4
    per_line = max(1, width // CHIP)
    return 1 + min(most, -(-(brokers + 1) // per_line))


def links_of(view: ClusterView, node: str) -> list[str]:
    """Describe the faults in a node's links, disk, and log directories, for example `cut ↔ b2`, `held → b3`, or `slow ← b1 200ms`."""
    return [fault.at_the_node for fault in faults_at(view, node)]


def controller_words(view: ClusterView, paint: Palette) -> tuple[str, str, str, Style]:
    """Return the name of the active controller, its glyph, its state, and the style of the state."""
    if not view.voters:
        if view.controller == CONTROLLER:
            return view.controller, "●", "active", paint.good
        return (f"controller {view.controller}", "●", "active", paint.good) if view.controller else (CONTROLLER, "✕", "none", paint.bad)
    if not view.controller:
        return "controller", "✕", "electing" if view.majority else "no majority", paint.bad
    if not view.majority:
        return view.controller, "●", "no majority", paint.bad
    return view.controller, "●", f"active, epoch {view.controller_epoch}", paint.good


def voter_words(view: ClusterView) -> list[str]:
    """Return each voter with its mark: `★` means that it considers itself active, `●` that it follows, `○` that it is looking for a leader,
    and `✕` that it has no process.
    """
    marks = {"stopped": "✕", "follower": "●", "leader": "●"}
    return [f"{voter.name}{'★' if voter.active else marks.get(voter.role, '○')}" for voter in view.voters]


def matching_brokers(view: ClusterView, words: str, paint: Palette) -> ClusterView:
    """Return a view that contains only the brokers that match the given words, or all brokers if none of them matches."""
    matches = matcher(words)
    found = tuple(broker for broker in view.brokers if matches(broker_words(broker, paint)))
    return attrs.evolve(view, brokers=found) if found else view


def listed(view: ClusterView, width: int, height: int, cards: bool) -> list[BrokerView]:
    """Return the brokers in the order of the panel: by id.

    If there is not enough room for all brokers, brokers that are not up come first.
    """
    count = len(view.brokers)
    if (cards and height >= 4 and card_width(count, width)) or count <= max(1, width // CHIP) * (height - 1):
        return list(view.brokers)
    return sorted(view.brokers, key=lambda broker: broker.up)


def brokers_not_up(view: ClusterView, room: int, *, least: int = 0) -> str:
    """Return the brokers that are not up, grouped by state, for example `✕ b2 b55 stopped · ‖ b7 paused`.

    The result names as many brokers as fit into `room` cells, but at least `least` brokers for each state, even if they do not fit.
    """
    groups: dict[tuple[str, str], list[str]] = {}
    for broker in view.brokers:
        if not broker.up:
            glyph = DOWN if broker.state is BrokerState.STOPPED else "‖" if broker.state is BrokerState.PAUSED else OUT
            groups.setdefault((glyph, short_state(broker)), []).append(f"b{broker.id}")
    for most in range(MOST_NAMED, least - 1, -1):
        said = [
            f"{glyph} {' '.join(names[:most])}{f' +{len(names) - most}' if 0 < most < len(names) else '' if most else len(names)} {word}"
            for (glyph, word), names in groups.items()
        ]
        words = " · ".join(said)
        if len(words) <= room:
            break
    return words if groups else ""


def paint_brokers(
    view: ClusterView,
    paint: Palette,
    size: tuple[int, int],
    *,
    selected: int | None,
    focused: bool,
    cards: bool,
    note: str = "",
    heartbeats: bool = True,
    of: int = 0,
) -> list[Strip]:
    """Paint the panel. If the view contains only some of the brokers, `of` is the total number of brokers."""
    width, height = size
    up = len(view.up)
    title = f"Brokers {up} of {len(view.brokers)} up"
    if len(view.brokers) < of:
        title = f"Brokers {len(view.brokers)} of {of}, {up} up"
    each = card_width(len(view.brokers), width) if cards and height >= 4 else 0
    order = listed(view, width, height, cards)
    shown, notes = "", [note]
    if not each:
        _, first, end = _chips_shown([b.id for b in order], width, height - 1, selected)
        if first or end < len(order):
            shown = f", {first + 1}–{min(end, len(order))} shown"
        if end <= len(order):  # there is no room for the controller's chip
            name, glyph, word, _ = controller_words(view, paint)
            notes = [f"{name} {glyph} {word} · {note}", *(notes if view.controller and view.majority else [])]
    note = notes[0]
    if up < len(view.brokers):
        for least, note, where in ((least, note, where) for least in (1, 0) for note in notes for where in (shown, "")):
            room = width - len(title) - len(where) - len(note) - 9
            down = brokers_not_up(view, room, least=least)
            if len(down) <= room:
                shown = f" · {down}{where}"
                break
    lines = [rule(title + shown, note, width, paint.title_focused if focused else paint.title, paint.faint, paint.muted)]
    if each:
        lines += _cards(view, paint, width, each, selected, focused, heartbeats)
    else:
        lines += _chips(view, order, paint, width, height - 1, selected, focused)
    while len(lines) < height:
        lines.append(blank(width))
    return lines[:height]


def busy_word(broker: BrokerView) -> str:
    """Return the direction in which a broker's network interface is busy, and how busy, for example `out 100%`; empty if it is not."""
    use = broker.network
    if use is None or max(use.out_percent, use.in_percent) < BUSY:
        return ""
    return f"out {use.out_percent}%" if use.out_percent >= use.in_percent else f"in {use.in_percent}%"


def _cards(view: ClusterView, paint: Palette, width: int, each: int, selected: int | None, focused: bool, heartbeats: bool) -> list[Strip]:
    rows = [Row(), Row(), Row()]
    newest = max((b.metadata_offset for b in view.brokers), default=0)
    for broker in view.brokers:
        glyph, word, style = broker_state(broker, paint)
        chosen = broker.id == selected
        under = (paint.cursor if focused else paint.row) if chosen else None
        behind = newest - broker.metadata_offset
        stale = behind > 0 and broker.state is not BrokerState.STOPPED
        silent = heartbeats and broker.silent_us > _LATE and not (broker.state is BrokerState.STOPPED and broker.fenced)
        faults = links_of(view, broker_address(broker.id))
        third: list[tuple[str, Style]]
        if faults:
            third = [(_that_fit(faults, each - 3), paint.warn)]
        elif silent:
            third = [(f"silent for {format_duration(broker.silent_us // 100_000 * 100_000)}", paint.warn)]
        elif busy := busy_word(broker):
            third = [(f"network {busy}", paint.warn)]
        elif stale:
            third = [(f"metadata {behind} behind", paint.warn)]
        else:
            third = [(registration(broker), paint.muted)]
        texts: list[list[tuple[str, Style]]] = [
            [(f"b{broker.id} ", paint.strong if chosen else paint.broker), (f"{glyph} ", style), (word, style)],
            [("leads ", paint.muted), (str(broker.leaders), paint.number), (f" of {broker.replicas} replicas", paint.muted)],
            third,
        ]
        for row, parts in zip(rows, texts, strict=True):
            card = Row().add("▌" if not chosen else "█", style).add("►" if chosen and row is rows[0] else " ", paint.key)
            for text, part_style in parts:
                card.add(clip(text, each - 2 - card.width), part_style)
            for segment in card.strip(each - 1, under):
                row.add(segment.text, segment.style or paint.text)
            row.add(" ", paint.text)
    cut = links_of(view, view.controller)
    name, glyph, word, style = controller_words(view, paint)
    does = " ".join(voter_words(view)) if view.voters else "elects leaders, stores ISRs"
    texts = [
        [(name + " ", paint.broker), (glyph + " ", style), (word, style)],
        [(_that_fit(cut, each - 3), paint.warn) if cut else (does, paint.muted)],
        [_links_in_all(view, paint)],
    ]
    for row, parts in zip(rows, texts, strict=True):
        row.add("▌ ", paint.faint)
        for text, part_style in parts:
            row.add(clip(text, max(0, width - row.width)), part_style)
    return [row.strip(width) for row in rows]


def _that_fit(faults: Sequence[str], room: int) -> str:
    """Return as many of a node's faults as fit, and the number of faults that do not fit."""
    for shown in range(len(faults), 0, -1):
        words = ", ".join(faults[:shown]) + (f" +{len(faults) - shown}" if shown < len(faults) else "")
        if len(words) <= room:
            return words
    return faults[0]


def _in_a_word(faults: Sequence[str]) -> str:
    """Return a node's faults in the shortest form, for example `cut` or `cut+2`."""
    return "" if not faults else faults[0] + (f"+{len(faults) - 1}" if len(faults) > 1 else "")


def _links_in_all(view: ClusterView, paint: Palette) -> tuple[str, Style]:
    """Return text that counts the directed links that are cut, held, and slow or lossy, with the style of the text."""
    counts = ((len(view.cut_links), "cut"), (len(view.held_links), "held"), (len(view.changed_links), "slow/lossy"))
    words = ", ".join(f"{count} {word}" for count, word in counts if count)
    if words:
        return f"links: {words}", paint.warn
    return (f"every link loses {view.loss_ppm / 10_000:g}%", paint.warn) if view.loss_ppm else ("all links work", paint.muted)


def _chip(broker: BrokerView, paint: Palette, chosen: bool, each: int, fault: str) -> Row:
    glyph, _, style = broker_state(broker, paint)
    row = Row().add("►" if chosen else " ", paint.key).add(glyph + " ", style)
    row.add(f"b{broker.id}", paint.strong if chosen else paint.broker)
    row.add(f" {short_state(broker)}", style)
    counts = f" {broker.leaders}/{broker.replicas}"
    if not fault or row.width + len(counts) + len(fault) + 2 <= each:
        row.add(counts, paint.muted)
    if fault:
        row.add(" ", paint.text).add(clip(fault, max(1, each - row.width - 1)), paint.warn)
    return row


def _chips_shown(brokers: Sequence[int], width: int, height: int, selected: int | None) -> tuple[int, int, int]:
    """Return the number of broker chips in a line, the index of the first visible chip, and the index after the last visible chip.

    The controller's chip follows the last broker's chip.
    """
    count = len(brokers)
    per_line = max(1, min(width // CHIP, count + 1))
    room = per_line * height
    at = brokers.index(selected) if selected in brokers else 0
    first = max(0, at // per_line - height + 1) * per_line if count > room else 0
    return per_line, first, min(first + room, count + 1)


def _chips(
    view: ClusterView, order: Sequence[BrokerView], paint: Palette, width: int, height: int, selected: int | None, focused: bool
) -> list[Strip]:
    per_line, first, end = _chips_shown([b.id for b in order], width, height, selected)
    each = width // per_line
    lines = []
    faulty = {}
    if view.cut_links or view.held_links or view.changed_links or any(b.disk_delay_us or b.failed_dirs for b in view.brokers):
        faulty = {b.id: _in_a_word([fault.word for fault in faults_at(view, broker_address(b.id))]) for b in order[first:end]}
    faulty |= {b.id: busy for b in order[first:end] if not faulty.get(b.id) and (busy := busy_word(b))}
    cells: list[tuple[Row, bool]] = [
        (_chip(b, paint, b.id == selected, each, faulty.get(b.id, "")), b.id == selected) for b in order[first:end]
    ]
    if end > len(view.brokers):
        cut = len(view.cut_links)
        name, glyph, word, style = controller_words(view, paint)
        chip = Row().add(f" {glyph} ", style).add(name, paint.broker)
        if not view.controller:
            chip.add(" " + word, style)
        cells.append((chip.add(f" {cut} cut" if cut else "", paint.warn), False))
    for start in range(0, len(cells), per_line):
        row = Row()
        for cell, chosen in cells[start : start + per_line]:
            for segment in cell.strip(each, (paint.cursor if focused else paint.row) if chosen else None):
                row.add(segment.text, segment.style or paint.text)
        lines.append(row.strip(width))
    return lines


def _shown(view: ClusterView) -> tuple[object, ...]:
    """Return all values that the panel takes from a view of the cluster. The time since the last heartbeat is included only when the
    heartbeat is late."""
    return (
        [
            (b.id, b.state, b.fenced, b.leaders, b.replicas, b.metadata_offset, b.broker_epoch, b.silent_us // 100_000 if b.silent_us > _LATE else 0,
             b.disk_delay_us, b.failed_dirs, busy_word(b))
            for b in view.brokers
        ],
        view.cut_links, view.held_links, view.changed_links, view.loss_ppm, view.controller, view.controller_epoch, view.majority, view.voters,
    )  # fmt: skip


class Brokers(Lines, can_focus=True):
    """The widget that shows the brokers panel. A click selects a broker. A right click also opens a menu of actions."""

    class Picked(Message):
        """The message that is sent when the user clicks a broker. `menu` is True for the right button."""

        def __init__(self, broker: int, menu: bool = False) -> None:
            super().__init__()
            self.broker = broker
            self.menu = menu

    def __init__(self, paint: Palette, *, id: str) -> None:
        super().__init__(paint, id=id)
        self.cards = True
        self._ids: list[int] = []
        self._selected: int | None = None
        self._painted: object = None

    def update(self, view: ClusterView, *, selected: int | None, note: str = "", heartbeats: bool = True, words: str = "") -> None:
        """Show a new view of the cluster."""
        of = len(view.brokers)
        if words:
            view = matching_brokers(view, words, self.paint)
        size, focused = (self.box.width, self.box.height), self.has_focus
        self._ids, self._selected = [broker.id for broker in listed(view, *size, self.cards)], selected
        painted = (size, id(self.paint), selected, focused, self.cards, note, heartbeats, of, _shown(view))
        if painted == self._painted:
            return
        self._painted = painted
        self.show(
            paint_brokers(
                view, self.paint, size, selected=selected, focused=focused, cards=self.cards, note=note, heartbeats=heartbeats, of=of
            )
        )

    @property
    def order(self) -> Sequence[int]:
        """The ids of the brokers in the order of the panel."""
        return self._ids

    def on_click(self, event: events.Click) -> None:
        """Select the broker under the mouse."""
        if event.y < 1:
            return
        width = self.box.width
        each = card_width(len(self._ids), width) if self.cards and self.box.height >= 4 else 0
        if each:
            place = event.x // each
        else:
            per_line, first, _ = _chips_shown(self._ids, width, self.box.height - 1, self._selected)
            place = first + (event.y - 1) * per_line + event.x // max(1, width // per_line)
        if 0 <= place < len(self._ids):
            self.post_message(self.Picked(self._ids[place], event.button == RIGHT))
