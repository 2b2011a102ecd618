"""The timeline of a script: its steps, and what it expects. It is the same in scripts for Kafka and in scripts for other models, which have
other acts, other conditions, and other ways to say where a step applies (`Language`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, Generic, Protocol, TypeVar

import attrs

from core.sim.units import SECOND
from scenarios.conditions.conditions import Term
from scenarios.errors import Place
from scenarios.language.nodes import Fields, Items, Node, Text
from scenarios.language.values import as_duration, as_text, each
from scenarios.readings.reading import DURATION, NUMBER

DEFAULT_WITHIN: Final = 60 * SECOND
"""The time limit of an `until` whose step has no `within`, in µs."""

OPERATORS: Final = ("==", "!=", "<=", ">=", "<", ">")
"""The signs of comparisons. A sign comes after those that begin with it are excluded, so that `<=` is not read as `<`."""

A = TypeVar("A")
C = TypeVar("C", bound="Condition")
U = TypeVar("U", bound="Scope")


class Condition(Protocol):
    """What a step waits for, or what a script expects."""

    @property
    def text(self) -> str:
        """The condition as text."""

    def holds(self, moment: Any) -> bool:
        """Return whether the condition is true at a given moment."""

    def got(self, moment: Any) -> str:
        """Return text that describes the actual value at a given moment."""


class Scope(Protocol):
    """The runs to which a step or an expectation applies."""

    def includes(self, run: Any) -> bool:
        """Return whether a release (of a Kafka script) or a system (of another script) is one of them."""


@attrs.frozen
class Expectation(Generic[C, U]):
    """An expected condition.

    Attributes:
        place: the place of the expectation in the file.
        condition: the condition that must hold.
        under: the runs to which the expectation applies.
        note: the text that says what the expectation shows.
    """

    place: Place
    condition: C
    under: U
    note: str = ""

    @property
    def text(self) -> str:
        """The text of the condition."""
        return self.condition.text


@attrs.frozen
class Step(Generic[A, C, U]):
    """One item of a timeline.

    Attributes:
        place: the place of the step in the file.
        under: the runs to which the step applies.
        at: the virtual time, in µs, at which the step is due, or None. It counts from the start of the script.
        wait: the time between the previous step and this one, in µs.
        until: the conditions that the step waits for.
        within: the time limit of `until` in µs; if a condition is not true by then, the step fails.
        acts: the acts that are executed when the step is due.
        expects: the expectations that are checked right after the acts.
        refused: the text that the reason for refusing the acts must contain; empty if the acts must not be refused.
        note: the text that says what the step shows.
        show: the readings whose values the run reports after the acts.
    """

    place: Place
    under: U
    at: int | None = None
    wait: int = 0
    until: tuple[Expectation[C, U], ...] = ()
    within: int = DEFAULT_WITHIN
    acts: tuple[A, ...] = ()
    expects: tuple[Expectation[C, U], ...] = ()
    refused: str = ""
    note: str = ""
    show: tuple[Term, ...] = ()

    def due(self, before: int) -> int:
        """Return the time at which the step is due at the latest if the step before it is due at the time `before`, in µs."""
        return max(before, self.at) if self.at is not None else before + (self.within if self.until else self.wait)


@attrs.frozen
class Language(Generic[C, U]):
    """What a kind of script can say in its expectations.

    Attributes:
        conditions: the function that reads one expectation, for example a table, with the place of each of its conditions.
        until: the function that reads the value of `until`.
        under: the function that reads the value of `under`.
        always: the value of `under` that includes every run.
    """

    conditions: Callable[[Node], Iterable[tuple[Place, C]]]
    until: Callable[[Node], tuple[Expectation[C, U], ...]]
    under: Callable[[Node], U]
    always: U

    def expectations(self, node: Node, under: U | None = None, note: str = "") -> tuple[Expectation[C, U], ...]:
        """Read the value of `expect:`, which is an expectation or a list. In a list, `{expect: ..., under: ..., note: ...}` limits an
        expectation to some runs.
        """
        if isinstance(node, Items):
            listed = each(node, "write a list of expectations", lambda item: self._listed(item, under, note))
            return tuple(one for found in listed for one in found)
        meant = self.always if under is None else under
        return tuple(Expectation(place, condition, meant, note) for place, condition in self.conditions(node))

    def _listed(self, node: Node, under: U | None, note: str) -> tuple[Expectation[C, U], ...]:
        if not isinstance(node, Fields) or "expect" not in node.values:
            return self.expectations(node, under, note)
        node.only("expect", "under", "note")
        inner_under, inner_note = node.get("under"), node.get("note")
        return self.expectations(
            node.need("expect", "write an expectation"),
            under if inner_under is None else self.under(inner_under),
            note if inner_note is None else as_text(inner_note),
        )

    def step(self, node: Fields, place: Place, acts: tuple[A, ...], refused: str = "") -> Step[A, C, U]:
        """Read when a step is due, and what it expects. The acts, and the reason for which they are refused, have been read."""
        under = node.read("under", self.under, self.always)
        note = node.read("note", as_text, "")
        return Step(
            place=place,
            under=under,
            at=node.read("at", as_duration, None),
            wait=node.read("wait", as_duration, 0),
            until=node.read("until", self.until, ()),
            within=node.read("within", as_duration, DEFAULT_WITHIN),
            acts=acts,
            expects=node.read("expect", lambda one: self.expectations(one, under, note), ()),
            refused=refused,
            note=note,
        )


def time_of(node: Fields) -> str:
    """Return the word that says when a step is due: `at`, `wait`, or `until`; empty if there is none."""
    when = [word for word in ("at", "wait", "until") if node.get(word) is not None]
    if len(when) > 1:
        raise node.key_error(when[1], f"the step has both '{when[0]}' and '{when[1]}'", "use only one of 'at', 'wait', and 'until'")
    return when[0] if when else ""


def compared_value(node: Node, kind: str) -> tuple[str, Node]:
    """Return the sign of a comparison, and the value with which a reading of a given type is compared. A value can begin with the sign, for
    example `">= 3"`; otherwise, the sign is `==`.
    """
    op = next((sign for sign in OPERATORS if isinstance(node, Text) and node.text.startswith(sign)), "")
    if not op:
        return "==", node
    assert isinstance(node, Text)
    node = node.behind(len(op))
    if kind not in (NUMBER, DURATION) and op not in ("==", "!="):
        raise node.error(f"a {kind} cannot be compared with < or >", "use == or != for this comparison")
    return op, node
