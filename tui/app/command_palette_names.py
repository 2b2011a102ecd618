"""Finds partitions, brokers, and glossary terms by name in the command palette, and everything that `isrlab find` knows by what people say."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from textual.command import Hit, Hits, Provider
from textual.markup import escape

from scenarios.io.escaping import escape_value
from tui.actions.all_actions import ACTIONS
from tui.rendering.glossary import all_terms, states_of_partitions
from tui.rendering.states import STATUS_LOOKS, short_state

if TYPE_CHECKING:
    from scenarios.finding.index import Entry, Index
    from tui.main_screen.screen import MainScreen

MOST_NAMED: Final = 20
"""The maximum number of names of one type to offer. If there are more names, the user can type more characters to narrow the search."""

SHORTEST: Final = 3
"""The number of characters from which scenarios, errors, and settings are offered."""

MOST_KNOWN: Final = 10
"""The maximum number of those."""

LEAST: Final = 0.05
"""The score of the best of those, which is lower than that of an action or a name that the text matches."""

WHOLE: Final = 1_000.0
"""The score of an exact match, which is higher than the score of any other match."""

Named = tuple[int, str, str, Callable[[], object]]
"""A search result: its rank, its name, its description, and the function that selects or explains it.

The rank is 0 for an exact match, 1 for a prefix, 2 for a substring, and 3 for a term that also matches an action.
"""


def named(main_screen: MainScreen, query: str) -> list[Named]:
    """Return the brokers, partitions, and terms whose names contain the given text. Within each type, the best matches come first."""
    query = query.strip().lower()
    if not query:
        return []
    found: list[Named] = []
    for sort in (_brokers, _partitions, _words):
        hits = sorted(sort(main_screen, query), key=lambda each: each[0])
        found += hits[:MOST_NAMED]
    return found


def known(main_screen: MainScreen, query: str) -> list[Named]:
    """Return the scenarios, errors, settings, screens, and whatever else `isrlab find` knows that fit the text best, best first. Keys and
    terms whose names contain the text are offered by name."""
    query = query.strip().lower()
    if len(query) < SHORTEST:
        return []
    from tui.app.index_entries import KEY, SCREEN, TERM

    return [
        (2, f"{entry.sort} {entry.name}", entry.title, functools.partial(_open, main_screen, entry))
        for entry in _index().find(query, MOST_KNOWN)
        if entry.sort not in (SCREEN, KEY, TERM)
        or not any(query in name.lower() for name in (entry.name, *entry.tags[: entry.sort == TERM]))
    ]


def _open(main_screen: MainScreen, entry: Entry) -> None:
    """Start a lesson, or do an action; show what is known of everything else."""
    from tui.app.index_entries import KEY, SCREEN

    if entry.sort == "lesson":
        from scenarios.lessons.lessons_library import find_lesson
        from tui.lessons.lessons_page import lesson_target

        main_screen.start_over(lesson_target(find_lesson(entry.name)))
    elif entry.sort in (SCREEN, KEY):
        main_screen.action_do(next(action.id for action in ACTIONS if action.label == entry.name))
    else:
        main_screen.help_screens.show_entry(entry)


@functools.cache
def _index() -> Index:
    """Return the index of `isrlab find`. Building it takes some milliseconds, so that is done when somebody first searches."""
    from tui.app.index_entries import index

    return index()


def _fit(query: str, name: str) -> int:
    """Return 0 for an exact match, 1 for a prefix, 2 for a substring, and -1 for no match."""
    name = name.lower()
    return 0 if query == name else 1 if name.startswith(query) else 2 if query in name else -1


def _brokers(main_screen: MainScreen, query: str) -> Iterator[Named]:
    for broker in main_screen.view.brokers:
        if (fit := _fit(query, f"b{broker.id}")) >= 0:
            about = f"broker, {short_state(broker)}, leads {broker.leaders} of {broker.replicas} replicas"
            yield (
                fit if broker.up or fit == 0 else 1,
                f"b{broker.id}",
                about,
                functools.partial(main_screen.navigation.select_by_name, broker=broker.id),
            )


def _partitions(main_screen: MainScreen, query: str) -> Iterator[Named]:
    for p in main_screen.view.partitions:
        if (fit := _fit(query, str(p.tp))) >= 0:
            glyph, word, _ = STATUS_LOOKS[p.status]
            leader = "no leader" if p.offline else f"leader b{p.leader}"
            yield (
                fit,
                str(p.tp),
                f"partition, {glyph} {word}, {leader}",
                functools.partial(main_screen.navigation.select_by_name, partition=p.tp),
            )


def _words(main_screen: MainScreen, query: str) -> Iterator[Named]:
    terms = all_terms(main_screen.loaded.release, zookeeper=main_screen.context().on_zookeeper)
    for term in terms:
        fits = [fit for fit in (_fit(query, term.term), _fit(query, term.name)) if fit >= 0]
        if fits:
            if any(query in action.label.lower() for action in ACTIONS):
                fits = [3]  # an action with the same text takes precedence over a term
            name = f"{term.term}: {term.name}" if term.name else term.term
            yield min(fits), name, term.text, functools.partial(main_screen.help_screens.explain, term.term)
    for state in states_of_partitions():
        if _fit(query, state.term) >= 0:
            yield 2, f"state {state.term}", state.text, functools.partial(main_screen.help_screens.explain)


class NameProvider(Provider):
    """A provider that offers names in the command palette once the user has typed something."""

    async def search(self, query: str) -> Hits:
        """Yield the names that match the text that the user typed."""
        from tui.main_screen.screen import MainScreen

        main_screen = next((screen for screen in reversed(self.app.screen_stack) if isinstance(screen, MainScreen)), None)
        if main_screen is None:
            return
        matcher = self.matcher(query)
        for fit, name, about, call in named(main_screen, query):
            score = WHOLE if fit == 0 else matcher.match(name) * (0.2 if fit == 3 else 1.0)
            yield Hit(score, matcher.highlight(name), call, text=name, help=escape(escape_value(about)))
        for place, (_, name, about, call) in enumerate(known(main_screen, query)):
            yield Hit(LEAST / (place + 1), escape(name), call, text=name, help=escape(escape_value(about)))
