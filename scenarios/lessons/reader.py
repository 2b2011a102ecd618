"""Reads a lesson. docs/lessons.md describes the language.

scenario: hw-and-leo                # the name of the lesson
title: what it teaches, in one line
about: a description
minutes: 5
releases: ["4.3"]                   # the lesson starts under the first; a step `again: "0.10.2"` starts the cluster under another one
cluster: {...}                      # as in other scripts
table: {columns: [step, b1, b2], rows: [...]}
lesson:
  - say: a text, with values {hw(orders-0)} and keys {key kill}
    point: partition orders-0       # what the text speaks of
  - ask: a question
    choices: {"0": the reply to this answer, "10": the reply to that}
    right: "0"
  - say: kill broker 2 with {key kill}
    wait-for: state(2) == stopped
    answer: {kill: 2}
  - until: isr(orders-0) == [1, 3]  # or `run: 5s`
    check: leader(orders-0) == 1
    say: ...
  - end: what was learned
    compare: [{value: isr(orders-0), because: ...}]
    ideas: [what to try now]
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path as FilePath
from typing import Final, TypeVar

from core.kafka.release import CURRENT
from core.lab.acts import ACTS, Act
from core.lab.spec import ClusterSpec, Pace
from scenarios.conditions.condition_parser import parse_reading
from scenarios.conditions.conditions import Condition, Names, Term, audits, kinds_of
from scenarios.conditions.tokens import ConditionError, Token
from scenarios.errors import ScriptError, did_you_mean
from scenarios.gc_disabled import gc_disabled
from scenarios.language import nodes
from scenarios.language.budget import check_clients, check_partitions
from scenarios.language.cluster import read_cluster
from scenarios.language.expectations import read_condition, read_release_to_run
from scenarios.language.nodes import Fields, Items, Node, read_file, shortened
from scenarios.language.script import MAX_SEED, StepReader, declared_names, first_sentence, scenario_name
from scenarios.language.subjects import read_tags, read_title
from scenarios.language.values import as_duration, as_fields, as_int, as_items, as_text, each
from scenarios.lessons.lesson import (
    DEFAULT_WITHIN,
    Choice,
    Hint,
    Key,
    Lesson,
    LessonStep,
    Measure,
    Text,
)
from scenarios.lessons.places import PAGES, PlaceKind, Pointer

WORDS: Final = ("scenario", "title", "tags", "about", "minutes", "releases", "seed", "cluster", "table", "lesson")
STEP_WORDS: Final = (
    "again", "do", "run", "until", "within", "meanwhile", "check", "fill", "point", "say", "reveal", "ask", "choices", "right", "wait-for",
    "answer", "hints", "end", "compare", "ideas",
)  # fmt: skip
"""The words of a lesson and of its steps."""

EXAMPLE: Final = "for example '- say: Three brokers hold one partition.'"
MAX_CHOICES: Final = 6
MAX_STEPS: Final = 200
MAX_MINUTES: Final = 60
MAX_TEXT: Final = 1_200
"""The limits of a lesson: the choices of a question, the steps, the minutes, and the characters of a text."""

T = TypeVar("T")

_NO_CLUSTER: Final = ClusterSpec(brokers=())


def load_lesson(path: str | FilePath, actions: Collection[str] | None = None) -> Lesson:
    """Load the lesson in a file. `actions` are the ids of the actions whose keys a text can name; if None, every id is valid.

    Raises:
        InputError: the file cannot be read, or the lesson has mistakes.
    """
    return read_lesson(read_file(path, "name a lesson's file"), str(path), actions)


def read_lesson(text: str, source: str, actions: Collection[str] | None = None) -> Lesson:
    """Read a lesson from text. `source` is the name of the text in error messages.

    Raises:
        ScriptError: the lesson has mistakes. The error contains all mistakes.
    """
    root = nodes.parse(text, source)
    with gc_disabled(), root.document.together(everything=True):
        if "lesson" not in root.values:
            raise root.error("'lesson' is missing, so this is not a lesson", "write 'lesson:' with a list of steps, " + EXAMPLE)
        root.only(*WORDS)
        spec = root.read_needed("cluster", "for example 'cluster: {brokers: 3}'", read_cluster, None)
        releases = root.read("releases", _releases, (CURRENT.name,))
        columns, rows = root.read("table", _table, ((), ()))
        about = root.read("about", as_text, "")
        steps = root.tried(partial(_steps, spec=spec, releases=releases, columns=columns, actions=actions), ())
        return Lesson(
            name=root.read("scenario", scenario_name, FilePath(source).stem),
            title=root.read("title", read_title, first_sentence(about)),
            tags=root.read("tags", read_tags, ()),
            about=about,
            minutes=root.read("minutes", lambda node: as_int(node, 1, MAX_MINUTES), 5),
            source=source,
            releases=releases,
            seed=root.read("seed", lambda node: as_int(node, 0, MAX_SEED), 0),
            spec=spec or _NO_CLUSTER,
            columns=columns,
            rows=rows,
            steps=steps,
        )


def _releases(node: Node) -> tuple[str, ...]:
    found = each(node, "write a list of releases", read_release_to_run) if isinstance(node, Items) else (read_release_to_run(node),)
    if not found:
        raise node.error("the list is empty", 'name at least one release, for example ["4.3"]')
    return found


def _table(node: Node) -> tuple[tuple[str, ...], tuple[str, ...]]:
    fields = as_fields(node, "for example {columns: [step, b1, b2]}")
    fields.only("columns", "rows")
    columns = fields.read_needed("columns", "for example columns: [step, b1, b2]", lambda one: each(one, "write a list", as_text), ())
    if len(columns) == 1:
        raise fields.key_error("columns", "the table has only one column", "the first column holds the rows' names; name at least one more")
    return columns, fields.read("rows", lambda one: each(one, "write a list", as_text), ())


def _steps(
    root: Fields, spec: ClusterSpec | None, releases: tuple[str, ...], columns: tuple[str, ...], actions: Collection[str] | None
) -> tuple[LessonStep, ...]:
    """Read all steps. The acts are read first, because they declare the clients that conditions and texts can name."""
    items = list(as_items(root.need("lesson", EXAMPLE), EXAMPLE))
    if not items:
        raise root.key_error("lesson", "the lesson has no steps", EXAMPLE)
    if len(items) > MAX_STEPS:
        raise items[MAX_STEPS].error(f"the lesson has more than {MAX_STEPS} steps", "split it into several lessons")
    readers = [item.tried(partial(_StepReader, spec=spec, releases=releases), None) for item in items]
    acts = [act for reader in readers if reader is not None for act in reader.all_acts]
    names = Names() if spec is None else declared_names(spec, tuple(acts))
    check_clients(names.clients or (), root, whole="lesson")
    check_partitions(names.topics or {}, root)
    for reader in readers:
        if reader is not None:
            reader.node.tried(partial(reader.check_acts, names), None)
    steps = [None if reader is None else reader.node.tried(partial(reader.finish, names, columns, actions), None) for reader in readers]
    found = tuple(step for step in steps if step is not None)
    if len(found) == len(items):
        if not found[-1].ends:
            raise items[-1].error("the lesson does not end", "write a last step with 'end:', which says what was learned")
        for step, item in zip(found[:-1], items[:-1], strict=True):
            if step.ends:
                raise item.error("steps follow after the end", "'end' belongs to the last step")
    return found


class _StepReader:
    """A reader of one step."""

    def __init__(self, node: Node, spec: ClusterSpec | None, releases: tuple[str, ...]) -> None:
        self.node = as_fields(node, "a step is a mapping, " + EXAMPLE)
        self.releases = releases
        self.known = self.node.only(*STEP_WORDS)
        self.does = self._acts("do", spec)
        self.answers = self._acts("answer", spec)

    @property
    def all_acts(self) -> tuple[Act, ...]:
        """The acts of the lesson and of the person in this step."""
        return tuple(act for reader in (*self.does, *self.answers) for act in reader.acts)

    def _acts(self, word: str, spec: ClusterSpec | None) -> tuple[StepReader, ...]:
        """Read `{kill: 2}`, or a list of such acts."""
        node = self.node.get(word)
        if node is None:
            return ()
        pace = Pace.TIMELINE if spec is None else spec.pace

        def read(item: Node) -> StepReader:
            fields = as_fields(item, "write an act, for example {kill: 2}")
            if not fields.values:
                raise fields.error("the act is empty", "for example {kill: 2}")
            for other in fields.values:
                if other not in ACTS:
                    raise fields.key_error(other, f"unknown act '{shortened(other)}'", did_you_mean(other, ACTS))
            reader = StepReader(fields, spec, pace)
            reader.check_together(self.releases, fields)
            reader.check_pace(pace, fields)
            return reader

        return node.tried(lambda one: each(one, "write a list of acts", read) if isinstance(one, Items) else (read(one),), ())

    def check_acts(self, names: Names, node: Node) -> None:
        """Reject acts on topics, partitions, brokers, or clients that the lesson does not declare."""
        for reader in (*self.does, *self.answers):
            reader.node.tried(partial(reader.check_acts, names), None)

    def finish(self, names: Names, columns: tuple[str, ...], actions: Collection[str] | None, node: Fields) -> LessonStep:
        """Read everything else, and return the step."""
        text = partial(_text, names=names, actions=actions)
        condition = partial(_condition, names=names)
        with node.document.together():
            if self.known:
                self._check_words(node)
            asked, ends = node.get("ask") is not None, node.get("end") is not None
            said = "ask" if asked else "end" if ends else "say"
            return LessonStep(
                place=node.place,
                release=node.read("again", self._release, ""),
                acts=tuple(act for reader in self.does for act in reader.acts),
                run=node.read("run", as_duration, 0),
                until=node.read("until", condition, None),
                within=node.read("within", as_duration, DEFAULT_WITHIN),
                meanwhile=node.read("meanwhile", text, None),
                checks=node.read("check", lambda one: _listed(one, condition), ()),
                fill=node.read("fill", partial(_fill, columns=columns, text=text), ()),
                point=node.read("point", partial(_pointer, names=names), None),
                say=node.read(said, text, None),
                reveal=node.read("reveal", partial(_reveal, names=names, text=text), ()),
                choices=node.read("choices", partial(_choices, right=node.get("right"), text=text), ()),
                patience=node.read("within", as_duration, 0) if node.get("wait-for") is not None else 0,
                wait_for=node.read("wait-for", condition, None),
                answer=tuple(act for reader in self.answers for act in reader.acts),
                hints=node.read("hints", lambda one: each(one, "write a list of hints", partial(_hint, condition, text)), ()),
                compare=node.read("compare", lambda one: each(one, "write a list", partial(_measure, names, text)), ()),
                ideas=node.read("ideas", lambda one: _listed(one, text), ()),
                ends=ends,
            )

    def _check_words(self, node: Fields) -> None:
        """Refuse words that do not belong together, and steps that miss a word."""
        has = {word for word in node.values if node.get(word) is not None}
        speaking = [word for word in ("say", "ask", "end") if word in has]
        if len(speaking) > 1:
            raise node.key_error(speaking[1], f"the step has both '{speaking[0]}' and '{speaking[1]}'", "write a separate step")
        if "until" in has and "wait-for" in has:
            raise node.key_error("wait-for", "the step has both 'until' and 'wait-for'", "write a separate step")
        if "run" in has and "until" in has:
            raise node.key_error("until", "the step has both 'run' and 'until'", "use only one of them")
        needs = (
            ("within", ("until", "wait-for")), ("meanwhile", ("run", "until")), ("choices", ("ask",)), ("right", ("ask",)), ("wait-for", ("say",)), ("answer", ("wait-for",)),
            ("hints", ("wait-for",)), ("compare", ("end",)), ("ideas", ("end",)), ("reveal", ("say", "ask", "end")), ("point", ("say", "ask", "end")),
        )  # fmt: skip
        for word, others in needs:
            if word in has and not has.intersection(others):
                raise node.key_error(word, f"'{word}' requires {' or '.join(repr(other) for other in others)}")
        for word, others, remedy in (
            ("ask", ("choices", "right"), 'for example choices: {"0": why not, "10": why} and right: "10"'),
            ("wait-for", ("answer",), "write the act that the person is to do, for example answer: {kill: 2}"),
            ("end", ("ideas",), "write what to try after the lesson, for example ideas: [Kill b3, too.]"),
        ):
            for other in others:
                if word in has and other not in has:
                    raise node.key_error(word, f"'{word}' requires '{other}'", remedy)
        if not has.intersection(("again", "do", "run", "until", "check", "fill", "say", "ask", "end")):
            raise node.error("the step is empty", EXAMPLE)

    def _release(self, node: Node) -> str:
        name = read_release_to_run(node)
        if name not in self.releases:
            raise node.error(f"the lesson's 'releases' do not name {name}", f"they are {', '.join(self.releases)}")
        return name


def _listed(node: Node, read: Callable[[Node], T]) -> tuple[T, ...]:
    """Read a list, or a single value as a list of one."""
    return each(node, "write a list", read) if isinstance(node, Items) else (read(node),)


def _condition(node: Node, names: Names) -> Condition:
    """Read a condition on the current state. A lesson can go back in time, so conditions cannot look at past events."""
    condition = read_condition(node, names)
    if kinds_of(condition) or audits(condition):
        raise node.error("this condition looks at past events", "write a state, for example isr(orders-0) == [1, 2]")
    return condition


def _term(text: str, node: Node, offset: int, names: Names) -> Term:
    try:
        term = parse_reading(text, names)
    except ConditionError as wrong:
        place = node.place_at(offset + wrong.offset) if isinstance(node, nodes.Text) else node.place
        raise ScriptError(place, node.field, f"{shortened(wrong.problem, 160)} (in: {shortened(text, 80)})", wrong.remedy) from None
    if term.kinds or term.audits:
        raise node.error(f"'{shortened(text)}' looks at past events", "write a value of the current state, for example hw(orders-0)")
    return term


def _text(node: Node, names: Names, actions: Collection[str] | None) -> Text:
    """Read a text, in which `{hw(orders-0)}` stands for a value, `{key kill}` for the key of an action, and `{{x}}` for {x} itself."""
    text = as_text(node, "write a text")
    if len(text) > MAX_TEXT:
        raise node.error(f"the text has more than {MAX_TEXT:,} characters", "a screen of 80 by 24 cannot show it; write several steps")
    assert isinstance(node, nodes.Text)
    parts: list[str | Term | Key] = []
    at = 0
    while (opening := text.find("{", at)) >= 0:
        literal = text.startswith("{{", opening)
        closing = text.find("}}" if literal else "}", opening)
        place = node.place_at(opening)
        if closing < 0:
            raise ScriptError(place, node.field, "'{' is not closed", "write a value, for example {hw(orders-0)}, or a key, {key kill}")
        inside = text[opening + 1 : closing]
        parts.append(text[at:opening])
        if literal:
            parts.append(text[opening + 1 : closing + 1])
            at = closing + 2
            continue
        word, _, action = inside.strip().partition(" ")
        if word == "key":
            if actions is not None and action not in actions:
                raise ScriptError(place, node.field, f"no action has the id '{shortened(action)}'", did_you_mean(action, actions))
            parts.append(Key(action))
        else:
            parts.append(_term(inside, node, opening + 1, names))
        at = closing + 1
    parts.append(text[at:])
    return Text(tuple(part for part in parts if part))


def _fill(node: Node, columns: tuple[str, ...], text: Callable[[Node], Text]) -> tuple[tuple[str, str, Text], ...]:
    """Read `{row: {column: text}}`."""
    fields = as_fields(node, "for example {produce 10: {b1: '{leo(orders-0, 1)}'}}")
    if not columns:
        raise node.error("the lesson has no table", "write, for example, table: {columns: [step, b1, b2]} above 'lesson'")
    found = []
    for row, value in fields.values.items():
        cells = as_fields(value, "for example {b1: '{leo(orders-0, 1)}'}")
        if not cells.values:
            found.append((row, columns[0], Text((row,))))
        for column, cell in cells.values.items():
            if column not in columns[1:]:
                raise cells.key_error(column, f"the table has no column '{shortened(column)}'", did_you_mean(column, columns[1:]))
            found.append((row, column, text(cell)))
    return tuple(found)


def _pointer(node: Node, names: Names) -> Pointer:
    """Read `brokers`, `broker 2`, `partitions`, `partition orders-0`, `partition orders-0 on 2`, `events`, `page groups`, …"""
    words = as_text(node, "write a place on the screen, for example broker 2").split()
    kind = next((kind for kind in PlaceKind if kind == words[0]), None)
    if kind is None:
        raise node.error(f"the screen has no place '{shortened(words[0])}'", did_you_mean(words[0], list(PlaceKind)))
    rest = words[1:]
    try:
        if kind is PlaceKind.BROKER and len(rest) == 1:
            return Pointer(kind, str(names.broker(_word(rest[0]))))
        if kind is PlaceKind.PARTITION and len(rest) in (1, 3) and rest[1:2] in ([], ["on"]):
            return Pointer(kind, str(names.partition(_word(rest[0]))), names.broker(_word(rest[2])) if len(rest) == 3 else -1)
    except ConditionError as wrong:
        raise node.error(wrong.problem, wrong.remedy) from None
    if kind is PlaceKind.PAGE and len(rest) == 1:
        if rest[0] not in PAGES:
            raise node.error(f"there is no page '{shortened(rest[0])}'", did_you_mean(rest[0], PAGES))
        return Pointer(kind, rest[0])
    if rest or kind in (PlaceKind.BROKER, PlaceKind.PARTITION, PlaceKind.PAGE):
        raise node.error(
            f"'{shortened(' '.join(words))}' is not a place",
            "write brokers, broker 2, partitions, partition orders-0, partition orders-0 on 2, events, details, time, keys, or page groups",
        )
    return Pointer(kind)


def _word(text: str) -> Token:
    return Token("word", text, 0)


def _reveal(node: Node, names: Names, text: Callable[[Node], Text]) -> tuple[tuple[str, Text], ...]:
    """Read a list of readings, or a mapping from names to texts."""
    if isinstance(node, Fields):
        return tuple((name, text(value)) for name, value in node.values.items())

    def read(item: Node) -> tuple[str, Text]:
        written = as_text(item, "write a reading, for example hw(orders-0)")
        term = _term(written, item, 0, names)
        return term.text, Text((term,))

    return _listed(node, read)


def _choices(node: Node, right: Node | None, text: Callable[[Node], Text]) -> tuple[Choice, ...]:
    fields = as_fields(node, 'for example {"0": why not, "10": why}')
    if not 2 <= len(fields.values) <= MAX_CHOICES:
        count = "only one choice" if len(fields.values) == 1 else f"{len(fields.values)} choices"
        raise fields.error(f"the question has {count}", f"a question has from 2 to {MAX_CHOICES} choices")
    answer = "" if right is None else as_text(right, "write the choice that is right")
    if right is not None and answer not in fields.values:
        raise right.error(f"'{shortened(answer)}' is not one of the choices", did_you_mean(answer, fields.values))
    return tuple(Choice(label, text(value), label == answer) for label, value in fields.values.items())


def _hint(condition: Callable[[Node], Condition], text: Callable[[Node], Text], node: Node) -> Hint:
    fields = as_fields(node, "for example {when: state(1) == stopped, say: That was b1.}")
    fields.only("when", "say")
    return Hint(condition(fields.need("when", "write a condition")), text(fields.need("say", "write a text")))


def _measure(names: Names, text: Callable[[Node], Text], node: Node) -> Measure:
    fields = as_fields(node, "for example {value: isr(orders-0), because: the controller fenced b2}")
    fields.only("value", "name", "because")
    value = fields.need("value", "write a reading, for example isr(orders-0)")
    term = _term(as_text(value, "write a reading"), value, 0, names)
    return Measure(term, fields.read("name", as_text, term.text), text(fields.need("because", "write why the value changed")))
