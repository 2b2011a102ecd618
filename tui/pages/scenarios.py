"""The library of scenarios, grouped by subject, with the title, the description, and the releases of each scenario.

Enter starts a scenario under a chosen release.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

import attrs
from textual.strip import Strip

from core.kafka.events.base import count_of
from core.kafka.release import CURRENT, RELEASES
from scenarios import catalogue
from scenarios.finding.entries import scenario_entry
from scenarios.finding.index import Entry, Index
from scenarios.language.script import Scenario, releases_of
from scenarios.language.subjects import MAX_TITLE
from scenarios.releases import release_named
from tui.actions.context import Option, Question
from tui.pages.page import FilteredPage, no_match
from tui.panels.events import colored
from tui.rendering.palette import Palette
from tui.rendering.rows import Row, blank, rule, wrap
from tui.rendering.tables import Cell, Column, paint_table
from tui.session.play_target import PlayTarget

FREE: Final = "three brokers under load"
"""The name of the playground without a script."""


@attrs.frozen
class ScenarioEntry:
    """An entry of the library. If `scenario` is None, the entry is the playground without a script.

    Attributes:
        name, title, tags, about: the same as in a script.
        entry: the entry of the index that finds it.
        scenario: the loaded script, or None.
    """

    entry: Entry
    scenario: Scenario | None = None

    @property
    def name(self) -> str:
        """The scenario's name."""
        return self.entry.name

    @property
    def title(self) -> str:
        """The scenario's title."""
        return self.entry.title

    @property
    def tags(self) -> tuple[str, ...]:
        """The scenario's subjects, the main one first."""
        return self.entry.tags

    @property
    def about(self) -> str:
        """The scenario's description."""
        return self.entry.text

    @property
    def id(self) -> str:
        """The scenario's ID in the catalog, such as `E1`; empty if it has no ID."""
        first = self.name.partition("-")[0]
        return first.upper() if first[1:].isdecimal() else ""


def library() -> list[ScenarioEntry]:
    """Return the playground and all scenarios for Kafka, grouped by subject."""
    title = "Three brokers, nine partitions, two producers, and a consumer"
    about = "A running cluster without a script. Kill brokers, cut links, and change settings; every event names its cause."
    headers = [header for header in catalogue.headers() if header.for_kafka]
    return [
        ScenarioEntry(Entry("scenario", FREE, title, (), about)),
        *(
            ScenarioEntry(scenario_entry(header), catalogue.load(header.name))
            for _, group in catalogue.by_subject(headers)
            for header in group
        ),
    ]


def matching(entries: Sequence[ScenarioEntry], wanted: str) -> list[ScenarioEntry]:
    """Return the entries that fit the words, best first, as `isrlab find` does; all in their order if there are no words."""
    if not wanted.split():
        return list(entries)
    by_name = {entry.name: entry for entry in entries}
    index = Index(by_name[name].entry for name in sorted(by_name))
    return [by_name[found.name] for found in index.find(wanted, len(entries))]


def paint_scenarios(
    entries: Sequence[ScenarioEntry], paint: Palette, size: tuple[int, int], selected: int, wanted: str, playing: str, total: int
) -> list[Strip]:
    """Paint the list, and below it the description of the selected scenario."""
    width, height = size
    found = f"{len(entries)} of {total}"
    note = f"filter: {wanted} · {found}, best first · ⏎ starts" if wanted else f"{found} · / filters · ⏎ starts"
    out = [rule("Scenarios", note, width, paint.title_focused, paint.faint, paint.muted)]
    if not entries:
        return out + no_match("scenario", wanted, paint, width)
    chosen = entries[selected]
    about = _about(chosen, paint, width)[: max(5, height // 2)]
    rows = max(1, height - len(about) - 2)
    top = max(0, min(selected - rows // 2, len(entries) - rows))
    columns = (Column("id"), Column("title", rest=True, least=MAX_TITLE), Column("scenario", rank=1), Column("subject", rank=2))
    table: list[list[Cell]] = []
    for entry in entries[top : top + rows]:
        table.append(
            [
                (entry.id, paint.key),
                [("● playing  " if entry.name == playing else "", paint.good), (entry.title, paint.text)],
                (entry.name, paint.partition),
                ("".join(entry.tags[:1]), paint.muted),
            ]
        )
    out += paint_table(columns, table, paint, width, selected=selected - top, marks=True)
    while len(out) < height - len(about):
        out.append(blank(width))
    return [*out, *about][:height]


def _about(entry: ScenarioEntry, paint: Palette, width: int) -> list[Strip]:
    scenario = entry.scenario
    out = [rule(entry.name, ", ".join(entry.tags), width, paint.title, paint.faint, paint.muted)]
    for line in wrap(entry.about, width - 2):
        out.append(Row().add(" ", paint.text).join(colored(line, paint, paint.text)).strip(width))
    if scenario is not None:
        spec = scenario.spec
        topics = "".join(f", {topic.name} × {topic.partitions}" for topic in spec.topics)
        words = f"{count_of(len(spec.brokers), 'broker')}{topics}; {spec.pace.value}; {count_of(len(scenario.steps), 'step')}"
        out.append(Row().add(f" {words}", paint.muted).strip(width))
        row = Row().add(" written for Kafka ", paint.muted).add(", ".join(scenario.releases), paint.number)
        if scenario.without:
            row.add("  with guards off: ", paint.muted).add(", ".join(scenario.without), paint.warn)
        out.append(row.strip(width))
    return out


def release_question(entry: ScenarioEntry) -> tuple[Question, list[PlayTarget]]:
    """Return a question that asks for the release, and the target that belongs to each answer.

    The releases for which the scenario was written are listed first.
    """
    scenario = entry.scenario
    if scenario is None:
        names = [CURRENT.name, *(name for name in reversed(RELEASES) if name != CURRENT.name)]
        targets = [PlayTarget(None, None, release_named(name)) for name in names]
        notes = ["the newest" if name == CURRENT.name else "" for name in names]
    else:
        own = list(reversed(scenario.releases))
        names = [*own, *(name for name in reversed(RELEASES) if name not in own)]
        targets = [
            PlayTarget(
                None if scenario.plain else scenario,
                scenario.spec,
                release_named(name) if name in own else releases_of(scenario, (release_named(name),))[0],
                scenario.seed,
                title=scenario.name,
            )
            for name in names
        ]
        notes = ["written for this release" if name in own else "" for name in names]
    options = tuple(
        Option(str(number) if number < 10 else "", f"Kafka {name}", (), note)
        for number, (name, note) in enumerate(zip(names, notes, strict=True), start=1)
    )
    return Question(f"Start {entry.name}", "This ends the current session. Which release do you want to run?", options), targets


class ScenariosPage(FilteredPage):
    """The page with the scenarios. The keys ↑ and ↓ select a scenario, Enter starts it, and / filters the list."""

    name: ClassVar[str] = "scenarios"
    what: ClassVar[str] = "scenarios"
    words: ClassVar[str] = "Enter what you look for, in your own words, for example hanging transaction or e1"

    _entries: list[ScenarioEntry] | None = None
    _found: tuple[str, list[ScenarioEntry]] | None = None
    _selected = ""

    def _shown(self) -> list[ScenarioEntry]:
        if self._entries is None:
            self._entries = library()
        if self._found is None or self._found[0] != self.wanted:
            if self.wanted:
                self._selected = ""
            self._found = (self.wanted, matching(self._entries, self.wanted))
        return self._found[1]

    def _at(self, entries: Sequence[ScenarioEntry]) -> int:
        wanted = self._selected or ("" if self.wanted else self.playing)
        return next((n for n, entry in enumerate(entries) if entry.name == wanted), 0)

    @property
    def playing(self) -> str:
        """The name of the scenario that is running."""
        return self.screen.loaded.title

    def lines(self, width: int, height: int) -> list[Strip]:
        """Return the lines of the page."""
        entries = self._shown()
        total = len(self._entries or ())
        return paint_scenarios(entries, self.paint, (width, height), self._at(entries), self.wanted, self.playing, total)

    def move(self, key: str) -> bool:
        """Select another scenario."""
        entries = self._shown()
        by = {"up": -1, "down": 1, "pageup": -10, "pagedown": 10, "home": -len(entries)}.get(key)
        if by is None or not entries:
            return False
        self._selected = entries[max(0, min(len(entries) - 1, self._at(entries) + by))].name
        return True

    def enter(self) -> bool:
        """Ask for the release, then start the selected scenario."""
        entries = self._shown()
        if not entries:
            return True
        question, targets = release_question(entries[self._at(entries)])

        def chosen(option: Option | None) -> None:
            if option is not None:
                self.screen.start_over(targets[question.options.index(option)])

        self.screen.prompts.ask(question, chosen)
        return True
