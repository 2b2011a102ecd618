"""Holds what a journal was told of changes against the changes themselves, step by step.

A keyframe shares with the one before whatever nobody said had changed (`core.lab.history.moving`): `Journal.stirred` by who changes what no row
holds, `Journal.moves` by who changes a row. `Watched` looks after every step at everything that a keyframe would share then, and finds
what changed untold. And it finds which of the marks in the source was needed: that without it something would have been missed.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

import pytest

import core
from core.lab.cluster import Cluster
from core.lab.history import kinds, moving
from core.lab.history.keyframe import Base
from core.sim.journal import Journal

CORE: Final = Path(core.__file__).parent

Mark = tuple[str, int]
"""A line of the source, by its path in `core`."""


@cache
def marks_in_source() -> frozenset[Mark]:
    """All lines that tell a journal that something is stirred, or moves."""
    found = set()
    for path in sorted(CORE.rglob("*.py")):
        name = str(path.relative_to(CORE))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Assign):
                targets = [each for target in node.targets for each in (target.elts if isinstance(target, ast.Tuple) else [target])]
                if any(isinstance(each, ast.Attribute) and each.attr == "stirred" for each in targets):
                    found.add((name, node.lineno))
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "moves":
                found.add((name, node.lineno))
    return frozenset(
        mark
        for mark in found
        if mark[0] not in ("sim/journal.py", "lab/history/kinds.py", "lab/history/moving.py", "lab/history/keyframe.py")
    )


def _mark(frame: Any) -> Mark:
    path = Path(frame.f_code.co_filename)
    return (str(path.relative_to(CORE)) if path.is_relative_to(CORE) else path.name), frame.f_lineno


class Told:
    """What journals were told, with the line that did; while `listening`."""

    def __init__(self) -> None:
        self.stirred: set[Mark] = set()
        self.moved: list[tuple[Mark, Any]] = []

    def clear(self) -> None:
        """A step begins."""
        self.stirred.clear()
        self.moved.clear()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Journals tell who tells them."""
        with pytest.MonkeyPatch.context() as patch:
            stirred: Any = Journal.__dict__["stirred"]
            moves: Any = Journal.__dict__["moves"]
            told = self

            def stir(journal: Journal, value: bool) -> None:
                if value:
                    told.stirred.add(_mark(sys._getframe(1)))
                stirred.__set__(journal, value)

            def listener(journal: Journal) -> Callable[[Any], None]:
                mark, tell = _mark(sys._getframe(1)), moves.__get__(journal)

                def listen(what: Any) -> None:
                    told.moved.append((mark, what.copy() if type(what) is list else what))
                    tell(what)

                return listen

            patch.setattr(Journal, "stirred", property(stirred.__get__, stir))
            patch.setattr(Journal, "moves", property(listener, moves.__set__))
            yield


LATE: Final = {"_ends", "_totals"}
"""What terms find out when somebody asks."""


class _All:
    def __contains__(self, _: object) -> bool:
        return True


_KNOWN: Final = _All()


def _ignored(_: Any) -> None:
    return None


class Watched:
    """A cluster of which everything that a keyframe would share is looked at after every step.

    Attributes:
        needed: marks without which something would have been missed.
    """

    def __init__(self, cluster: Cluster, told: Told, needed: set[Mark]) -> None:
        self.cluster, self.needed = cluster, needed
        self._told = told
        self._base: Base | None = None
        self.look()

    def clear(self) -> None:
        """Something begins that `look` is to look at."""
        self._told.clear()

    def step(self) -> bool:
        """The cluster's next step."""
        self.clear()
        stepped = self.cluster.step()
        self.look()
        return stepped

    def look(self) -> None:
        """Find what has changed untold since the last look."""
        cluster, told = self.cluster, self._told
        journal = cluster.journal
        self._ask_terms()
        if journal.keyframed is not None and journal.keyframed.suffices:
            if not journal.stirred:
                assert not (missed := self.missed()), f"changed untold: {', '.join(missed)}; stirred nothing; moved {told.moved}"
                self._find_needed_moves()
            elif len(told.stirred) == 1 and not told.stirred <= self.needed and self.missed():
                self.needed |= told.stirred
        cluster.snapshot()

    def begin(self) -> None:
        """From here on: nothing is known of what happened before."""
        self._ask_terms()
        self.cluster.journal.stirred = True
        self.cluster.snapshot()

    def _ask_terms(self) -> None:
        """Where batches end is found out when somebody asks: now, so that it does not look like a change."""
        for broker in self.cluster.brokers.values():
            for log in broker.disk.logs.values():
                for term in log.terms:
                    assert len(term.ends) == len(term.totals)

    def missed(self) -> list[str]:
        """What a keyframe would miss if nothing else were told than what moved."""
        cluster = self.cluster
        journal, base = cluster.journal, cluster.journal.keyframed
        if base is not self._base:
            self._base, self._held = base, _held(base)
        found = []
        for each, kind, state, read in self._held:
            if id(each) in base.again or id(each) in journal.changed:
                continue
            now = kind.take(each, _KNOWN, _ignored)
            if now != state:
                found += [f"{type(each).__name__}.{name}" for name in _differing(each, now, state) if name not in read | LATE]
        told = moving.places_of(journal.moved, base.places)
        for tp, at in base.places.items():
            if at not in told and self._row(at) != base.rows[at]:
                group, row = base.groups[at], self._row(at)
                values = [(was, now) for was, now in zip(base.rows[at], row, strict=True) if was != now]
                found.append(f"of {tp}, in {group.specs}: {values}")
        return found

    def _row(self, at: int) -> Any:
        group = self.cluster.journal.keyframed.groups[at]
        return group.reader.take(group.objects, _KNOWN, _ignored)

    def _find_needed_moves(self) -> None:
        base = self.cluster.journal.keyframed
        by_mark: dict[Mark, set[int]] = {}
        for mark, what in self._told.moved:
            by_mark.setdefault(mark, set()).update(moving.places_of([what], base.places))
        for mark, places in by_mark.items():
            if mark not in self.needed:
                alone = places.difference(*(others for other, others in by_mark.items() if other != mark))
                if any(self._row(at) != base.rows[at] for at in alone):
                    self.needed.add(mark)


def _held(base: Base) -> list[tuple[Any, kinds.Kind, Any, set[str]]]:
    """What a whole keyframe holds, with the fields that rows read anew; without what they read whole."""
    read: dict[int, set[str]] = {}
    for group in base.groups:
        for each, spec in zip(group.objects, group.specs, strict=True):
            for name, _ in moving.SPECS[spec]:
                read.setdefault(id(each), set()).add(name.split(".")[0])
                held = attrgetter(name)(each) if name else None
                if type(held) in (list, dict):  # a container of its own is read whole
                    read.setdefault(id(held), set()).add("")
    found = []
    for each, state in zip(base.objects, base.states, strict=True):
        fields, kind = read.get(id(each), set()), kinds.kind_of(type(each))
        assert kind is not None
        if "" not in fields and type(kind) is not kinds.OfClient and type(kind) is not kinds.OfJournal:
            found.append((each, kind, state, fields))
    return found


def _differing(each: Any, now: Any, state: Any) -> list[str]:
    """The names of what an object holds otherwise."""
    cls = type(each)
    if cls in kinds.SPECIAL and not hasattr(each, "__dict__"):
        return [repr(each)[:60]]
    if hasattr(each, "__dict__"):
        slots = [] if cls in kinds.SPECIAL else [name for (name, a), (_, b) in zip(now[2], state[2], strict=True) if a is not b and a != b]
        if now[0] != state[0]:
            return ["what it has", *slots]
        return [name for name, a, b in zip(now[0], now[1], state[1], strict=True) if a is not b and a != b] + slots
    growing = kinds.GROWING.get(cls, frozenset())
    names = [name for name in kinds.slots_of(cls) for _ in range(2 if name in growing else 1)]
    return [name for name, a, b in zip(names, now, state, strict=True) if a is not b and a != b]
