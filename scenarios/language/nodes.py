"""Parses YAML text into nodes. Each node has its place in the file, the path of its field, and its value as written.

The nodes are built from the events of the YAML parser, not by YAML's constructors. As a result, values such as `4.1` and `1_000` remain
text, and errors point to the exact place. Scripts cannot contain duplicate keys, anchors, aliases, tags, more than one document, nesting
deeper than `MAX_DEPTH`, or control characters.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path as FilePath
from typing import Any, Final, TypeVar

import attrs
import yaml

from core.lab.spec import MAX_PARTITIONS
from scenarios.errors import Place, ScriptError, ScriptMistakes, did_you_mean
from scenarios.gc_disabled import gc_disabled
from scenarios.io import text_file

MAX_DEPTH: Final = 24
"""The maximum nesting depth of lists and mappings. The script language needs seven levels of nesting."""

MAX_ITEMS: Final = MAX_PARTITIONS
"""The maximum number of entries in a list or mapping, and therefore the maximum number of partitions of a topic."""

MAX_VALUES: Final = 4_000_000
"""The maximum number of values in a script. A script that places 200,000 partitions with three replicas each has 2.6 million values."""

MAX_MISTAKES: Final = 1_000
"""The number of mistakes after which the reader stops."""

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


Path = str | tuple["Path", "str | int"]
"""The path of a field: a string, or a pair of the path of the enclosing value and the field's key or index in that value."""

T = TypeVar("T")
D = TypeVar("D")


@attrs.define(eq=False)
class Document:
    """The name of the file that is being read, and the mistakes and warnings found so far.

    Attributes:
        source: the name of the file.
        mistakes: the mistakes.
        warnings: the settings that have no effect, each with its place. They do not keep the script from running.
    """

    source: str
    mistakes: list[ScriptError] = attrs.Factory(list)
    warnings: list[ScriptError] = attrs.Factory(list)

    def add(self, wrong: ScriptError) -> None:
        """Record a mistake, so that the reader can continue.

        Raises:
            TooManyMistakes: the number of mistakes reached `MAX_MISTAKES`.
        """
        if not isinstance(wrong, ScriptMistakes):
            self.mistakes.append(wrong)
            if len(self.mistakes) >= MAX_MISTAKES:
                raise TooManyMistakes(self.mistakes, unread=True)

    @contextlib.contextmanager
    def together(self, everything: bool = False) -> Iterator[None]:
        """Record the mistakes found in this context, and raise them together at its end.

        Args:
            everything: whether the error also includes the mistakes that were recorded before the context was entered.

        Raises:
            ScriptMistakes: at least one mistake was found.
        """
        before = 0 if everything else len(self.mistakes)
        try:
            yield
        except TooManyMistakes:
            raise
        except ScriptError as wrong:
            self.add(wrong)
        found = self.mistakes[before:]
        if found:
            # These mistakes are already recorded. `add` ignores `ScriptMistakes`, so an outer context does not record them twice.
            raise ScriptMistakes(found)


def warnings_in(document: Document) -> tuple[str, ...]:
    """Return a line for each warning, in the order of the file. A warning that occurs several times has one line."""
    return ScriptMistakes(document.warnings).all_lines() if document.warnings else ()


class TooManyMistakes(ScriptMistakes):
    """The number of mistakes has reached `MAX_MISTAKES`, so the reader stops."""


@attrs.define(eq=False, repr=False)
class Node:
    """A value in a script, with its place and the path of its field.

    The class is not frozen, because creating frozen objects takes twice as long.
    """

    document: Document
    line: int
    column: int
    path: Path

    @property
    def place(self) -> Place:
        """The place of the value in the file."""
        return Place(self.document.source, self.line, self.column)

    @property
    def field(self) -> str:
        """The path of the field, for example `timeline[3].produce.records`."""
        keys: list[str] = []
        path = self.path
        while isinstance(path, tuple):
            path, key = path
            keys.append(f"[{key}]" if isinstance(key, int) else f".{key}")
        return (path + "".join(reversed(keys))).removeprefix(".")

    def error(self, problem: str, remedy: str = "") -> ScriptError:
        """Return an error that points to this value."""
        return ScriptError(self.place, self.field, problem, remedy)

    def tried(self, read: Callable[[Any], T], otherwise: D) -> T | D:
        """Return the result of `read` for this value. If the value is invalid, record the mistake and return `otherwise`."""
        try:
            return read(self)
        except TooManyMistakes:
            raise
        except ScriptError as wrong:
            self.document.add(wrong)
            return otherwise

    def what(self) -> str:
        """Return a description of the value for error messages."""
        return "a value"


@attrs.define(eq=False, repr=False)
class Text(Node):
    """A scalar value as it is written in the script.

    Attributes:
        text: the text of the value.
        quoted: whether the value is in quotes or is a block scalar.
        inline: whether the value is on one line, so that the column of each character is known.
    """

    text: str
    quoted: bool = False
    inline: bool = True

    @property
    def empty(self) -> bool:
        """Whether the value is empty, `~`, or `null`, without quotes."""
        return not self.quoted and self.text in ("", "~", "null", "Null", "NULL")

    def what(self) -> str:
        return "nothing" if self.empty else f"'{shortened(self.text)}'"

    def place_at(self, offset: int) -> Place:
        """Return the place of the character at an offset. If the value spans several lines, return the place at which the value starts."""
        if not self.inline:
            return self.place
        return Place(self.document.source, self.line, self.column + offset + (1 if self.quoted else 0))

    def behind(self, offset: int) -> Text:
        """Return the part of the text that begins at an offset, as a node that knows its own position in the file."""
        return attrs.evolve(self, text=self.text[offset:].strip(), column=self.place_at(offset).column)


@attrs.define(eq=False, repr=False)
class Items(Node):
    """A list."""

    nodes: tuple[Node, ...]

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def what(self) -> str:
        return "a list"


@attrs.define(eq=False, repr=False)
class Fields(Node):
    """A mapping: its values by key, in the order in which the script lists them, and the place of each key."""

    values: dict[str, Node]
    keys: dict[str, Place]

    def get(self, key: str) -> Node | None:
        """Return the value of a key, or None if the value is missing or empty."""
        node = self.values.get(key)
        return None if isinstance(node, Text) and node.empty else node

    def need(self, key: str, remedy: str) -> Node:
        """Return the value of a required key."""
        node = self.get(key)
        if node is None:
            raise self.error(f"'{key}' is missing", remedy)
        return node

    def read(self, key: str, read: Callable[[Any], T], otherwise: D) -> T | D:
        """Return the result of `read` for the value of a key.

        Return the argument `otherwise` if the value is missing, empty, or invalid. An invalid value is recorded as a mistake.
        """
        node = self.get(key)
        return otherwise if node is None else node.tried(read, otherwise)

    def read_needed(self, key: str, remedy: str, read: Callable[[Any], T], otherwise: D) -> T | D:
        """Return the result of `read` for the value of a required key. A missing or empty value is also recorded as a mistake."""
        return self.tried(lambda fields: fields.need(key, remedy).tried(read, otherwise), otherwise)

    def only(self, *known: str) -> bool:
        """Record unknown keys as mistakes. Return whether the mapping contains only known keys."""
        unknown = [key for key in self.values if key not in known]
        for key in unknown:
            self.document.add(self.key_error(key, f"unknown word '{shortened(key)}'", did_you_mean(key, known)))
        return not unknown

    def key_error(self, key: str, problem: str, remedy: str = "") -> ScriptError:
        """Return an error that points to a key."""
        return ScriptError(self.keys[key], self.field or "script", problem, remedy)

    def warn(self, key: str, problem: str) -> None:
        """Record a warning that points to a key."""
        self.document.warnings.append(self.key_error(key, problem))

    def key_node(self, key: str) -> Text:
        """Return a node that contains the text and the place of a key."""
        place = self.keys[key]
        return Text(self.document, place.line, place.column, self.path, key)

    def what(self) -> str:
        return "a mapping"


def shortened(text: str, limit: int = 40) -> str:
    """Shorten text for a one-line message."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def read_file(path: str | FilePath, remedy: str) -> str:
    """Read the text of a file. `remedy` is the advice in error messages.

    Raises:
        InputError: the file cannot be read, is too large, is empty, or is not text.
    """
    text = text_file.read_text(path, "a script is YAML text in UTF-8", remedy)
    if not text.strip():
        raise ScriptError(Place(str(path), 1, 1), "", "the file is empty", "a script needs at least 'cluster:'")
    return text


def parse(text: str, source: str) -> Fields:
    """Parse YAML text and return its root mapping.

    Raises:
        ScriptError: the text is not valid YAML, is empty, or uses YAML features that scripts cannot use.
    """
    try:
        with gc_disabled():
            root = _Builder(Document(source), yaml.parse(text, Loader=_LOADER)).whole()
    except yaml.MarkedYAMLError as wrong:
        mark = wrong.problem_mark or wrong.context_mark
        place = Place(source, mark.line + 1, mark.column + 1) if mark is not None else Place(source, 1, 1)
        raise ScriptError(place, "", f"not valid YAML: {shortened(str(wrong.problem or wrong.context or wrong), 100)}") from None
    except yaml.reader.ReaderError as wrong:
        before = text[: wrong.position]
        place = Place(source, before.count("\n") + 1, wrong.position - (before.rfind("\n") + 1) + 1)
        raise ScriptError(place, "", "the file contains control characters", "a script is YAML text in UTF-8") from None
    except yaml.YAMLError as wrong:
        raise ScriptError(Place(source, 1, 1), "", f"not valid YAML: {shortened(str(wrong), 100)}") from None
    if root is None:
        raise ScriptError(Place(source, 1, 1), "", "the file is empty", "a script needs at least 'cluster:'")
    return _mapping(root)


def from_data(data: object, source: str) -> Fields:
    """Build the root mapping from decoded JSON data. Decoded data has no line numbers, so every value gets line 1 as its place.

    Raises:
        ScriptError: the data is not a mapping, or is nested too deeply.
    """
    with gc_disabled():
        return _mapping(_node_of(data, Document(source), "", 0))


def _mapping(root: Node) -> Fields:
    if not isinstance(root, Fields):
        raise ScriptError(
            root.place,
            "",
            f"the script is {root.what()}",
            "a script is a mapping with 'scenario:', 'cluster:', and 'timeline:' or 'steps:'",
        )
    return root


def _node_of(data: object, document: Document, path: Path, depth: int) -> Node:
    if depth > MAX_DEPTH:
        raise Node(document, 1, 1, path).error(
            f"there are more than {MAX_DEPTH} levels of nesting", "no field of a script is nested that deeply"
        )
    if isinstance(data, dict):
        place = Place(document.source, 1, 1)
        values = {str(key): _node_of(value, document, (path, str(key)), depth + 1) for key, value in data.items()}
        return Fields(document, 1, 1, path, values, dict.fromkeys(values, place))
    if isinstance(data, list):
        nodes = tuple([_node_of(item, document, (path, number), depth + 1) for number, item in enumerate(data, start=1)])
        return Items(document, 1, 1, path, nodes)
    if data is None:
        return Text(document, 1, 1, path, "")
    return Text(document, 1, 1, path, str(data).lower() if isinstance(data, bool) else str(data), quoted=isinstance(data, str))


class _Builder:
    """Builds nodes from the events of the YAML parser."""

    def __init__(self, document: Document, events: Iterator[Any]) -> None:
        self.document = document
        self.events = events
        self.count = 0

    def whole(self) -> Node | None:
        """Build the root node of the YAML stream. Return None if the document is missing or empty."""
        root: Node | None = None
        for event in self.events:
            if isinstance(event, (yaml.StreamStartEvent, yaml.StreamEndEvent, yaml.DocumentEndEvent)):
                continue
            if isinstance(event, yaml.DocumentStartEvent):
                if root is not None:
                    raise self.error(event, "", "a second YAML document starts here", "a script must be a single document")
                root = self.node(next(self.events), "", 0)
        return root if not (isinstance(root, Text) and root.empty) else None

    def error(self, event: Any, path: Path, problem: str, remedy: str) -> ScriptError:
        return Node(self.document, event.start_mark.line + 1, event.start_mark.column + 1, path).error(problem, remedy)

    def node(self, event: Any, path: Path, depth: int) -> Node:
        """Build the node that begins with a given event of the YAML parser."""
        mark: Any = event.start_mark
        if type(event) is yaml.ScalarEvent and event.anchor is None and event.tag is None and depth <= MAX_DEPTH:
            end: Any = event.end_mark
            same_line = bool(mark.line == end.line)
            return Text(self.document, mark.line + 1, mark.column + 1, path, event.value, bool(event.style), same_line)
        self.check(event, path, depth)
        if isinstance(event, yaml.SequenceStartEvent):
            return self.items(mark, path, depth)
        return self.fields(mark, path, depth)

    def check(self, event: Any, path: Path, depth: int) -> None:
        """Reject aliases, anchors, tags, and nesting that is too deep."""
        if isinstance(event, yaml.AliasEvent):
            alias = shortened(str(event.anchor))
            raise self.error(event, path, f"the alias *{alias} is refused", "scripts cannot contain anchors or aliases; repeat the value")
        if event.anchor is not None:
            anchor = shortened(event.anchor)
            raise self.error(event, path, f"the anchor &{anchor} is refused", "scripts cannot contain anchors or aliases; repeat the value")
        if event.tag is not None:
            raise self.error(event, path, f"the tag {shortened(event.tag)} is refused", "scripts contain only plain values")
        if depth > MAX_DEPTH:
            raise self.error(event, "", f"there are more than {MAX_DEPTH} levels of nesting", "no field of a script is nested that deeply")

    def counted(self, event: Any, path: Path, inside: int) -> None:
        """Count a value, and reject it if there are too many values in the script or in the enclosing list or mapping."""
        self.count += 1
        if inside >= MAX_ITEMS:
            raise self.error(event, path, f"there are more than {MAX_ITEMS:,} entries", "no list or mapping of a script is that long")
        if self.count > MAX_VALUES:
            raise self.error(
                event, path, f"there are more than {MAX_VALUES:,} values", f"the limit is enough for {MAX_PARTITIONS:,} placed partitions"
            )

    def items(self, mark: Any, path: Path, depth: int) -> Items:
        nodes: list[Node] = []
        while type(event := next(self.events)) is not yaml.SequenceEndEvent:
            self.counted(event, path, len(nodes))
            nodes.append(self.node(event, (path, len(nodes) + 1), depth + 1))
        return Items(self.document, mark.line + 1, mark.column + 1, path, tuple(nodes))

    def fields(self, mark: Any, path: Path, depth: int) -> Fields:
        values: dict[str, Node] = {}
        keys: dict[str, Place] = {}
        while type(event := next(self.events)) is not yaml.MappingEndEvent:
            self.counted(event, path, len(values))
            key_node = self.node(event, path, depth + 1)
            if not isinstance(key_node, Text):
                raise key_node.error(f"expected a key, not {key_node.what()}", "a key must be a plain word")
            key = sys.intern(key_node.text)
            if key == "<<" and not key_node.quoted:
                raise key_node.error("the merge key << is refused", "repeat the fields instead of merging them")
            value = self.node(next(self.events), (path, key), depth + 1)
            if key in values:
                self.document.add(key_node.error(f"'{shortened(key)}' appears twice", f"the key is already on line {keys[key].line}"))
                continue
            keys[key] = key_node.place
            values[key] = value
        return Fields(self.document, mark.line + 1, mark.column + 1, path, values, keys)
