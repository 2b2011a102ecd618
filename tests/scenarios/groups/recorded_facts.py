"""Reads what a recorded text of `kafka-consumer-groups` says, so that the text can be printed again from these facts.

The facts are in an order of their own: members by ID, and partitions by topic and number. Only the members of a group with the consumer
protocol keep the order of the text, because nobody knows that order.
"""

from __future__ import annotations

from typing import Final

from core.kafka.ids import TopicPartition
from scenarios.groups.facts import CLASSIC, CONSUMER, Brokers, Committed, Group, Member

TITLES: Final = (
    "GROUP-INSTANCE-ID", "GROUP-EPOCH", "GROUP", "TOPIC", "PARTITION", "LEADER-EPOCH", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST",
    "CLIENT-ID", "#PARTITIONS", "ASSIGNMENT-STRATEGY", "CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT-EPOCH",
    "TARGET-ASSIGNMENT", "ASSIGNMENT", "UPGRADED", "COORDINATOR (ID)", "STATE", "#MEMBERS", "TYPE", "NEW-OFFSET", "STATUS",
)  # fmt: skip
"""The titles of all columns. A title comes before the titles that it contains."""


def tables(text: str) -> list[list[dict[str, str]]]:
    """Return the rows of each table of a text, by column title."""
    found: list[list[dict[str, str]]] = []
    starts: list[tuple[int, str]] = []
    for line in text.split("\n"):
        if line.startswith(("GROUP ", "TOPIC ")):
            starts = columns(line)
            found.append([])
        elif line and starts:
            ends = [start for start, _ in starts[1:]] + [None]
            row = {title: line[start:end].strip() for (start, title), end in zip(starts, ends, strict=True)}
            if "#MEMBERS" in row:  # a long state reaches into the next column
                row["STATE"] = next(line[start:] for start, title in starts if title == "STATE").split()[0]
                row["#MEMBERS"] = line.split()[-1]
            found[-1].append(row)
    return found


def columns(header: str) -> list[tuple[int, str]]:
    """Return where the columns of a header begin, with their titles."""
    found, at = [], 0
    while at < len(header):
        title = next((title for title in TITLES if header.startswith(title, at)), None)
        if title is None:
            at += 1
        else:
            found.append((at, title))
            at += len(title)
    return found


def partitions(text: str) -> tuple[TopicPartition, ...]:
    """Return the partitions of `m1:0,1;m2:2` or of `m1(0,1), m2(2)`."""
    if text == "-":
        return ()
    parts = text.replace("(", ":").replace(")", "").split(", " if "(" in text else ";")
    return tuple(
        TopicPartition(topic, int(number))
        for topic, _, numbers in (part.rpartition(":") for part in parts)
        for number in numbers.split(",")
    )


def optional(text: str | None) -> str:
    """Return a cell; an empty text if its value is missing."""
    return "" if text in (None, "-") else str(text)


class Recorded:
    """The facts of the texts of one moment, by group.

    Attributes:
        kinds: the types of the groups.
        states: the states of the groups.
        member_order: the IDs of the members of groups with the consumer protocol.
        log_ends: the ends of the partitions.
    """

    def __init__(self) -> None:
        self.kinds: dict[str, str] = {}
        self.states: dict[str, str] = {}
        self.member_order: dict[str, list[str]] = {}
        self.log_ends: dict[TopicPartition, int | None] = {}

    @property
    def brokers(self) -> Brokers:
        """What the brokers say."""
        return Brokers(self.log_ends)

    def learn(self, text: str) -> None:
        """Learn the types, states, and orders of members from a text."""
        for row in (row for rows in tables(text) for row in rows):
            group = row["GROUP"]
            if "STATE" in row:
                self.states[group] = row["STATE"]
                if "GROUP-EPOCH" in row:
                    self.kinds[group] = CLASSIC if row["GROUP-EPOCH"] == "-" else CONSUMER
            elif "#PARTITIONS" in row:
                order = self.member_order.setdefault(group, [])
                if row["CONSUMER-ID"] not in order:
                    order.append(row["CONSUMER-ID"])

    def groups(self, text: str) -> list[Group]:
        """Return the groups that have a row in a text."""
        by_name: dict[str, list[dict[str, str]]] = {}
        for row in (row for rows in tables(text) for row in rows):
            by_name.setdefault(row["GROUP"], []).append(row)
        return [self._group(name, rows) for name, rows in by_name.items()]

    def _group(self, name: str, rows: list[dict[str, str]]) -> Group:
        without_owner = all(row.get("CONSUMER-ID", "") == "-" for row in rows)
        state, kind = self.states.get(name, "Empty" if without_owner else "Stable"), self.kinds.get(name, CLASSIC)
        if "STATE" in rows[0]:
            row = rows[0]
            host, _, number = row["COORDINATOR (ID)"].partition(" ")
            epoch, assigned = optional(row.get("GROUP-EPOCH")), optional(row.get("TARGET-ASSIGNMENT-EPOCH"))
            members = tuple(Member(str(each), "", "") for each in range(int(row["#MEMBERS"])))
            return Group(
                name, row["STATE"], host, int(number.strip(" ()")), kind, optional(row["ASSIGNMENT-STRATEGY"]), members, {}, number_of(epoch), number_of(assigned)
            )  # fmt: skip
        members = self._members(rows) if "#PARTITIONS" in rows[0] else self._owners(rows)
        order = self.member_order.get(name, [])
        members.sort(key=lambda member: order.index(member.member_id) if kind == CONSUMER and member.member_id in order else 0)
        return Group(name, state, "", 0, kind, "", tuple(members), self._offsets(rows))

    def _members(self, rows: list[dict[str, str]]) -> list[Member]:
        found = []
        for row in sorted(rows, key=lambda row: row["CLIENT-ID"]):
            assigned = row.get("CURRENT-ASSIGNMENT", row.get("ASSIGNMENT"))
            tps = (
                tuple(TopicPartition("t", number) for number in range(int(row["#PARTITIONS"])))
                if assigned is None
                else partitions(assigned)
            )
            assert len(tps) == int(row["#PARTITIONS"])
            upgraded = {"true": True, "false": False}.get(row.get("UPGRADED", ""))
            found.append(
                Member(
                    row["CONSUMER-ID"], row["CLIENT-ID"], row["HOST"], tps, row.get("GROUP-INSTANCE-ID", ""), number_of(optional(row.get("CURRENT-EPOCH"))),
                    number_of(optional(row.get("TARGET-EPOCH"))), partitions(row.get("TARGET-ASSIGNMENT", "-")), upgraded,
                )
            )  # fmt: skip
        return found

    def _owners(self, rows: list[dict[str, str]]) -> list[Member]:
        owned: dict[tuple[str, str, str], list[TopicPartition]] = {}
        for row in rows:
            if row["CONSUMER-ID"] != "-":
                owned.setdefault((row["CONSUMER-ID"], row["CLIENT-ID"], row["HOST"]), []).append(
                    TopicPartition(row["TOPIC"], int(row["PARTITION"]))
                )
        return [Member(*who, tuple(sorted(tps))) for who, tps in sorted(owned.items())]

    def _offsets(self, rows: list[dict[str, str]]) -> dict[TopicPartition, Committed]:
        found = {}
        for row in rows if "CURRENT-OFFSET" in rows[0] else ():
            tp = TopicPartition(row["TOPIC"], int(row["PARTITION"]))
            self.log_ends[tp] = number_of(optional(row["LOG-END-OFFSET"]))
            if row["CURRENT-OFFSET"] != "-":
                found[tp] = Committed(int(row["CURRENT-OFFSET"]), int(optional(row.get("LEADER-EPOCH")) or -1))
        return dict(sorted(found.items()))


def number_of(text: str) -> int | None:
    """Return the number of a cell; None if it is empty."""
    return int(text) if text else None
