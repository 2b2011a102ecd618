"""The parts of a lesson: its steps, what they say, and what they wait for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs

from core.lab.acts import Act
from core.lab.spec import ClusterSpec
from core.sim.units import SECOND
from scenarios.conditions.conditions import Condition, Term
from scenarios.errors import Place
from scenarios.lessons.places import Pointer
from scenarios.readings.reading import Moment, show

DEFAULT_WITHIN: Final = 60 * SECOND
"""The time limit of an `until` without `within`, in µs."""


@attrs.frozen(repr=False)
class Key:
    """The key of an action of the playground, within a text. `action` is the action's id."""

    action: str


@attrs.frozen(repr=False)
class Text:
    """A text with values and keys: `HW is {hw(orders-0)}. To kill b1, press {key kill}.`

    Attributes:
        parts: plain text, readings, and keys, in their order.
    """

    parts: tuple[str | Term | Key, ...] = ()

    def filled(self, moment: Moment, key: Callable[[str], str]) -> str:
        """Return the text with the values of this moment. `key` returns the display name of an action's key."""
        found = []
        for part in self.parts:
            if isinstance(part, Term):
                found.append(show(part.take(moment), part.type))
            else:
                found.append(key(part.action) if isinstance(part, Key) else part)
        return "".join(found)


@attrs.frozen(repr=False)
class Choice:
    """An answer to a question, and what the lesson replies to it."""

    label: str
    reply: Text
    right: bool


@attrs.frozen(repr=False)
class Hint:
    """What a lesson says while it waits for an act, as soon as a condition holds: usually that another act was meant."""

    when: Condition
    say: Text


@attrs.frozen(repr=False)
class Measure:
    """A value that a lesson compares with its value at the start.

    Attributes:
        term: the reading.
        name: its name for people, for example that of the JMX metric; by default, the reading itself.
        because: why it changed.
    """

    term: Term
    name: str
    because: Text


@attrs.frozen(repr=False)
class LessonStep:
    """A step of a lesson. Its parts take effect in the order of the attributes.

    Attributes:
        place: the place of the step in the file.
        release: the release under which the cluster starts again; empty if it goes on.
        acts: what the lesson does.
        run: how much virtual time passes then, in µs.
        until: the condition that ends the waiting before `within` µs have passed; None if `run` says how long to wait.
        within: the time limit of `until`, in µs.
        meanwhile: what the lesson says while time passes.
        checks: what must hold now. If it does not, the person has done something else, and the lesson cannot go on from here.
        fill: the cells of the lesson's table that get values: the row, the column, and the text.
        point: the place on the screen that the text speaks of.
        say: the text; None if the step says nothing.
        reveal: values that are shown below the text, each with its name.
        choices: the answers, if the text is a question.
        wait_for: the condition that an act of the person must bring about; None if the step waits for nothing.
        patience: how much virtual time may pass between that act and the condition, in µs; 0 if the act brings it about at once.
        answer: the acts that bring it about, if the person asks the lesson to do so.
        hints: what the lesson says if another act was done.
        compare: the values that the end of the lesson compares.
        ideas: what to try in the free session after the lesson.
        ends: whether this is the end.
    """

    place: Place
    release: str = ""
    acts: tuple[Act, ...] = ()
    run: int = 0
    until: Condition | None = None
    within: int = DEFAULT_WITHIN
    meanwhile: Text | None = None
    checks: tuple[Condition, ...] = ()
    fill: tuple[tuple[str, str, Text], ...] = ()
    point: Pointer | None = None
    say: Text | None = None
    reveal: tuple[tuple[str, Text], ...] = ()
    choices: tuple[Choice, ...] = ()
    wait_for: Condition | None = None
    patience: int = 0
    answer: tuple[Act, ...] = ()
    hints: tuple[Hint, ...] = ()
    compare: tuple[Measure, ...] = ()
    ideas: tuple[Text, ...] = ()
    ends: bool = False


@attrs.frozen(repr=False)
class Lesson:
    """A lesson.

    Attributes:
        name: the name by which it is started.
        title: what it teaches, in one line.
        tags: its subjects, the main one first.
        about: a description.
        minutes: how long it takes.
        source: the file.
        releases: the releases it plays under; it starts under the first.
        seed: the seed.
        spec: the cluster.
        columns: the headings of its table; empty if it has none. The first is that of the rows.
        rows: the rows that the table has from the start.
        steps: the steps. The last one ends the lesson.
    """

    name: str
    title: str
    tags: tuple[str, ...]
    about: str
    minutes: int
    source: str
    releases: tuple[str, ...]
    seed: int
    spec: ClusterSpec
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    steps: tuple[LessonStep, ...]
