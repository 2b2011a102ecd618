"""The index: entries with fields of different weight, and the search for the entries that fit words best.

A word counts more in a title than in tags, and more in tags than in a text; a whole word counts more than the beginning of one, and that more than
a part; what was typed counts more than a synonym of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Final

import attrs

from scenarios.finding.synonyms import SYNONYMS, UNSAID

WORD: Final = re.compile(r"[\w.\-=]+")


@attrs.frozen
class Entry:
    """Something that a person can look for.

    Attributes:
        sort: what it is, for example `scenario` or `error`.
        name: its name, as one types it.
        title: what it is about, in a few words or a sentence.
        tags: words and phrases that stand for it: other spellings, subjects.
        text: a longer text, in which words count less.
        script: the text of a script, in which words count least.
        command: the command that shows or runs it; empty if there is none.
    """

    sort: str
    name: str
    title: str
    tags: tuple[str, ...] = ()
    text: str = ""
    script: str = ""
    command: str = ""


@attrs.frozen(slots=False)
class _Fields:
    """The fields of an entry in lower case, the weightiest first."""

    entry: Entry

    @cached_property
    def weighted(self) -> tuple[tuple[int, str, frozenset[str]], ...]:
        """The fields, each with its weight, its text, and its words."""
        one = self.entry
        fields = ((8, f"{one.name} {one.title}"), (6, " ".join(one.tags)), (3, one.text), (1, one.script))
        return tuple((weight, text.lower(), frozenset(_words(text))) for weight, text in fields)


WHOLE: Final = 1.0
BEGINS: Final = 0.6
INSIDE: Final = 0.25
SYNONYM: Final = 0.5
PHRASE: Final = 0.9
NAMED: Final = 30.0
BOTH: Final = 0.2
NEIGHBORS: Final = 3.0
"""How much a match counts: of a whole word, of the beginning of a word, of a part of a word, of a synonym instead of the word or the phrase that
was typed, of an entry's own name, of the weaker of the two if both what was typed and a synonym fit, and of two words of the question that stand together in a title.
"""


PREFERRED: Final = {"scenario": 1.3, "question": 1.15, "error": 1.2, "screen": 1.15, "key": 0.4, "term": 0.4}
"""How much more entries of a sort count than others: those come first that show something when they run. Keys and terms come last, because their
names are everyday words.
"""

MEANT: Final = frozenset({"screen", "key", "term"})
"""The sorts whose entries are meant when somebody types the whole name of one and nothing else."""


def _words(text: str) -> list[str]:
    """Return the words of a text in lower case. A word such as `acks=1` or `dead-letter` counts as a whole and by its parts."""
    found = []
    for word in WORD.findall(text.lower()):
        found.append(word.strip(".-="))
        if not word.isalnum():
            found.extend(part for part in re.split(r"[._\-=]", word) if part)
    return found


class Index:
    """The entries, in an order in which earlier ones come first if two fit equally well."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._fields: Final = [_Fields(entry) for entry in entries]

    def find(self, question: str, most: int = 12) -> list[Entry]:
        """Return the entries that fit a question best, best first. A screen, a key, or a term whose name is the question comes first of all, and
        entries that fit all words come before those that fit some.
        """
        asked = _phrases([_class_name(word.strip(".-=")) for word in WORD.findall(question.lower())])
        words = [word for word in asked if word not in UNSAID] or asked
        pairs = [f"{word} {after}" for word, after in pairwise(asked)]
        if not words:
            return []
        whole = " ".join(question.lower().split())
        found: list[tuple[bool, int, float, int]] = []
        for number, fields in enumerate(self._fields):
            scores = [_score(fields, word) for word in words]
            fitting = sum(score > 0 for score in scores)
            if fitting:
                title = fields.weighted[0][1]
                score = sum(scores) + NEIGHBORS * sum(pair in title for pair in pairs)
                differs = fields.entry.sort not in MEANT or fields.entry.name.lower() != whole
                found.append((differs, -fitting, -score * PREFERRED.get(fields.entry.sort, 1.0), number))
        found.sort()
        if not found:
            return []
        least = min(fitting for _, fitting, _, _ in found) + (1 if len(words) > 2 else 0)
        return [self._fields[number].entry for _, fitting, _, number in found if fitting <= least][:most]


def _phrases(words: list[str]) -> list[str]:
    """Return the words of a question, in which two words that mean something together, such as `data center`, are one."""
    found: list[str] = []
    for word in words:
        if found and f"{found[-1]} {word}" in SYNONYMS:
            found[-1] += f" {word}"
        else:
            found.append(word)
    return found


def _class_name(word: str) -> str:
    """Return the name of a class without its packages: `java.util.concurrent.TimeoutException` is `timeoutexception`."""
    return word.rpartition(".")[2] if word.endswith(("exception", "error")) else word


def _score(fields: _Fields, word: str) -> float:
    """Return how well an entry fits a word: above all the best of its matches. Its own name fits best."""
    if word == fields.entry.name.lower():
        return NAMED
    typed = _match(fields, word)
    synonyms = max((_match(fields, other, inside=False) for other in SYNONYMS.get(word, ())), default=0.0)
    meant = (PHRASE if " " in word else SYNONYM) * synonyms
    return max(typed, meant) + BOTH * min(typed, meant)


def _match(fields: _Fields, word: str, inside: bool = True) -> float:
    """Return how well an entry fits a word or a phrase as it is written. With `inside`, parts of words fit, too."""
    best = 0.0
    phrase = " " in word
    for weight, text, words in fields.weighted:
        if weight <= best:
            break
        if phrase:
            fit = WHOLE if word in text else 0.0
        elif word in words or _stem(word) in words:
            fit = WHOLE
        elif len(word) > 2 and any(one.startswith(word) for one in words):
            fit = BEGINS
        elif inside and len(word) > 3 and word in text:
            fit = INSIDE
        else:
            fit = 0.0
        best = max(best, weight * fit)
    return best


def _stem(word: str) -> str:
    """Return a word without a plural ending."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def as_lines(entries: Sequence[Entry]) -> list[str]:
    """Return entries as lines of output: for each, what it is, its name, and its title, and below them its command."""
    lines = []
    for entry in entries:
        lines.append(f"{entry.sort:<9} {entry.name}: {entry.title}" if entry.title else f"{entry.sort:<9} {entry.name}")
        if entry.command:
            lines.append(f"{'':<9} {entry.command}")
    return lines
