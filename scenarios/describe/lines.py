"""From a pasted text to describe lines split into columns: what surrounds and deforms such a text is undone here.

Prompts and command lines are passed over; colour codes, Windows line ends, tabs turned into spaces, quote marks and
log prefixes are removed; a line that was wrapped is joined to the one it continues. Every other line is reported.
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
"""The columns Kafka's tool prints, by `column_key`."""

_ESCAPES: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][0-9A-B]")
_DESCRIBE: Final = re.compile(r"(?:[A-Za-z0-9_.-]*[ \t]*\|)?[>\s]*(?=Topic:)")
"""What may stand before a describe line: space, quote marks, the prefix of a container's log."""

_COLUMN: Final = re.compile(
    r"(?:(?<=\t)|(?<=  )|^)([A-Z][A-Za-z]*(?: [A-Z][A-Za-z]*)+):|(?:(?<=\s)|^)((?:Adding |Removing )?[A-Z][A-Za-z]*):"
)
"""A column's name: one word, or several words when a wide gap stands before it."""

_PROMPT: Final = re.compile(
    r"(?:PS )?[A-Za-z]:\\[^>]{0,200}>|(?:\([^()]{0,80}\) ?)?(?:\[[^\[\]]{0,200}\]|[\w.@~:/-]{0,200}) ?[$#%>❯](?:\s|$)"
)
_COMMAND: Final = re.compile(r"(?:[\w./\\:-]{0,200}[/\\])?kafka-topics(?:\.sh|\.bat)?(?:\s|$)")
_FENCE: Final = re.compile(r"```\w*$")
_SETTING: Final = re.compile(r"[A-Za-z][A-Za-z0-9._-]*=")
_SHOWN: Final = 80


@attrs.define
class DescribeLine:
    """A describe line: where it began, and its columns as (name as written, value)."""

    line: int
    columns: list[tuple[str, str]]
    wrapped: list[str] = attrs.Factory(list)
    """Further pieces of its `Configs` column, which is then its last."""

    @property
    def keys(self) -> set[str]:
        """Which columns it has."""
        return {column_key(name) for name, _ in self.columns}


def column_key(name: str) -> str:
    """A column's name without spaces and case, as `KNOWN_COLUMNS` has it."""
    return name.replace(" ", "").lower()


def shown(text: str) -> str:
    """A piece of the text as a message quotes it: one line, printable, not long."""
    cut = text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
    return "'" + "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in cut) + "'"


def split_lines(text: str, note: Callable[[int, str], None]) -> list[DescribeLine]:
    """The describe lines of a text, in order.

    Args:
        text: as pasted or read.
        note: called with line number and words for each line that is none and is not recognised as a prompt or command.
    """
    plain = _ESCAPES.sub("", text.removeprefix("\ufeff")).replace("\xa0", " ")
    lines = plain.replace("\r\r\n", "\n").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    found: list[DescribeLine] = []
    configs: _OpenConfigs | None = None
    previous: DescribeLine | None = None
    in_command = False
    for number, line in enumerate(lines, start=1):
        bare = line.strip()
        if in_command:
            in_command = bare.endswith("\\")
            continue
        start = _DESCRIBE.match(line)
        if start is not None:
            columns = split_columns(line[start.end() :])
            if len(columns) > 1:
                previous = DescribeLine(number, columns)
                configs = _OpenConfigs.of(previous)
                found.append(previous)
                continue
        if not bare:
            previous = None
            configs = configs if configs is not None and configs.after_comma else None
            continue
        if _PROMPT.match(bare) or _COMMAND.match(bare) or _FENCE.match(bare):
            in_command = bare.endswith("\\")
            previous = configs = None
            continue
        if start is None and previous is not None and _continues(previous, bare):
            previous.columns.extend(split_columns(bare))
            configs = _OpenConfigs.of(previous)
            continue
        if start is None and configs is not None:
            doubt = configs.take(bare)
            if doubt is not None:
                if doubt:
                    note(number, doubt)
                continue
        note(number, f"left out, it is no line of kafka-topics --describe: {shown(bare)}")
        previous = configs = None
    return found


def split_columns(text: str) -> list[tuple[str, str]]:
    """`Topic: t<TAB>Leader: 1` → [(Topic, t), (Leader, 1)]; single spaces separate as well as tabs do."""
    marks = list(_COLUMN.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return [(mark[1] or mark[2], text[mark.end() : end].strip()) for mark, end in zip(marks, ends, strict=True)]


def split_settings(text: str) -> tuple[list[tuple[str, str]], list[str]]:
    """The settings of a `Configs` column, and pieces at its front that belong to none.

    A comma separates two settings only where a name and `=` follow it: `cleanup.policy=compact,delete` is one setting.
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


def _continues(previous: DescribeLine, bare: str) -> bool:
    """Whether a line begins with a known column that the line before it still lacks."""
    first = _COLUMN.match(bare)
    if first is None:
        return False
    key = column_key(first[1] or first[2])
    return key in KNOWN_COLUMNS and key not in previous.keys


@attrs.define
class _OpenConfigs:
    """A `Configs` column at the end of a line, which the next line may continue."""

    of_line: DescribeLine
    empty: bool
    after_comma: bool
    tail_has_value: bool
    """Whether an `=` stands after the last comma that separates."""

    @classmethod
    def of(cls, line: DescribeLine) -> _OpenConfigs | None:
        name, value = line.columns[-1]
        if column_key(name) != "configs":
            return None
        return cls(line, not value, value.endswith(","), "=" in value.rpartition(",")[2])

    def take(self, piece: str) -> str | None:
        """Join a piece; returns a note when that was not certain, '' when it was, None when it does not belong here."""
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
                doubt = f"read as more of the last value of the Configs at line {self.of_line.line}: {shown(piece)}"
        elif not piece.startswith(","):
            if whole and self.tail_has_value:
                glue = ","
                doubt = f"read as a further setting of the Configs at line {self.of_line.line}, though no comma stands before it: {shown(piece)}"
            else:
                doubt = f"read as the wrapped rest of the Configs at line {self.of_line.line}: {shown(piece)}"
        self.of_line.wrapped.append(glue + piece)
        self.empty = False
        self.after_comma = piece.endswith(",")
        _, comma, last = piece.rpartition(",")
        self.tail_has_value = "=" in last or (not comma and not glue and self.tail_has_value)
        return doubt
