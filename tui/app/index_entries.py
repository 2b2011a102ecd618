"""The entries of the index that are about the playground: its screens and other actions, each with its key, and the terms of its glossary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from core.kafka.release import CURRENT
from scenarios.finding import entries as without_screen
from scenarios.finding.index import Entry, Index
from scenarios.language.script import first_sentence
from tui.actions.action import Action
from tui.actions.all_actions import ACTIONS, BY_ID, SCREENS
from tui.rendering.glossary import Term, all_terms

SCREEN: Final = "screen"
"""The sort of an action that shows a screen."""

KEY: Final = "key"
"""The sort of another action."""

TERM: Final = "term"
"""The sort of a term of the glossary."""


def action_entry(action: Action) -> Entry:
    """Return the entry of an action."""
    sort = SCREEN if action.group == SCREENS and action.id.startswith("screen-") else KEY
    return Entry(sort, action.label, first_sentence(action.help), action.tags, action.help, command=_press(action))


def term_entry(term: Term) -> Entry:
    """Return the entry of a term."""
    name, *other = filter(None, [term.name, term.term])
    return Entry(TERM, name, first_sentence(term.text), tuple(other), term.text, command=_press(BY_ID["glossary"]))


def _press(action: Action) -> str:
    return f"in the playground (isrlab play), press {action.key}"


def entries() -> Iterator[Entry]:
    """Yield all entries."""
    yield from without_screen.entries()
    yield from map(action_entry, ACTIONS)
    yield from map(term_entry, all_terms(CURRENT, zookeeper=False))


def index() -> Index:
    """Return the index behind `isrlab find` and the command palette."""
    return Index(entries())
