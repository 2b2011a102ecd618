"""Finds the tables of `kafka-consumer-groups --describe` in pasted text, and splits their rows into cells.

Kafka pads the cells, so a cell begins where its title begins, and names can contain spaces. If the pasted text has lost the padding, a row
is split at its remaining spaces instead.
"""

from __future__ import annotations

import re
from typing import Final

import attrs

_INT: Final = re.compile(r"[0-9]{1,19}")
_SIGNED: Final = re.compile(r"-?[0-9]{1,19}|-|unknown")
_OPTIONAL: Final = re.compile(r"[0-9]{1,19}|-|")
_TOPIC: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")
_HOST: Final = re.compile(r"/\S*|-")
_WORD: Final = re.compile(r"[A-Za-z]+")
_ANY: Final = re.compile(r".*", re.DOTALL)
_SOME: Final = re.compile(r".+", re.DOTALL)
_LISTED: Final = re.compile(r"(?:[A-Za-z0-9._-]+:[0-9,]+(?:;[A-Za-z0-9._-]+:[0-9,]+)*)|-|")
_COORDINATOR: Final = re.compile(r"(\S*?)\s*\((-?[0-9]{1,10})\)")
_ID: Final = re.compile(r"\(-?[0-9]{1,10}\)")

CELLS: Final[dict[str, re.Pattern[str]]] = {
    "GROUP": _SOME,
    "TOPIC": _TOPIC,
    "PARTITION": _INT,
    "LEADER-EPOCH": _SIGNED,
    "CURRENT-OFFSET": _SIGNED,
    "LOG-END-OFFSET": _SIGNED,
    "LAG": _SIGNED,
    "CONSUMER-ID": _SOME,
    "GROUP-INSTANCE-ID": _ANY,
    "HOST": _HOST,
    "CLIENT-ID": _SOME,
    "OWNER": _SOME,
    "#PARTITIONS": _INT,
    "ASSIGNMENT": _ANY,
    "CURRENT-EPOCH": _OPTIONAL,
    "CURRENT-ASSIGNMENT": _LISTED,
    "TARGET-EPOCH": _OPTIONAL,
    "TARGET-ASSIGNMENT": _LISTED,
    "UPGRADED": re.compile(r"true|false"),
    "COORDINATOR (ID)": _COORDINATOR,
    "ASSIGNMENT-STRATEGY": re.compile(r"\S*"),
    "STATE": _WORD,
    "GROUP-EPOCH": _OPTIONAL,
    "TARGET-ASSIGNMENT-EPOCH": _OPTIONAL,
    "#MEMBERS": _INT,
}
"""The columns that the tool prints in any view of any release, each with the pattern that its cells match."""

VIEWS: Final = {
    "CURRENT-OFFSET": frozenset({"TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET"}),
    "#PARTITIONS": frozenset({"CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS"}),
    "#MEMBERS": frozenset({"COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS"}),
}
"""For each view (offsets, members, and state), the column that distinguishes it, with the columns that the view has in all releases."""

MAX_LINE: Final = 100_000
"""The maximum length of a line that is read as a row."""

_TITLE: Final = re.compile(r"COORDINATOR \(ID\)|(?:CURRENT|LOG END) OFFSET|[#A-Z][A-Z-]*")
_PREFIX: Final = re.compile(r"(?:[A-Za-z0-9_.-]+[ \t]+\|[ \t])?[>\s]*")
"""Matches quote marks and the prefix that container tools add to each log line."""


@attrs.frozen
class Table:
    """The title line of a table in the output.

    Attributes:
        titles: the names of the columns.
        starts: the position in the line at which each title begins.
        commas: whether commas separate the cells, as in release 0.9.
    """

    titles: tuple[str, ...]
    starts: tuple[int, ...]
    commas: bool = False

    @property
    def view(self) -> str:
        """The view that the table shows: the key of `VIEWS` that is one of the table's column names."""
        return next(mark for mark in VIEWS if mark in self.titles)

    def cells(self, line: str) -> dict[str, str] | None:
        """Return the cells of a row by their titles; None if the line is not a row of this table."""
        if len(line) > MAX_LINE:
            return None
        bare = body(line)
        if self.commas:
            return self._checked([cell.strip() for cell in bare.rsplit(", ", len(self.titles) - 1)])
        return self._checked(self._at_titles(bare)) or self._checked(self._between_spaces(bare))

    def _checked(self, cells: list[str]) -> dict[str, str] | None:
        if len(cells) != len(self.titles) or any(
            CELLS[title].fullmatch(cell) is None for title, cell in zip(self.titles, cells, strict=True)
        ):
            return None
        return dict(zip(self.titles, cells, strict=True))

    def _at_titles(self, line: str) -> list[str]:
        for start in self.starts[1:]:
            if not line[start - 1 : start].isspace() and line[start : start + 1] not in ("", "/"):
                return []
        return [line[start:end].strip() for start, end in zip(self.starts, (*self.starts[1:], None), strict=True)]

    def _between_spaces(self, line: str) -> list[str]:
        """Return the cells of a row in which names contain no spaces. A row can omit its empty cells."""
        words = line.split()
        titles = self.titles
        if "COORDINATOR (ID)" in titles:
            at = titles.index("COORDINATOR (ID)")
            if len(words) > at + 1 and _ID.fullmatch(words[at + 1]):
                words[at : at + 2] = [f"{words[at]} {words[at + 1]}"]
            if len(words) == len(titles) - 1:
                words.insert(titles.index("ASSIGNMENT-STRATEGY"), "")
        if "HOST" in titles:
            at = titles.index("HOST") - 1
            if titles[at] == "GROUP-INSTANCE-ID" and words[at : at + 1] and words[at].startswith("/"):
                words.insert(at, "")
            elif len(words) == len(titles) - 1 and "/" in words[at][1:]:
                before, _, host = words[at].rpartition("/")
                words[at : at + 1] = [before, f"/{host}"]
        if titles[-1] == "ASSIGNMENT" and len(words) > len(titles):
            words[len(titles) - 1 :] = [" ".join(words[len(titles) - 1 :])]
        return words


def body(line: str) -> str:
    """Return a line without quote marks and without the prefix that container tools add to each log line."""
    start = _PREFIX.match(line)
    return line[start.end() :] if start is not None else line


def table_of(line: str) -> Table | None:
    """Return the table whose column titles are in the line; None if the line is not a title line."""
    if len(line) > MAX_LINE or not any(mark in line for mark in (*VIEWS, "CURRENT OFFSET")):
        return None
    bare = body(line)
    found = list(_TITLE.finditer(bare))
    titles = tuple(each.group().replace(" OFFSET", "-OFFSET").replace("LOG END", "LOG-END") for each in found)
    if len(set(titles)) < len(titles) or not set(titles) <= CELLS.keys():
        return None
    if not any(needed <= set(titles) for needed in VIEWS.values()) or sum(mark in titles for mark in VIEWS) != 1:
        return None
    if re.sub(r"[\s,]", "", _TITLE.sub("", bare)):
        return None
    return Table(titles, tuple(each.start() for each in found), commas=", " in bare)


def coordinator_of(cell: str) -> tuple[str, int]:
    """Return the address and the broker ID that a cell of the column `COORDINATOR (ID)` contains; an empty address and -1 if the cell has a
    different form.
    """
    found = _COORDINATOR.fullmatch(cell)
    return ("", -1) if found is None else (found[1], int(found[2]))
