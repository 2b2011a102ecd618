"""Parses the output of `kafka-consumer-groups --describe` from any release, as people copy it from terminals, web pages, and tickets.

The text can contain several groups and several views (offsets, `--members`, and `--state`), each with or without `--verbose`. A note
reports each line that cannot be used. The parsing time is linear in the length of the pasted text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import attrs

from core.kafka.ids import NO_EPOCH, TopicPartition
from core.kafka.topic_spec import MAX_LEADER_EPOCH, MAX_OFFSET
from scenarios.describe.lines import is_prompt, plain_lines, shown
from scenarios.groups.described import DescribedEnd, GroupsError, GroupsImport
from scenarios.groups.facts import CLASSIC, CONSUMER, Committed, Group, Member
from scenarios.groups.table_rows import CELLS, Table, body, coordinator_of, table_of

MAX_NOTES: Final = 1_000
"""The maximum number of notes about single lines that the parser keeps. The parser only counts any further notes."""

MAX_MEMBERS: Final = 10_000
"""The maximum number of members of all groups together."""

_COMMAND: Final = re.compile(r"(?:^|[\s/\\])kafka-consumer-groups(?:\.sh|\.bat)?(?:\s|$)")
_OPTION: Final = re.compile(r"--group[ =]+(\"[^\"]*\"|'[^']*'|\S+)")
_NAMES: Final = re.compile(r"(?:Warning: )?Consumer group '(.*)' (?:has no active members|is rebalancing)\.")
_REMARK: Final = re.compile(r"Note: This will (?:not |only )?show information about .*")
_ASSIGNED: Final = re.compile(r"([A-Za-z0-9._-]*)\(([0-9]+(?:,[0-9]+)*)\)")
_RANDOM_ID: Final = re.compile(r"[A-Za-z0-9_-]{22}")


def parse_groups(texts: Sequence[tuple[str, str]]) -> GroupsImport:
    """Return the groups that the given texts describe, with notes of the form `source:line: ...` about the parts that could not be used.

    Args:
        texts: the outputs of `kafka-consumer-groups --describe`, each with the name of its source. All outputs must come from the same
            moment.

    Raises:
        GroupsError: one of the outputs contains no row of a table.
    """
    reader = _Reader()
    for text, source in texts:
        reader.read(text, source)
    return reader.finish(texts[0][1])


@attrs.define
class _MemberDraft:
    """The facts about a member that have been read so far."""

    client: str = ""
    host: str = ""
    instance_id: str = ""
    partitions: dict[TopicPartition, None] = attrs.Factory(dict)
    epoch: int | None = None
    target_epoch: int | None = None
    target: tuple[TopicPartition, ...] | None = None
    upgraded: bool | None = None


@attrs.define
class _GroupDraft:
    """The facts about a group that have been read so far."""

    members: dict[str, _MemberDraft] = attrs.Factory(dict)
    owners: dict[TopicPartition, str] = attrs.Factory(dict)
    offsets: dict[TopicPartition, Committed] = attrs.Factory(dict)
    state: str = ""
    assignor: str = ""
    coordinator: tuple[str, int] = ("", -1)
    epoch: int | None = None
    assignment_epoch: int | None = None
    counted: int = 0
    place: str = ""


class _Reader:
    def __init__(self) -> None:
        self._source = ""
        self._notes: list[str] = []
        self._untold = 0
        self._groups: dict[str, _GroupDraft] = {}
        self._places: dict[tuple[str, TopicPartition], str] = {}
        self._ends: dict[TopicPartition, DescribedEnd] = {}
        self._members = 0
        self._named = ""

    def read(self, text: str, source: str) -> None:
        """Read pasted text, and collect the groups that it describes."""
        self._source, self._named = source, ""
        table: Table | None = None
        in_command = found_row = False
        for number, line in enumerate(plain_lines(text), start=1):
            bare = body(line).strip()
            if in_command or _COMMAND.search(bare) or (is_prompt(bare) and table_of(line) is None):
                self._take_command(bare)
                in_command, table = bare.endswith("\\"), None
            elif not bare or _REMARK.fullmatch(bare):
                continue
            elif (names := _NAMES.fullmatch(bare)) is not None:
                self._named = names[1]
            elif (found := table_of(line)) is not None:
                table = found
            elif table is not None and (cells := table.cells(line)) is not None:
                found_row = True
                self._row(table, cells, number)
            else:
                self._note(number, f"ignored because it is not a line of kafka-consumer-groups --describe: {shown(bare)}")
        if not found_row:
            what = "this text contains no rows from the output of kafka-consumer-groups --describe" if text.strip() else "the text is empty"
            raise GroupsError(f"{source}:1: {what}; paste the whole output of the tool, including the header line")

    def finish(self, source: str) -> GroupsImport:
        """Return the groups that the texts describe."""
        groups = tuple(_group(name, draft) for name, draft in self._groups.items())
        few = [
            f"{draft.place}: group {shown(name)} has {draft.counted} member{'' if draft.counted == 1 else 's'}, but the imported output lists {len(draft.members)}; add the output of --members"
            for name, draft in self._groups.items()
            if draft.counted > len(draft.members)
        ]
        untold = [f"{source}: and {self._untold:,} more notes on lines"] if self._untold else []
        return GroupsImport(groups, self._places, self._ends, (*self._notes, *untold, *few[:MAX_NOTES]), source)

    def _take_command(self, bare: str) -> None:
        """Remember the group that a command line names, because some releases print tables without the name of the group."""
        named = _OPTION.findall(bare)
        if len(named) == 1:
            self._named = named[0].strip("\"'")

    def _draft(self, cells: dict[str, str], line: int) -> _GroupDraft:
        name = cells.get("GROUP", "")
        if not name and not self._named:
            self._named = Path(self._source).stem
            self._note(line, f"the table doesn't name its group; it is read as group {shown(self._named)}")
        return self._groups.setdefault(name or self._named, _GroupDraft())

    def _name(self, cells: dict[str, str]) -> str:
        return cells.get("GROUP", "") or self._named

    def _row(self, table: Table, cells: dict[str, str], line: int) -> None:
        group = self._draft(cells, line)
        if table.view == "CURRENT-OFFSET":
            self._offset(group, self._name(cells), cells, line)
        elif table.view == "#PARTITIONS":
            self._member(group, cells, line)
        else:
            group.state, group.assignor = cells["STATE"], cells["ASSIGNMENT-STRATEGY"].removeprefix("-")
            group.coordinator = coordinator_of(cells["COORDINATOR (ID)"])
            group.counted, group.place = int(cells["#MEMBERS"]), f"{self._source}:{line}"
            group.epoch = _optional(cells.get("GROUP-EPOCH", ""))
            group.assignment_epoch = _optional(cells.get("TARGET-ASSIGNMENT-EPOCH", ""))

    # --- the offsets -------------------------------------------------------------------------------------------------

    def _offset(self, group: _GroupDraft, name: str, cells: dict[str, str], line: int) -> None:
        number = int(cells["PARTITION"])
        offset, end, lag, epoch = (_number(cells.get(title, "-")) for title in ("CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "LEADER-EPOCH"))
        largest = max(offset or 0, end or 0)
        if largest > MAX_OFFSET or number >= 2**31:
            self._note(
                line, f"the row is ignored because isrlab accepts offsets up to {MAX_OFFSET:,} and partition numbers below 2,147,483,648"
            )
            return
        tp = TopicPartition(cells["TOPIC"], number)
        if offset is not None and end is not None and lag is not None and end - offset != lag:
            self._note(line, f"LAG is {lag}, but the offsets differ by {end - offset}; the LAG is ignored")
        self._places.setdefault((name, tp), f"{self._source}:{line}")
        if offset is not None and offset >= 0:
            known = group.offsets.get(tp)
            if known is not None and known.offset != offset:
                self._note(line, f"{tp} has a different CURRENT-OFFSET in an earlier row, {known.offset}; the earlier row is ignored")
            wrong = epoch is None or not 0 <= epoch <= MAX_LEADER_EPOCH
            kept = known.leader_epoch if known is not None and known.offset == offset else NO_EPOCH
            group.offsets[tp] = Committed(offset, kept if wrong or epoch is None else epoch)
        if end is not None:
            before = self._ends.get(tp)
            if before is not None and before.offset != end:
                self._note(line, f"LOG-END-OFFSET of {tp} is {before.offset} at {before.place}; the larger one is used")
            if before is None or end > before.offset:
                self._ends[tp] = DescribedEnd(end, f"{self._source}:{line}")
        owner, client, host = _owner(cells)
        if owner:
            member = self._known_member(group, owner, line)
            if member is not None:
                member.client, member.host = client or member.client, host or member.host
                self._own(group, owner, member, tp, line)

    def _own(self, group: _GroupDraft, owner: str, member: _MemberDraft, tp: TopicPartition, line: int) -> None:
        other = group.owners.setdefault(tp, owner)
        if other == owner:
            member.partitions[tp] = None
        else:
            self._note(line, f"{tp} has a different owner in an earlier row, {shown(other)}; the later row is ignored")

    def _known_member(self, group: _GroupDraft, member_id: str, line: int) -> _MemberDraft | None:
        if member_id not in group.members:
            if self._members == MAX_MEMBERS:
                self._note(line, f"member {shown(member_id)} is ignored: at most {MAX_MEMBERS:,} members can be imported")
                return None
            self._members += 1
            group.members[member_id] = _MemberDraft()
        return group.members[member_id]

    # --- the members -------------------------------------------------------------------------------------------------

    def _member(self, group: _GroupDraft, cells: dict[str, str], line: int) -> None:
        member_id = cells["CONSUMER-ID"]
        member = self._known_member(group, member_id, line)
        if member is None:
            return
        member.client, member.host = cells["CLIENT-ID"], cells["HOST"]
        member.instance_id = cells.get("GROUP-INSTANCE-ID", "").removeprefix("-") or member.instance_id
        member.epoch = _optional(cells.get("CURRENT-EPOCH", ""))
        member.target_epoch = _optional(cells.get("TARGET-EPOCH", ""))
        if "UPGRADED" in cells:
            member.upgraded = cells["UPGRADED"] == "true"
        if member.target_epoch is not None:
            member.target = tuple(self._listed(group, cells.get("TARGET-ASSIGNMENT", ""), line))
        for tp in self._listed(group, cells.get("CURRENT-ASSIGNMENT") or cells.get("ASSIGNMENT", ""), line):
            self._own(group, member_id, member, tp, line)

    def _listed(self, group: _GroupDraft, text: str, line: int) -> list[TopicPartition]:
        """Return the partitions in a string such as `orders:0,1;pay:2` or `orders(0,1), pay(2)`. Releases 3.8 and 3.9 omit the topic names,
        for example `(0,1), (2)`.
        """
        if text in ("", "-"):
            return []
        if CELLS["CURRENT-ASSIGNMENT"].fullmatch(text):
            parts = [(topic, numbers) for topic, _, numbers in (part.rpartition(":") for part in text.split(";"))]
        else:
            parts = [(found[1], found[2]) for found in _ASSIGNED.finditer(text)]
            if ", ".join(f"{topic}({numbers})" for topic, numbers in parts) != text:
                self._note(line, f"ignored because it is not an assignment: {shown(text)}")
                return []
        tps: list[TopicPartition] = []
        for topic, numbers in parts:
            each = [int(number) for number in numbers.split(",") if number and len(number) < 10]
            if topic:
                tps += (TopicPartition(topic, number) for number in each)
        return tps

    def _note(self, line: int, words: str) -> None:
        if len(self._notes) < MAX_NOTES:
            self._notes.append(f"{self._source}:{line}: {words}")
        else:
            self._untold += 1


def _group(name: str, draft: _GroupDraft) -> Group:
    members = tuple(
        Member(
            member_id, each.client, each.host, tuple(each.partitions), each.instance_id or _instance_in(member_id, each.client), each.epoch,
            each.target_epoch, each.target, each.upgraded,
        )
        for member_id, each in draft.members.items()
    )  # fmt: skip
    kind = CONSUMER if draft.epoch is not None or any(_is_consumer_member(member) for member in members) else CLASSIC
    address, broker = draft.coordinator
    state = draft.state or ("Stable" if members else "Empty")
    return Group(name, state, address, broker, kind, draft.assignor, members, draft.offsets, draft.epoch, draft.assignment_epoch)


def _is_consumer_member(member: Member) -> bool:
    """Whether a member uses the consumer protocol: it has an epoch, or its ID is random and doesn't begin with the name of its client."""
    if member.epoch is not None or member.upgraded is not None:
        return True
    return _RANDOM_ID.fullmatch(member.member_id) is not None and not member.member_id.startswith(
        (f"{member.client}-", f"{member.instance_id}-")
    )


def _instance_in(member_id: str, client: str) -> str:
    """Return the group.instance.id at the beginning of the ID of a static member; empty for a dynamic member."""
    before = member_id[:-37]
    return before if before and before != client and re.fullmatch(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", member_id[-37:]) else ""


def _owner(cells: dict[str, str]) -> tuple[str, str, str]:
    """Return the ID of the owner, its client, and its host; empty strings if the partition has no owner."""
    if "OWNER" in cells:
        client, _, host = cells["OWNER"].rpartition("_/")
        return ("", "", "") if cells["OWNER"] in ("none", "-") else (cells["OWNER"], client or cells["OWNER"], f"/{host}" if client else "")
    owner = cells.get("CONSUMER-ID", "-")
    return ("", "", "") if owner == "-" else (owner, cells.get("CLIENT-ID", ""), cells.get("HOST", ""))


def _number(cell: str) -> int | None:
    return None if cell in ("-", "unknown") else int(cell)


def _optional(cell: str) -> int | None:
    return int(cell) if cell and cell != "-" else None
