"""Parses the output of `kafka-topics --describe` from any release, as people copy it from terminals, web pages, and tickets.

If the pasted text contradicts itself, an error gives the line number and a remedy. A note reports each line or column that cannot be used.
The parsing time is linear in the length of the pasted text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NoReturn

import attrs

from core.kafka.ids import NO_LEADER
from core.kafka.settings.registry import TOPIC_SETTINGS, setting_named
from core.lab.spec import MAX_BROKER_ID
from scenarios.describe.described import DescribedPartition, DescribedTopic, DescribeError, DescribeImport, ElrColumn
from scenarios.describe.lines import CONFLUENT_COLUMNS, KNOWN_COLUMNS, DescribeLine, column_key, shown, split_lines, split_settings

_TOPIC: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")
_TOPIC_ID: Final = re.compile(r"[A-Za-z0-9_-]{22}")
_NO_LEADER_WORDS: Final = frozenset({"none", "-1"})
_LISTED: Final = re.compile(r"(?:\d{1,10}(?:\s*,\s*\d{1,10})*)?")

MAX_NOTES: Final = 1_000
"""The maximum number of notes about single lines, and also the maximum number of notes about topics and columns.

Beyond this maximum, the parser only counts the notes, because a file that is not `--describe` output can cause millions of notes.
"""

_UNKNOWN_SIZE: Final = 0
"""The number of partitions or replicas in a summary line that lacks it."""

_NAMED: Final = 8
"""The maximum number of gaps between rows that a note lists. For the remaining gaps, the note gives only the number of missing
partitions.
"""


def parse_describe(text: str, source: str = "<stdin>") -> DescribeImport:
    """Return the topics that the given text describes, with notes of the form `source:line: ...` about the parts that could not be used.

    Rows are in order of partition numbers, and topics in order of appearance. If the summary line of a topic is missing because a filter
    omits it, the topic is built from its rows. If the rows of a topic are missing, only the data in its summary line is known. If some rows
    are missing, a note lists the gaps.

    Raises:
        DescribeError: the pasted text has no describe line, or it contains a truncated line, a number out of range, or a contradiction.
    """
    return _Reader(source).read(text)


@attrs.define
class _Draft:
    """The parts of a topic that have been read so far."""

    headline: DescribedTopic | None = None
    headline_at: int = 0
    rows: dict[int, tuple[DescribedPartition, int]] = attrs.Factory(dict)


class _Reader:
    def __init__(self, source: str) -> None:
        self._source = source
        self._notes: list[tuple[int, str]] = []
        self._told: Counter[str] = Counter()
        self._lists: dict[str, tuple[int, ...]] = {"": ()}
        self._unknown: Counter[str] = Counter()
        self._unknown_first: dict[str, tuple[int, str]] = {}

    def read(self, text: str) -> DescribeImport:
        lines = split_lines(text, self._line_note)
        if not lines:
            self._refuse(
                1,
                "this text contains no lines from the output of kafka-topics --describe" if text.strip() else "the text is empty",
                "paste the output of the tool, which has lines such as 'Topic: orders Partition: 0 Leader: 1 Replicas: 1,2,3 Isr: 1,2,3'",
            )
        drafts: dict[str, _Draft] = {}
        for line in lines:
            values = self._values(line)
            topic = values["topic"]
            if _TOPIC.fullmatch(topic) is None:
                self._refuse(
                    line.line, f"{shown(topic)} is not a topic name", "a topic name has 1 to 249 characters from a-z A-Z 0-9 . _ -"
                )
            draft = drafts.setdefault(topic, _Draft())
            if "partition" in values:
                self._add_row(draft, self._row(topic, values, line), line.line)
            elif draft.headline is not None:
                self._refuse(
                    line.line,
                    f"topic {topic} has a second summary line (the first is at line {draft.headline_at})",
                    "describe each topic once",
                )
            else:
                draft.headline, draft.headline_at = self._headline(topic, values, line), line.line
        topics = tuple(self._topic(name, draft) for name, draft in drafts.items())
        for name, count in self._unknown.items():
            first, value = self._unknown_first[name]
            more = f" (and on {count - 1} more lines)" if count > 1 else ""
            if column_key(name) in CONFLUENT_COLUMNS:
                words = f"column {shown(name)} is from Confluent Server; only its broker ids are used: {shown(value)}{more}"
            else:
                words = f"Kafka prints no column {shown(name)}; it is kept but not used: {shown(value)}{more}"
            self._note(first, words)
        notes = [f"{self._source}:{line}: {words}" for line, words in sorted(self._notes, key=lambda entry: entry[0])]
        for what, count in self._told.items():
            if count > MAX_NOTES:
                notes.append(f"{self._source}: and {count - MAX_NOTES:,} more notes on {what}")
        return DescribeImport(topics, tuple(notes), self._source)

    def _values(self, line: DescribeLine) -> dict[str, str]:
        """Return the values of the known columns of a line, and count the unknown columns."""
        values: dict[str, str] = {}
        for name, value in line.columns:
            key = column_key(name)
            if key not in KNOWN_COLUMNS:
                self._unknown[name] += 1
                self._unknown_first.setdefault(name, (line.line, value))
                if key in CONFLUENT_COLUMNS:
                    values[key] = value
            elif key in values:
                self._refuse(line.line, f"column {name} appears twice in the line", "give each partition its own line")
            else:
                values[key] = value
        return values

    def _headline(self, topic: str, values: Mapping[str, str], line: DescribeLine) -> DescribedTopic:
        topic_id = values.get("topicid", "")
        if topic_id and _TOPIC_ID.fullmatch(topic_id) is None:
            self._note(line.line, f"TopicId {shown(topic_id)} is not in Kafka's format (22 characters of base64); it is kept as written")
        return DescribedTopic(
            name=topic,
            topic_id=topic_id,
            partitions=self._size(values, "PartitionCount", line.line),
            replication_factor=self._size(values, "ReplicationFactor", line.line),
            config=self._config("".join([values.get("configs", ""), *line.wrapped]), line.line),
            rows=(),
            marked_for_deletion=self._flag(values, line.line),
            aside=_aside(line),
        )

    def _size(self, values: Mapping[str, str], name: str, line: int) -> int:
        """Return the number in a column of a summary line, or `_UNKNOWN_SIZE` if the line lacks the column."""
        value = values.get(column_key(name))
        return _UNKNOWN_SIZE if value is None else self._number(value, name, line, least=1)

    def _config(self, text: str, line: int) -> tuple[tuple[str, str], ...]:
        settings, strays = split_settings(text)
        for stray in strays:
            self._note(line, f"ignored in Configs because it does not have the form name=value: {shown(stray)}")
        if text.endswith(","):
            self._note(line, "Configs ends with a comma: the settings after it are missing")
        kept: dict[str, str] = {}
        for name, value in settings:
            if kept.setdefault(name, value) != value:
                self._refuse(
                    line, f"setting {name} appears twice in Configs, as {shown(kept[name])} and {shown(value)}", "give the setting once"
                )
            if name in TOPIC_SETTINGS:
                try:
                    setting_named(name).parse(value)
                except ValueError as problem:
                    self._refuse(line, f"Configs: {problem}", "give the value as Kafka prints it")
        return tuple(kept.items())

    def _row(self, topic: str, values: Mapping[str, str], line: DescribeLine) -> DescribedPartition:
        at = line.line
        for key, name in (("leader", "Leader"), ("replicas", "Replicas"), ("isr", "Isr")):
            if key not in values:
                self._refuse(at, f"the row of topic {topic} has no {name}", "give the whole line: Topic, Partition, Leader, Replicas, Isr")
        elr, elr_known = self._elr(values, "elr", "Elr", at)
        last_known_elr, _ = self._elr(values, "lastknownelr", "LastKnownElr", at)
        row = DescribedPartition(
            topic=topic,
            partition=self._number(values["partition"], "Partition", at),
            leader=NO_LEADER
            if values["leader"].lower() in _NO_LEADER_WORDS
            else self._number(values["leader"], "Leader", at, remedy="write a broker ID, or none"),
            replicas=self._ids(values["replicas"], "Replicas", at),
            isr=self._ids(values["isr"], "Isr", at),
            elr=elr,
            elr_known=elr_known,
            last_known_elr=last_known_elr,
            adding=self._ids(values.get("addingreplicas", ""), "Adding Replicas", at),
            removing=self._ids(values.get("removingreplicas", ""), "Removing Replicas", at),
            marked_for_deletion=self._flag(values, at),
            observers=self._confluent(values, "observers", at) or self._confluent(values, "liveobservers", at) or (),
            offline=self._confluent(values, "offline", at),
            aside=_aside(line),
        )
        self._check_row(row, at)
        return row

    def _check_row(self, row: DescribedPartition, line: int) -> None:
        """Reject a row that no cluster can produce."""
        name = f"{row.topic}-{row.partition}"
        if not row.replicas:
            self._refuse(line, f"{name} has no replicas", "Replicas lists at least one broker id")
        replicas = frozenset(row.replicas)
        lists = (
            ("Isr", row.isr),
            ("Elr", row.elr or ()),
            ("LastKnownElr", row.last_known_elr or ()),
            ("Adding Replicas", row.adding),
            ("Removing Replicas", row.removing),
            ("Observers", row.observers),
            ("Offline", row.offline or ()),
        )
        among = ",".join(map(str, row.replicas))
        for column, ids in lists:
            for broker in ids:
                if broker not in replicas:
                    self._refuse(
                        line,
                        f"{column} of {name} lists broker {broker}, which is not one of its replicas",
                        f"{column} can only list some of {among}",
                    )
        if row.has_leader and row.leader not in replicas:
            self._refuse(
                line, f"{name} has the leader {row.leader}, which is not one of its replicas", f"the leader must be one of {among}, or none"
            )
        if row.has_leader and row.leader not in row.isr:
            self._refuse(line, f"{name} has the leader {row.leader}, which is not in its Isr", "a leader is always in its own Isr")
        isr = frozenset(row.isr)
        for broker in row.elr or ():
            if broker in isr:
                self._refuse(line, f"broker {broker} is in both Isr and Elr of {name}", "Elr lists replicas outside the Isr")
        if len(row.adding) == len(row.replicas):
            self._refuse(line, f"{name} is adding all of its replicas", "Replicas lists both the current replicas and those being added")

    def _add_row(self, draft: _Draft, row: DescribedPartition, line: int) -> None:
        if row.partition in draft.rows:
            first = draft.rows[row.partition][1]
            self._refuse(
                line, f"partition {row.topic}-{row.partition} appears twice (first at line {first})", "give each partition one row"
            )
        draft.rows[row.partition] = (row, line)

    def _topic(self, name: str, draft: _Draft) -> DescribedTopic:
        rows = tuple(draft.rows[partition][0] for partition in sorted(draft.rows))
        head = draft.headline
        if head is None:
            first = min(line for _, line in draft.rows.values())
            self._note(
                first,
                f"topic {name} has no summary line (filters omit it): its TopicId and settings are unknown, and the rows determine its size",
            )
            return DescribedTopic(name, "", rows[-1].partition + 1, rows[0].replication_factor, (), rows, headed=False)
        sizes = {"PartitionCount": head.partitions, "ReplicationFactor": head.replication_factor}
        missing = [column for column, size in sizes.items() if size == _UNKNOWN_SIZE]
        if missing and not rows:
            self._refuse(
                draft.headline_at,
                f"topic {name} has no partition rows, and its summary line has no {' and no '.join(missing)}",
                "give the whole line, or the partition rows",
            )
        if missing:
            head = attrs.evolve(
                head,
                partitions=head.partitions or rows[-1].partition + 1,
                replication_factor=head.replication_factor or rows[0].replication_factor,
            )
            self._note(
                draft.headline_at, f"the summary line of topic {name} has no {' and no '.join(missing)}: the rows determine its size"
            )
        if not rows:
            self._note(draft.headline_at, f"topic {name} has a summary line but no partition rows: the brokers of its replicas are unknown")
            return head
        beyond = rows[-1]
        if beyond.partition >= head.partitions:
            self._refuse(
                draft.rows[beyond.partition][1],
                f"{name}-{beyond.partition} does not exist: the topic's summary line (line {draft.headline_at}) says PartitionCount {head.partitions}",
                f"the partitions of the topic are 0 to {head.partitions - 1}",
            )
        if len(rows) != head.partitions:
            self._note(
                draft.headline_at,
                f"topic {name} has PartitionCount {head.partitions} but {len(rows)} row{'s' if len(rows) > 1 else ''} "
                f"in the imported output; unknown: {missing_partitions(rows, head.partitions)}",
            )
        if all(row.replication_factor != head.replication_factor for row in rows):
            self._refuse(
                draft.headline_at,
                f"topic {name} has ReplicationFactor {head.replication_factor} but its rows have {rows[0].replication_factor} replicas",
                "the summary line counts the replicas of a row, except those being added",
            )
        return attrs.evolve(head, rows=rows)

    def _confluent(self, values: Mapping[str, str], key: str, line: int) -> tuple[int, ...] | None:
        """Return the broker ids in a column of Confluent Server. Return None if the column is absent or does not list broker ids."""
        value = values.get(key)
        if value is None:
            return None
        if _LISTED.fullmatch(value) is None:
            self._note(line, f"column {key.capitalize()} is ignored, because it is not a list of broker ids: {shown(value)}")
            return None
        return self._ids(value, key.capitalize(), line)

    def _elr(self, values: Mapping[str, str], key: str, column: str, line: int) -> tuple[tuple[int, ...] | None, ElrColumn]:
        value = values.get(key)
        if value is None:
            return None, ElrColumn.ABSENT
        if value.upper() == ElrColumn.NOT_AVAILABLE:
            return None, ElrColumn.NOT_AVAILABLE
        return self._ids(value, column, line), ElrColumn.LISTED

    def _ids(self, text: str, column: str, line: int) -> tuple[int, ...]:
        """Return the broker ids in a comma-separated list. An empty string stands for an empty list."""
        known = self._lists.get(text)
        if known is not None:
            return known
        remedy = "write broker ids separated by commas, for example 1,2,3"
        ids = tuple(self._number(piece.strip(), column, line, remedy=remedy) for piece in text.split(","))
        if len(set(ids)) != len(ids):
            twice = next(broker for broker, count in Counter(ids).items() if count > 1)
            self._refuse(line, f"{column} lists broker {twice} twice", "each broker has at most one replica")
        self._lists[text] = ids
        return ids

    def _number(self, text: str, column: str, line: int, *, least: int = 0, remedy: str = "") -> int:
        if not (text.isascii() and text.isdecimal()):
            self._refuse(
                line, f"{column} has the value {shown(text)}, which is not a number", remedy or f"write a whole number from {least}"
            )
        digits = text.lstrip("0") or "0"
        if len(digits) > 10 or not least <= int(digits) <= MAX_BROKER_ID:
            self._refuse(line, f"{column} has the value {shown(text)}, which is out of range", f"the range is {least} to {MAX_BROKER_ID}")
        return int(digits)

    def _flag(self, values: Mapping[str, str], line: int) -> bool:
        value = values.get("markedfordeletion", "false").lower()
        if value not in ("true", "false"):
            self._refuse(line, f"MarkedForDeletion has the value {shown(value)}", "Kafka prints true, or omits the column")
        return value == "true"

    def _line_note(self, line: int, words: str) -> None:
        self._note(line, words, "single lines")

    def _note(self, line: int, words: str, what: str = "topics and columns") -> None:
        self._told[what] += 1
        if self._told[what] <= MAX_NOTES:
            self._notes.append((line, words))

    def _refuse(self, line: int, what: str, right: str) -> NoReturn:
        raise DescribeError(f"{self._source}:{line}: {what}; {right}")


def missing_partitions(rows: Sequence[DescribedPartition], count: int) -> str:
    """Return text that lists the partitions below `count` without a row, for example `partitions 1, 4 and 7 to 11`."""
    gaps: list[str] = []
    missing = named = expected = 0
    for number in (*(row.partition for row in rows), count):
        if number > expected:
            missing += number - expected
            if len(gaps) < _NAMED:
                named += number - expected
                gaps.append(str(expected) if number == expected + 1 else f"{expected} to {number - 1}")
        expected = number + 1
    if missing > named:
        return f"partitions {', '.join(gaps)} and {missing - named:,} more"
    listed = gaps[0] if len(gaps) == 1 else f"{', '.join(gaps[:-1])} and {gaps[-1]}"
    return f"partition{'s' if missing > 1 else ''} {listed}"


def _aside(line: DescribeLine) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in line.columns if column_key(name) not in KNOWN_COLUMNS)
