"""A YAML text as nodes that know their place and their field, every value still the text that was written.

Built from the parser's events instead of YAML's own constructors, so that `4.1` and `1_000` stay text, and so that what
has no business in a script is refused where it stands: repeated keys, anchors and aliases, tags, several documents,
nesting without end, bytes that are no text.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import attrs
import yaml

from scenarios import textfile
from scenarios.errors import Place, ScriptError, did_you_mean

MAX_DEPTH: Final = 24
"""Deepest nesting of lists and mappings; the language itself needs seven."""

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@attrs.frozen(repr=False)
class Node:
    """A value in a script: where it stands and the path of its field."""

    place: Place
    field: str

    def error(self, problem: str, remedy: str = "") -> ScriptError:
        """The error to raise about this value."""
        return ScriptError(self.place, self.field, problem, remedy)

    def what(self) -> str:
        """What kind of value it is, in words."""
        return "a value"


@attrs.frozen(repr=False)
class Text(Node):
    """A single value as it was written; `quoted` in YAML quotes or as a block; `inline` on one line, so columns can be counted in it."""

    text: str
    quoted: bool = False
    inline: bool = True

    @property
    def empty(self) -> bool:
        """Whether nothing was written: no text, `~` or `null`."""
        return not self.quoted and self.text in ("", "~", "null", "Null", "NULL")

    def what(self) -> str:
        return "nothing" if self.empty else f"'{shortened(self.text)}'"

    def place_at(self, offset: int) -> Place:
        """The place of a character in the text."""
        if not self.inline:
            return self.place
        return Place(self.place.source, self.place.line, self.place.column + offset + (1 if self.quoted else 0))


@attrs.frozen(repr=False)
class Items(Node):
    """A list."""

    nodes: tuple[Node, ...]

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def what(self) -> str:
        return "a list"


@attrs.frozen(repr=False)
class Fields(Node):
    """A mapping: the values by key in the order written, and the place of each key."""

    values: dict[str, Node]
    keys: dict[str, Place]

    def get(self, key: str) -> Node | None:
        """The value of a key; None when it is missing or empty."""
        node = self.values.get(key)
        return None if isinstance(node, Text) and node.empty else node

    def need(self, key: str, remedy: str) -> Node:
        """The value of a key that must be there."""
        node = self.get(key)
        if node is None:
            raise self.error(f"'{key}' is missing", remedy)
        return node

    def only(self, *known: str) -> None:
        """Refuse keys that are none of the known ones."""
        for key in self.values:
            if key not in known:
                raise self.key_error(key, f"unknown word '{shortened(key)}'", did_you_mean(key, known))

    def key_error(self, key: str, problem: str, remedy: str = "") -> ScriptError:
        """The error to raise about a key."""
        return ScriptError(self.keys[key], self.field or "script", problem, remedy)

    def what(self) -> str:
        return "a mapping"


def shortened(text: str, limit: int = 40) -> str:
    """A text made fit for a one-line message."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def read_file(path: str | Path, remedy: str) -> str:
    """The text in a file; `remedy` says what should have been named.

    Raises:
        InputError: it cannot be read, is too large, or is no text.
    """
    text = textfile.read_text(path, "a script is YAML text in UTF-8", remedy)
    if not text.strip():
        raise ScriptError(Place(str(path), 1, 1), "", "the file is empty", "a script has at least a 'cluster:'")
    return text


def parse(text: str, source: str) -> Fields:
    """The root mapping of a YAML text.

    Raises:
        ScriptError: it is no YAML, or YAML that scripts do not use.
    """
    try:
        builder = _Builder(source, yaml.parse(text, Loader=_LOADER))
        root = builder.document()
    except yaml.MarkedYAMLError as wrong:
        mark = wrong.problem_mark or wrong.context_mark
        place = Place(source, mark.line + 1, mark.column + 1) if mark is not None else Place(source, 1, 1)
        raise ScriptError(place, "", f"this is not YAML: {shortened(str(wrong.problem or wrong.context or wrong), 100)}") from None
    except yaml.reader.ReaderError as wrong:
        before = text[: wrong.position]
        place = Place(source, before.count("\n") + 1, wrong.position - (before.rfind("\n") + 1) + 1)
        raise ScriptError(place, "", "the file holds control characters", "a script is YAML text in UTF-8") from None
    except yaml.YAMLError as wrong:
        raise ScriptError(Place(source, 1, 1), "", f"this is not YAML: {shortened(str(wrong), 100)}") from None
    if root is None:
        raise ScriptError(Place(source, 1, 1), "", "the file is empty", "a script has at least a 'cluster:'")
    if not isinstance(root, Fields):
        raise ScriptError(
            root.place, "", f"this is {root.what()}", "a script is a mapping with 'scenario:', 'cluster:' and 'timeline:' or 'steps:'"
        )
    return root


class _Builder:
    """Turns the parser's events into nodes."""

    def __init__(self, source: str, events: Iterator[Any]) -> None:
        self.source = source
        self.events = events

    def document(self) -> Node | None:
        """The one document of the stream; None when there is none."""
        root: Node | None = None
        for event in self.events:
            if isinstance(event, (yaml.StreamStartEvent, yaml.StreamEndEvent, yaml.DocumentEndEvent)):
                continue
            if isinstance(event, yaml.DocumentStartEvent):
                if root is not None:
                    raise ScriptError(self.place(event), "", "a second YAML document begins here", "a script is one document")
                root = self.node(next(self.events), "", 0)
        return root if not (isinstance(root, Text) and root.empty) else None

    def place(self, event: Any) -> Place:
        return Place(self.source, event.start_mark.line + 1, event.start_mark.column + 1)

    def node(self, event: Any, field: str, depth: int) -> Node:
        """The node that begins with this event."""
        place = self.place(event)
        if isinstance(event, yaml.AliasEvent):
            alias = shortened(str(event.anchor))
            raise ScriptError(place, field, f"the alias *{alias} is refused", "scripts have no anchors and aliases; write the value out")
        if getattr(event, "anchor", None) is not None:
            raise ScriptError(
                place,
                field,
                f"the anchor &{shortened(event.anchor)} is refused",
                "scripts have no anchors and aliases; write the value out",
            )
        if getattr(event, "tag", None) is not None:
            raise ScriptError(place, field, f"the tag {shortened(event.tag)} is refused", "scripts have plain values only")
        if depth > MAX_DEPTH:
            raise ScriptError(place, field[:60], f"nested deeper than {MAX_DEPTH} levels", "no field of a script is that deep")
        if isinstance(event, yaml.ScalarEvent):
            return self.text(event, place, field)
        if isinstance(event, yaml.SequenceStartEvent):
            return self.items(place, field, depth)
        return self.fields(place, field, depth)

    def text(self, event: Any, place: Place, field: str) -> Text:
        same_line = event.start_mark.line == event.end_mark.line
        return Text(place, field, event.value, quoted=bool(event.style), inline=same_line)

    def items(self, place: Place, field: str, depth: int) -> Items:
        nodes: list[Node] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            nodes.append(self.node(event, f"{field}[{len(nodes) + 1}]", depth + 1))
        return Items(place, field, tuple(nodes))

    def fields(self, place: Place, field: str, depth: int) -> Fields:
        values: dict[str, Node] = {}
        keys: dict[str, Place] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key_node = self.node(event, field, depth + 1)
            if not isinstance(key_node, Text):
                raise key_node.error(f"{key_node.what()} stands where a key belongs", "a key is a plain word")
            key = key_node.text
            if key == "<<" and not key_node.quoted:
                raise key_node.error("the merge key << is refused", "write the fields out")
            if key in values:
                raise ScriptError(key_node.place, field, f"'{shortened(key)}' stands twice", f"it stands on line {keys[key].line} already")
            keys[key] = key_node.place
            values[key] = self.node(next(self.events), f"{field}.{key}" if field else key, depth + 1)
        return Fields(place, field, values, keys)
