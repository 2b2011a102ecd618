"""All Kafka settings that the laboratory supports, with the value, origin, and default of each setting, and the effect of changing it."""

from __future__ import annotations

from typing import ClassVar, Final

import attrs
from textual.strip import Strip

from core.kafka.release import Release
from core.kafka.settings.registry import SETTINGS
from core.kafka.settings.setting import MAX_INT, MAX_LONG, Setting, Value
from core.kafka.settings.settings import Settings, render_value
from core.lab import acts
from core.lab.views.cluster_view import ClusterView
from core.lab.views.partition_view import PartitionView
from core.lab.views.setting_preview import min_isr_change, unclean_change
from tui.actions.context import Option, Question
from tui.actions.refusals import READ_ONLY
from tui.pages.page import FilteredPage, has_words, no_match
from tui.pages.partition import size_word
from tui.rendering.palette import Palette
from tui.rendering.rows import Row, blank, rule, wrap
from tui.rendering.tables import Cell, Column, paint_table

NARROW: Final = 100
"""The width, in columns, below which the default of a setting is shown only if the value was changed."""


@attrs.frozen
class SettingsScope:
    """The topic, broker, and release whose values are shown."""

    topic: str | None
    broker: int | None
    release: Release

    def value_of(self, setting: Setting, settings: Settings) -> Value:
        """Return the value of a setting for this topic and broker."""
        broker, topic = self.asked(setting)
        return settings.get(setting.name, broker=broker, topic=topic)

    def asked(self, setting: Setting) -> tuple[int | None, str | None]:
        """Return the broker and the topic for which to look up a setting.

        The broker or the topic is None if it is not part of the setting's scope.
        """
        return None if setting.scope == "controller" else self.broker, self.topic if setting.scope == "topic" else None


@attrs.frozen
class KnownSetting:
    """A setting with its value, default, and origin."""

    setting: Setting
    value: str
    default: str
    origin: str
    exists: bool
    words: str = ""
    """The value in a larger unit, if that is easier to read than milliseconds or bytes; otherwise empty."""

    @property
    def changed(self) -> bool:
        """Whether the value was set explicitly."""
        return self.origin != "default"


def gather(settings: Settings, place: SettingsScope, wanted: str = "") -> list[KnownSetting]:
    """Return the settings whose name or meaning contains the words.

    Changed settings come first, followed by dynamic settings. Settings that the release does not have come last. Apart from that, settings
    are sorted by name.
    """
    found = []
    for setting in SETTINGS.values():
        if not has_words(f"{setting.name} {setting.meaning}", wanted):
            continue
        broker, topic = place.asked(setting)
        value = place.value_of(setting, settings)
        found.append(
            KnownSetting(
                setting,
                said(value),
                said(setting.default_in(place.release)),
                settings.origin(setting.name, broker=broker, topic=topic),
                setting.exists_in(place.release),
                in_words(setting.name, value),
            )
        )
    return sorted(found, key=lambda known: (not known.exists, not known.changed, not known.setting.dynamic, known.setting.name))


def said(value: Value) -> str:
    """Format a value in readable form. The largest numbers that Kafka can store appear by name, and an empty list appears as `none`."""
    if value == "":
        return "none"
    if not isinstance(value, bool):
        if value == MAX_LONG:
            return "Long.MAX_VALUE"
        if value == MAX_INT:
            return "Integer.MAX_VALUE"
    return render_value(value)


def in_words(name: str, value: Value) -> str:
    """Format milliseconds or bytes with a larger unit, for example `7 days` or `1 GiB`.

    Return an empty string if the value is just as easy to read without a larger unit.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1_000 or value in (MAX_INT, MAX_LONG):
        return ""
    if name.endswith(".ms"):
        for unit, word in ((86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute")):
            if value % unit == 0:
                return f"{value // unit:,} {word}{'s' if value > unit else ''}"
        return f"{value / 1_000:g} s"
    if name.endswith((".bytes", ".rate")):
        return ("about " if value % 1024 else "") + size_word(value) + ("/s" if name.endswith(".rate") else "")
    return ""


def changed_with(known: KnownSetting, place: SettingsScope, view: ClusterView, settings: Settings) -> list[PartitionView]:
    """Return the partitions that a change to a setting would affect.

    If the topic has its own value for the setting, the change affects only the partitions of this topic. Otherwise, the change affects the
    partitions of all topics that have no value of their own for the setting.
    """
    name = known.setting.name
    if known.origin == "topic":
        return [p for p in view.partitions if p.tp.topic == place.topic]
    return [p for p in view.partitions if settings.origin(name, topic=p.tp.topic) != "topic"]


def consequences(known: KnownSetting, place: SettingsScope, view: ClusterView, settings: Settings) -> list[str]:
    """Describe, with numbers, the effect that a setting has on this cluster now, or that a change to its value would have."""
    name = known.setting.name
    if name == "min.insync.replicas":
        found = []
        changed = changed_with(known, place, view, settings)
        for value in range(1, max((len(p.replicas) for p in changed if not p.offline), default=0) + 1):
            led, refused, last = min_isr_change(changed, value, capped=place.release.capped_min_isr)
            words = (
                f"with {value}, {refused} of {led} partitions would refuse acks=all writes now"
                if refused
                else f"with {value}, no partition would refuse acks=all writes now"
            )
            found.append(words + (f", but {last} would if one more replica left the ISR" if last and not refused else ""))
        return found
    if name == "unclean.leader.election.enable":
        if not place.release.applies_unclean_setting:
            return ["The controllers of this release ignore this setting; only kafka-leader-election can request an unclean election."]
        elected, lacks = unclean_change(changed_with(known, place, view, settings), view.up)
        if not elected:
            return [
                "No partition is waiting for a leader, so turning this setting on elects no leader now. Later, a replica outside an "
                "ISR can become leader, and records that it lacks are then lost."
            ]
        return [f"With the value true, {_offline(elected)} would get a leader; the live replicas lack up to {lacks:,} records."]
    if name == "replica.lag.time.max.ms":
        lag = settings.us(name) / 1_000_000
        return [f"A follower that stops leaves the ISR after {lag:g} to {lag * 1.5:g} s; leaders check every {lag / 2:g} s."]
    if name == "broker.session.timeout.ms":
        return [
            "A broker that fails without notice is fenced, and its partitions get new leaders, after up to "
            f"{settings.us(name) / 1_000_000:g} s."
        ]
    if name == "replica.fetch.wait.max.ms":
        return [
            "Followers of idle partitions fetch at this interval. A follower learns the high watermark from the response to its next "
            "fetch, so its own high watermark can be outdated by up to this interval."
        ]
    if name.endswith("throttled.rate"):
        return [
            "The limit applies only to replicas that are not in sync: those in the topic's throttled.replicas, or those that a "
            "reassignment moves."
        ]
    return []


def _offline(count: int) -> str:
    return "1 offline partition" if count == 1 else f"{count} offline partitions"


def takes_effect(setting: Setting) -> str:
    """Describe when a change to a setting takes effect."""
    if setting.dynamic:
        return "dynamic: a change takes effect when the metadata reaches a broker"
    return "read-only: Kafka reads it when a process starts; here you can force a change, as if every broker had been restarted with the new value"


def sentence_of(words: str) -> str:
    """Return the text with its first letter capitalized, the other letters unchanged, and a period added."""
    return words[:1].upper() + words[1:] + "."


def paint_settings(
    known: list[KnownSetting], place: SettingsScope, view: ClusterView, settings: Settings, paint: Palette, size: tuple[int, int], selected: int, wanted: str
) -> list[Strip]:  # fmt: skip
    """Paint the table, and below it the details of the selected setting."""
    width, height = size
    where = f"on b{place.broker}" + (f" for {place.topic}" if place.topic else "")
    note = (f"filter: {wanted} · " if wanted else "") + f"{len(known)} of {len(SETTINGS)} · / filters · ⏎ edits"
    out = [rule(f"Settings {where}", note, width, paint.title_focused, paint.faint, paint.muted)]
    if not known:
        return out + no_match("name or description of a setting", wanted, paint, width)
    chosen = known[selected]
    about = _about(chosen, place, view, settings, paint, width)[: max(5, height // 2)]
    rows = max(1, height - len(about) - 2)
    top = max(0, min(selected - rows // 2, len(known) - rows))
    columns = (
        Column("setting"), Column("value", right=True), Column("default", right=True, rank=1), Column("set by", rank=2),
        Column("update", rank=3), Column("scope", rank=4), Column("description", rest=True, least=24, rank=5),
    )  # fmt: skip
    narrow = width < NARROW
    table: list[list[Cell]] = []
    for each in known[top : top + rows]:
        live = each.exists
        table.append(
            [
                (each.setting.name, (paint.strong if each.changed else paint.text) if live else paint.key_off),
                (each.value, paint.you if each.changed else paint.number if live else paint.key_off),
                (each.default if each.changed or not narrow else "·", paint.muted),
                (each.origin if each.changed else "·", paint.you if each.changed else paint.faint),
                ("dynamic" if each.setting.dynamic else "read-only", paint.good if each.setting.dynamic else paint.muted),
                (each.setting.scope, paint.muted),
                (each.setting.meaning, paint.muted),
            ]
        )
    out += paint_table(columns, table, paint, width, selected=selected - top, gap=1 if narrow else 2, marks=True)
    while len(out) < height - len(about):
        out.append(blank(width))
    return [*out, *about][:height]


def _about(known: KnownSetting, place: SettingsScope, view: ClusterView, settings: Settings, paint: Palette, width: int) -> list[Strip]:
    setting = known.setting
    out = [rule(setting.name, "", width, paint.title, paint.faint, paint.muted)]
    lines = [(setting.meaning, paint.text)]
    if known.words:
        lines.append((f"{known.value} is {known.words}", paint.text))
    lines += [(each, paint.strong) for each in consequences(known, place, view, settings)]
    span = f" from {said(setting.least)} to {said(setting.most)}" if setting.type in ("int", "long") else ""
    older = "".join(f", {said(value)} up to {upto}" for upto, value in setting.older_defaults)
    scope = f"a {setting.scope}" + ("" if setting.scope_error(broker=False, topic=False) else " or the whole cluster")
    lines.append((f"{setting.type}{span}; default {said(setting.default)}{older}; can be set for {scope}", paint.muted))
    if setting.synonym:
        lines.append((f"if a topic has no value of its own, {setting.synonym} applies", paint.muted))
    lines.append((takes_effect(setting), paint.muted))
    if not known.exists:
        had = f"it was added in {setting.since}" if setting.since else f"{setting.until} is the last release that has it"
        lines.append((f"Kafka {place.release.name} does not have this setting; {had}", paint.warn))
    elif setting.since or setting.until:
        spans = (f"since {setting.since}" if setting.since else "", f"until {setting.until}" if setting.until else "")
        lines.append((" ".join(filter(None, spans)), paint.muted))
    for text, style in lines:
        for number, line in enumerate(wrap(text, width - 4)):
            out.append(Row().add(" · " if number == 0 else "   ", paint.faint).add(line, style).strip(width))
    return out


def edit_question(setting: Setting, value: str, place: SettingsScope) -> Question:
    """Return a question that asks for the scope of a new value. Each option of the question contains the act that sets the value for one
    scope."""
    force = not setting.dynamic
    options = []
    if setting.scope == "topic" and place.topic is not None:
        options.append(Option("t", f"topic {place.topic}", (acts.Set(setting.name, value, topic=place.topic, force=force),)))
    if not setting.scope_error(broker=False, topic=False):
        options.append(Option("c", "the whole cluster", (acts.Set(setting.name, value, force=force),)))
    if place.broker is not None and not setting.scope_error(broker=True, topic=False):
        options.append(Option("b", f"b{place.broker} only", (acts.Set(setting.name, value, broker=place.broker, force=force),)))
    about = (
        "Where does the change apply?"
        if setting.dynamic
        else "Kafka reads this setting when a process starts. isrlab forces the change, as if every broker had been restarted "
        "with the new value. Where does the change apply?"
    )
    return Question(f"{setting.name} = {value}", about, tuple(options))


class SettingsPage(FilteredPage):
    """The page with the settings. The keys ↑ and ↓ select a setting, Enter edits it, and / filters the list."""

    name: ClassVar[str] = "settings"
    what: ClassVar[str] = "settings"
    words: ClassVar[str] = "Enter part of a name or description, for example isr or disk"

    _selected = "min.insync.replicas"
    _known: list[KnownSetting] = []  # noqa: RUF012

    @property
    def place(self) -> SettingsScope:
        """The scope whose values are shown: the topic of the selected partition, and the selected broker."""
        screen = self.screen
        return SettingsScope(
            None if screen.selection.partition is None else screen.selection.partition.topic, screen.selection.broker, screen.loaded.release
        )

    def _at(self) -> int:
        return next((n for n, each in enumerate(self._known) if each.setting.name == self._selected), 0)

    def lines(self, width: int, height: int) -> list[Strip]:
        """Return the lines of the page."""
        settings = self.screen.session.settings()
        self._known = gather(settings, self.place, self.wanted)
        at = self._at()
        if self._known:
            self._selected = self._known[at].setting.name
        return paint_settings(self._known, self.place, self.screen.view, settings, self.paint, (width, height), at, self.wanted)

    def move(self, key: str) -> bool:
        """Select another setting."""
        by = {"up": -1, "down": 1, "pageup": -10, "pagedown": 10, "home": -len(SETTINGS)}.get(key)
        if by is None or not self._known:
            return False
        self._selected = self._known[max(0, min(len(self._known) - 1, self._at() + by))].setting.name
        return True

    def enter(self) -> bool:
        """Edit the selected setting. Ask for the new value and for its scope. The change is recorded as an act."""
        known = next((each for each in self._known if each.setting.name == self._selected), None)
        if known is None:
            return True
        setting = known.setting
        if self.screen.loaded.read_only:
            self.screen.prompts.say(READ_ONLY, refused=True)
            return True
        if not known.exists:
            self.screen.prompts.say(f"Kafka {self.place.release.name} does not have the setting {setting.name}", refused=True)
            return True
        now = self.place.value_of(setting, self.screen.session.settings())
        if setting.type == "boolean":
            self.screen.put(edit_question(setting, "false" if now else "true", self.place))
            return True

        def wrong(text: str) -> str | None:
            try:
                setting.parse(text)
            except ValueError as refusal:
                return str(refusal)
            return None

        about = f"{setting.meaning} {sentence_of(takes_effect(setting))}"
        self.screen.prompts.ask_text(
            setting.name, about, render_value(now), wrong, lambda text: self.screen.put(edit_question(setting, text, self.place))
        )
        return True
