"""Finds the lines of `kafka-topics --describe` in pasted text, and splits them into columns.

Prompts and command lines are skipped. Color codes, Windows line endings, quote marks, and log prefixes are removed, and spaces in place of
tabs are accepted. A wrapped line is joined to the line that it continues. All other lines are ignored, and notes report them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import attrs

KNOWN_COLUMNS: Final = frozenset(
    {
        "topic",
        "topicid",
        "partitioncount",
        "replicationfactor",
        "configs",
        "partition",
        "leader",
        "replicas",
        "isr",
        "addingreplicas",
        "removingreplicas",
        "elr",
        "lastknownelr",
        "markedfordeletion",
    }
)
"""The columns that Kafka's tool prints, as `column_key` writes them."""

CONFLUENT_COLUMNS: Final = frozenset({"offline", "observers", "liveobservers"})
"""The additional columns in a row of Confluent Server's tool, as `column_key` writes them."""

_TYPICAL: Final = re.compile(r"^[^#\n]*\bTopic:\s*\S+.*\bPartition(?:Count)?:", re.MULTILINE)
"""The beginning of a headline or row."""

_HEADLINE_COLUMNS: Final = frozenset({"topicid", "partitioncount", "replicationfactor", "configs", "markedfordeletion"})
_ROW_COLUMNS: Final = (KNOWN_COLUMNS | CONFLUENT_COLUMNS) - {"topic", "topicid", "partitioncount", "replicationfactor", "configs"}
_EITHER: Final = frozenset({"markedfordeletion"})

_ESCAPES: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][0-9A-B]")
_DESCRIBE: Final = re.compile(r"(?:[A-Za-z0-9_.-]*[ \t]*\|)?[>\s]*(?=(?:Topic|Partition):)")
"""Matches the text before a describe line: spaces, quote marks, and the prefix that container tools add to each log line."""

_BLANK: Final = re.compile(r"(?:[A-Za-z0-9_.-]+[ \t]*\|)?[>\s]*")
"""Matches a line that contains only quote marks and the prefix that container tools add to each log line."""

_DESCRIBES: Final = re.compile(r"(?:^|\s)(?:Topic|Partition):")
"""Matches `Topic:` or `Partition:` anywhere in a line."""

_COLUMN: Final = re.compile(
    r"(?:(?<=\t)|(?<=  )|^)([A-Z][A-Za-z]*(?: [A-Z][A-Za-z]*)+):|(?:(?<=\s)|^)((?:Adding |Removing )?[A-Z][A-Za-z]*):"
)
"""Matches the name of a column: one word, or several words after a tab or at least two spaces."""

_PROMPT: Final = re.compile(
    r"(?:PS )?[A-Za-z]:\\[^>]{0,200}>|(?:\([^()]{0,80}\) ?)?(?:\[[^\[\]]{0,200}\]|[\w.@~:/-]{0,200}) ?[$#%>❯](?:\s|$)"
)
_COMMAND: Final = re.compile(r"(?:[\w./\\:-]{0,200}[/\\])?kafka-topics(?:\.sh|\.bat)?(?:\s|$)")
_FENCE: Final = re.compile(r"```\w*$")
_SETTING: Final = re.compile(r"[A-Za-z][A-Za-z0-9._-]*=")
_SHOWN: Final = 80


@attrs.define
class DescribeLine:
    """A line of `kafka-topics --describe` with its line number, and its columns as (name as written, value)."""

    line: int
    columns: list[tuple[str, str]]
    wrapped: list[str] = attrs.Factory(list)
    """The pieces of the `Configs` column on the following lines; empty unless `Configs` is the last column."""

    @property
    def keys(self) -> set[str]:
        """The names of the columns of this line, as `column_key` writes them."""
        return {column_key(name) for name, _ in self.columns}


def looks_like_describe(text: str) -> bool:
    """Return whether a text contains output of `kafka-topics --describe`."""
    return _TYPICAL.search(text) is not None


def column_key(name: str) -> str:
    """Return the name of a column in lower case and without spaces, as in `KNOWN_COLUMNS`."""
    return name.replace(" ", "").lower()


def shown(text: str) -> str:
    """Quote text for a message as one short line of printable characters."""
    cut = text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
    return "'" + "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in cut) + "'"


def split_lines(text: str, note: Callable[[int, str], None]) -> list[DescribeLine]:
    """Return the lines of pasted text that come from `kafka-topics --describe`, in order.

    A row that does not name its topic is assigned to the last topic above the row. A note reports the rows that do not name their topic.

    Args:
        text: the text as pasted, or as read from a file.
        note: the function that receives the number and a description of each line that is not a describe line, a prompt, or a command.
    """
    splitter = _Splitter(note)
    for number, line in enumerate(plain_lines(text), start=1):
        splitter.take(number, line)
    return splitter.finish()


def plain_lines(text: str) -> list[str]:
    """Return the lines of pasted text without color codes. Lines can have Unix, Windows, or classic Mac OS line endings."""
    plain = _ESCAPES.sub("", text.removeprefix("\ufeff")).replace("\xa0", " ")
    return plain.replace("\r\r\n", "\n").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def is_prompt(bare: str) -> bool:
    """Return whether a line, without leading and trailing spaces, is a prompt or a Markdown code fence."""
    return _PROMPT.match(bare) is not None or _FENCE.match(bare) is not None


class _Splitter:
    """A splitter that finds the output of `kafka-topics --describe` in pasted text, line by line.

    Attributes:
        found: the lines of `kafka-topics --describe` that have been found so far.
        previous: the line that the next line can continue.
        configs: the `Configs` column of `previous`, if the next line can continue this column.
        lone: a line that contains only `Topic: name`. The parser uses this line only if the next line continues it.
        above: the topic that was described last, with its line number; a row without a topic belongs to this topic.
        nameless: the rows that omit the name of their topic. The key is the number of the line that describes the topic, and the value is
            (line number of the first of these rows, topic, number of rows).
    """

    def __init__(self, note: Callable[[int, str], None]) -> None:
        self.note = note
        self.found: list[DescribeLine] = []
        self.previous: DescribeLine | None = None
        self.configs: _OpenConfigs | None = None
        self.lone: DescribeLine | None = None
        self.above: tuple[str, int] | None = None
        self.nameless: dict[int, tuple[int, str, int]] = {}
        self.in_command = False

    def finish(self) -> list[DescribeLine]:
        """Write the remaining notes and return all describe lines."""
        self._drop_lone()
        for above, (first, topic, count) in self.nameless.items():
            more = "" if count == 1 else " (and so does 1 more row)" if count == 2 else f" (and so do {count - 1} more rows)"
            self.note(first, f"the row names no topic; it is read as a row of topic {shown(topic)}, described at line {above}{more}")
        return self.found

    def take(self, number: int, line: str) -> None:
        """Process the next line of the pasted text."""
        bare = line.strip()
        if self.in_command:
            self.in_command = bare.endswith("\\")
            return
        start = _DESCRIBE.match(line)
        if start is not None and self._describes(number, line[start.end() :]):
            return
        if _BLANK.fullmatch(line) is not None:
            self._drop_lone()
            self.previous = None
            self.configs = self.configs if self.configs is not None and self.configs.after_comma else None
            return
        if (_PROMPT.match(bare) or _COMMAND.match(bare) or _FENCE.match(bare)) and not _DESCRIBES.search(bare):
            self.in_command = bare.endswith("\\")
            self._forget()
            self.above = None
            return
        if start is None and self._continues(bare):
            return
        if start is None and self.configs is not None:
            doubt = self.configs.take(bare)
            if doubt is not None:
                if doubt:
                    self.note(number, doubt)
                return
        self.note(number, f"ignored because it is not a line of kafka-topics --describe: {shown(bare)}")
        self._forget()

    def _describes(self, number: int, text: str) -> bool:
        """Process a line that begins with `Topic:` or `Partition:`. Return False if the line is not output of `kafka-topics --describe`."""
        columns = split_columns(text)
        if column_key(columns[0][0]) == "topic":
            if len(columns) > 1:
                self._add(DescribeLine(number, columns))
                return True
            self._drop_lone()
            if not columns[0][1] or len(columns[0][1].split()) > 1:
                return False
            self._forget()
            self.lone = self.previous = DescribeLine(number, columns)
            return True
        if self.lone is not None and self._continues(text):
            return True
        if len(columns) == 1:
            return False
        if self.above is None:
            self.note(number, f"ignored because the row names no topic, and no topic is above it: {shown(text.strip())}")
            self._forget()
            return True
        topic, line = self.above
        first, _, count = self.nameless.get(line, (number, topic, 0))
        self.nameless[line] = (first, topic, count + 1)
        self._add(DescribeLine(number, [("Topic", topic), *columns]))
        self.above = topic, line
        return True

    def _add(self, line: DescribeLine) -> None:
        self._drop_lone()
        self.previous = line
        self.configs = _OpenConfigs.of(line)
        self.above = line.columns[0][1], line.line
        self.found.append(line)

    def _continues(self, bare: str) -> bool:
        """Append a piece to the previous line if the piece begins with a known column that such a line can have and that this line lacks."""
        previous = self.previous
        first = _COLUMN.match(bare)
        if previous is None or first is None:
            return False
        keys = previous.keys
        key = column_key(first[1] or first[2])
        if key in keys or key not in _may_follow(keys):
            return False
        previous.columns.extend(split_columns(bare))
        if self.lone is not None:
            self.lone = None
            self._add(previous)
        self.configs = _OpenConfigs.of(previous)
        return True

    def _drop_lone(self) -> None:
        if self.lone is not None:
            self.note(self.lone.line, f"ignored because the line does not describe the topic: {shown(self.lone.columns[0][1])}")
            self.lone = self.previous = None

    def _forget(self) -> None:
        self._drop_lone()
        self.previous = self.configs = None


def split_columns(text: str) -> list[tuple[str, str]]:
    """Split a line such as `Topic: t<TAB>Leader: 1` into [(Topic, t), (Leader, 1)]. Columns can be separated by tabs or single spaces."""
    marks = list(_COLUMN.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return [(mark[1] or mark[2], text[mark.end() : end].strip()) for mark, end in zip(marks, ends, strict=True)]


def split_settings(text: str) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the settings of a `Configs` column, and the pieces before the first setting.

    A comma separates two settings only if a name and `=` follow it. For example, `cleanup.policy=compact,delete` is one setting.
    """
    names: list[str] = []
    values: list[list[str]] = []
    strays: list[str] = []
    for piece in text.split(","):
        bare = piece.strip()
        if _SETTING.match(bare):
            name, _, value = bare.partition("=")
            names.append(name)
            values.append([value])
        elif values:
            values[-1].append(bare)
        elif bare:
            strays.append(bare)
    while values and len(values[-1]) > 1 and not values[-1][-1]:
        values[-1].pop()
    return [(name, ",".join(value)) for name, value in zip(names, values, strict=True)], strays


def _may_follow(keys: set[str]) -> frozenset[str]:
    """Return the columns with which the continuation of a wrapped line can begin. `keys` are the columns that the line already has."""
    own = keys - _EITHER
    if own & _ROW_COLUMNS:
        return _ROW_COLUMNS - {"partition"}
    return _HEADLINE_COLUMNS if own & _HEADLINE_COLUMNS else _ROW_COLUMNS | _HEADLINE_COLUMNS


@attrs.define
class _OpenConfigs:
    """A `Configs` column that ends one line and can continue on the next line."""

    of_line: DescribeLine
    empty: bool
    after_comma: bool
    tail_has_value: bool
    """Whether the `Configs` column contains an `=` after its last comma."""

    @classmethod
    def of(cls, line: DescribeLine) -> _OpenConfigs | None:
        name, value = line.columns[-1]
        if column_key(name) != "configs":
            return None
        return cls(line, not value, value.endswith(","), "=" in value.rpartition(",")[2])

    def take(self, piece: str) -> str | None:
        """Append a piece of text to the open column.

        Decide whether the next piece of text continues the column. Return an empty string if the piece certainly continues the column, a
        note if the piece probably continues the column, or None if the piece does not continue the column.
        """
        if " " in piece.replace(", ", ",") or "\t" in piece or not ("=" in piece or "," in piece or piece.isdecimal() or self.after_comma):
            return None
        whole = _SETTING.match(piece) is not None
        doubt, glue = "", ""
        if self.empty:
            if not whole:
                return None
        elif self.after_comma:
            if not whole:
                if "=" in piece.partition(",")[0]:
                    return None
                doubt = f"read as a continuation of the last value in the Configs column on line {self.of_line.line}: {shown(piece)}"
        elif not piece.startswith(","):
            if whole and self.tail_has_value:
                glue = ","
                doubt = f"read as another setting in the Configs column on line {self.of_line.line}, although there is no comma before it: {shown(piece)}"
            else:
                doubt = f"read as a continuation of the Configs column on line {self.of_line.line}: {shown(piece)}"
        self.of_line.wrapped.append(glue + piece)
        self.empty = False
        self.after_comma = piece.endswith(",")
        _, comma, last = piece.rpartition(",")
        self.tail_has_value = "=" in last or (not comma and not glue and self.tail_has_value)
        return doubt
