"""What happened in a session, from the acts to what was lost, and the chains of causes of the harm."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import attrs

from core.kafka.events import KINDS
from core.kafka.events.base import count_of, listed, records
from core.kafka.health import HELD_BOUND
from core.lab.act_sentences import sentence
from core.sim.events import EventTuple
from core.sim.units import US_PER_MS, format_duration
from scenarios.running.client_summary import offset_range
from scenarios.running.run_summary import Happening, RunSummary
from spark_reports.tables.result import Report

_NODE: Final = re.compile(r"[a-z]\d+ ")

Row = Mapping[str, Any]
Rows = list[Row]

NOTICE: Final = 100 * US_PER_MS
"""A time without service that is at most this long, in µs, is no harm: clients cannot tell it from an ordinary election or a start."""

MOST: Final = 5
"""The maximum number of things that a sentence names."""

DISTURBING: Final = 5
"""The importance from which on an act is a disturbance, and not work (`RunSummary`)."""

CONSEQUENCE: Final = 3
"""The importance from which on a change in the cluster is told."""


@attrs.frozen
class Sentence:
    """A sentence of the account.

    Attributes:
        label: the question that it answers.
        text: the answer.
        target: the id of the part of the page that shows more.
        harm: whether it tells of harm.
    """

    label: str
    text: str
    target: str
    harm: bool = False


@attrs.frozen
class Harm:
    """One harm to clients, of all sessions together.

    Attributes:
        figure: how much.
        words: what it is.
        table: the table that shows more.
    """

    figure: str
    words: str
    table: str


@attrs.frozen
class Told:
    """An event that the account tells of.

    Attributes:
        seq, at, kind: the number, the virtual time in µs, and the kind of the event.
        text: its sentence.
        event: the event; None if the report did not keep all its columns.
    """

    seq: int
    at: int
    kind: str
    text: str
    event: EventTuple | None

    def column(self, name: str) -> Any:
        """Return the value of a column; None if the event has no such column."""
        return getattr(KINDS[self.kind](self.event), name, None) if self.event is not None else None


@attrs.frozen
class Chain:
    """The causes of a harm, the first one first; the last step is the harm."""

    steps: tuple[Told, ...]


@attrs.frozen
class Outage:
    """A time in which clients of a partition waited in vain.

    Attributes:
        name: the partition.
        start, end: the time in µs.
        why: the reasons, in the order in which they began.
        reads_too: whether nobody could read during all of that time, either.
    """

    topic: str
    partition: int
    start: int
    end: int
    why: tuple[str, ...]
    reads_too: bool = False

    @property
    def writes(self) -> str:
        """The writes that were not acknowledged: where nobody can read, no leader serves writes with any acks."""
        return "writes" if self.reads_too else "acks=all writes"

    @property
    def name(self) -> str:
        """The partition in the form in which Kafka prints it."""
        return f"{self.topic}-{self.partition}"

    @property
    def lasts(self) -> int:
        """How long it lasted, in µs."""
        return self.end - self.start

    def covers(self, other: Outage) -> bool:
        """Return whether another time without service of the same partition lies within this one."""
        return self.name == other.name and self.start <= other.start and other.end <= self.end


class Incident:
    """The account of one session.

    Attributes:
        session: the name of the session.
        end: the virtual time at its end, in µs.
        told: the events that the account tells of, in their order.
        chains: the causes of the worst harms.
        outages: when writes were not acknowledged, longest first (`Outage.writes`).
        closed: when nobody could read, longest first.
    """

    def __init__(self, report: Report, session: str, end: int) -> None:
        rows = {
            result.name: [row for row in rows_of(result) if row.get("session") == session] for result in (*report.tables, *report.drawn)
        }
        self.session: Final = session
        self.end: Final = end
        self._rows: Final = rows
        self._figures: Final[Row] = next(iter(rows.get("overview", [])), {})
        story = sorted(rows.get("story", ()), key=lambda row: (row["of"], row["step"], row["event"]))
        self.told: Final = [_told(row) for row in story if not row["of"]]
        chains: dict[int, list[Told]] = {}
        for row in story:
            if row["of"]:
                chains.setdefault(row["of"], []).append(_told(row))
        self.chains: Final = [Chain(tuple(steps)) for steps in chains.values()]
        self._summary: Final = RunSummary({row["event"]: row["root"] for row in story if not row["of"]})
        for each in self.told:
            if each.event is not None:
                self._summary.tell(each.event)
        # The drawn windows are those of the worst partitions; the table has the worst windows.
        windows = [row for result in (*report.drawn, *report.tables) if result.name == "unavailability" for row in rows_of(result)]
        own = [row for row in {tuple(row.items()): row for row in windows}.values() if row["session"] == session]
        self.closed: Final = _outages(row for row in own if row["what"] == "reads")
        self.outages: Final = [
            attrs.evolve(each, reads_too=any(other.covers(each) for other in self.closed))
            for each in _outages(row for row in own if row["what"] != "reads")
        ]

    def rows(self, table: str) -> Rows:
        """Return the rows of a table that belong to the session."""
        return self._rows.get(table, [])

    def figure(self, name: str) -> int:
        """Return a figure of the session (`overview`), 0 if it is not known."""
        return self._figures.get(name) or 0

    def sentences(self) -> list[Sentence]:
        """Return what happened: what was done, what it caused, what clients felt, how long it lasted, and what was lost."""
        return [self._done(), self._caused(), *self._felt(), self._lasted(), self._lost()]

    def _done(self) -> Sentence:
        acts, more = self._summary.happenings(MOST, lambda one: one.kind == "act" and one.importance >= DISTURBING)
        faults = [row for row in self.rows("faults") if row["cause"] == 0]
        if not acts and not faults:
            return Sentence("What was done", "Nothing was done to the cluster; there was only the ordinary work of its clients.", "charts")
        done = [f"{row['who']} {row['what']} at {format_duration(row['from_us'])}" for row in faults[:MOST]]
        return Sentence("What was done", _joined(acts, more) if acts else f"{listed(done)}.", "faults" if self.rows("faults") else "charts")

    def _caused(self) -> Sentence:
        changes, more = self._summary.happenings(MOST, lambda one: one.kind != "act" and one.importance >= CONSEQUENCE)
        if not changes:
            return Sentence("What it caused", "No election, no change of an ISR, and nothing was truncated.", "charts")
        return Sentence("What it caused", _joined(changes, more), "causes" if self.chains else "charts")

    def _felt(self) -> list[Sentence]:
        found: list[Sentence] = []
        label = "What clients felt"
        for outages, words in ((self.outages, "{writes} to {name} were not acknowledged"), (self.closed, "nobody could read {name}")):
            noticed = [each for each in outages if each.lasts > NOTICE]
            if noticed:
                worst = noticed[0]
                others = {each.name for each in noticed} - {worst.name}
                also = f"; {count_of(len(others), 'other partition')} had such a time, too" if others else ""
                if outages is self.outages:
                    also += self._refused()
                text = f"{words.format(name=worst.name, writes=worst.writes)} for {format_duration(worst.lasts)} ({_span(worst)}): {listed(worst.why)}{self._why(worst)}{also}."
                found.append(Sentence(label if not found else "", _capital(text), "unavailability", True))
        if not found:
            refused = self._refused()
            text = f"No partition was without reads or writes for more than {format_duration(NOTICE)}{refused}."
            found.append(Sentence(label, text, "produce_latency"))
        found += [Sentence("", f"{harm.figure} {harm.words}.", harm.table, True) for harm in client_harms(self._figures)]
        return found

    def _refused(self) -> str:
        refused = sum(row["refused"] or 0 for row in self.rows("series"))
        errors = list(dict.fromkeys(each.column("error") for each in self.told if each.kind == "append-refused"))
        return f"; leaders refused {records(refused)} ({', '.join(map(str, errors))})" if refused else ""

    def _why(self, outage: Outage) -> str:
        """Return the act that led to an outage, as the end of a sentence."""
        begun = [each for each in self.told if each.at == outage.start and each.kind != "act"]
        waited = [each for each in self.told if each.kind == "produce-waiting" and outage.start <= each.at]
        here = [each for each in waited if (each.column("topic"), each.column("partition")) == (outage.topic, outage.partition)]
        return next((words for each in (*begun, *here) if (words := self._summary.why(each.seq))), "")

    def _lasted(self) -> Sentence:
        noticed = [each for each in (*self.outages, *self.closed) if each.lasts > NOTICE]
        if not noticed:
            return Sentence("How long", "No client had to wait.", "charts")
        start, end = min(each.start for each in noticed), max(each.end for each in noticed)
        if end >= self.end:
            names = sorted({each.name for each in noticed if each.end >= self.end})
            text = f"From {format_duration(start)} on. It had not ended when the session did ({format_duration(self.end)}): {_few(names)}."
            return Sentence("How long", text, "charts", True)
        text = f"{format_duration(end - start)} in all: from {format_duration(start)} to {format_duration(end)}. Then every partition served its clients again."
        return Sentence("How long", text, "charts")

    def _lost(self) -> Sentence:
        lost, acknowledged = self.figure("records_lost"), self.figure("records_acknowledged")
        diverged = self.figure("records_diverged")
        if not lost and not diverged:
            if not acknowledged:
                return Sentence("What was lost", "Nothing: no record was acknowledged or read that is missing now.", "records")
            return Sentence(
                "What was lost",
                f"Nothing: {records(acknowledged)} {'was' if acknowledged == 1 else 'were'} acknowledged, and none of them is missing.",
                "records",
            )
        found: dict[tuple[str, str], list[Row]] = {}
        for row in sorted(self.rows("harm"), key=lambda row: (row["topic"], row["partition"], row["from_offset"])):
            if row["what"] == "lost" and row["until_us"] is None:
                found.setdefault((f"{row['topic']}-{row['partition']}", self._summary.why(row["event"])), []).append(row)
        parts = [_losses(name, rows, why) for (name, why), rows in found.items()]
        if len(parts) > MOST:
            parts[MOST:] = [f"and in {len(parts) - MOST:,} more places"]
        words = f"{records(lost)}{': ' if parts else ''}{'; '.join(parts)}" if lost else ""
        if diverged:
            words += f"{'; ' if words else ''}replicas differ at {count_of(diverged, 'offset')}"
        return Sentence("What was lost", f"{words}.", "harm", True)


def harms(report: Report, incidents: Sequence[Incident]) -> list[Harm]:
    """Return the harms of all sessions together, worst first: each harm once, not once for each figure in which it shows."""
    figures: Row = report.totals
    found = []
    if figures.get("records_lost"):
        acknowledged, read = figures.get("records_lost_acknowledged"), figures.get("records_lost_read")
        known = "lost records that were acknowledged or read"
        words = known if acknowledged is None or read is None else f"records lost: {acknowledged:,} acknowledged, {read:,} read"
        found.append(Harm(f"{figures['records_lost']:,}", words, "harm"))
    if figures.get("records_diverged"):
        found.append(Harm(f"{figures['records_diverged']:,}", "offsets at which replicas differ", "harm"))
    outages = sorted((each for one in incidents for each in one.outages), key=lambda each: -each.lasts)
    closed = max((each.lasts for one in incidents for each in one.closed), default=0)
    if outages and outages[0].lasts > NOTICE:
        also = f"; {format_duration(closed)} without reads" if closed > NOTICE else ""
        words = f"longest time without acknowledged {outages[0].writes}, at {outages[0].name}{also}"
        found.append(Harm(format_duration(outages[0].lasts), words, "unavailability"))
    elif closed > NOTICE:
        found.append(Harm(format_duration(closed), "longest time without reads", "unavailability"))
    return found + client_harms(figures)


def client_harms(figures: Row) -> list[Harm]:
    """Return what clients felt in other ways than by waiting for reads and writes."""
    held = figures.get("longest_held_us") or 0
    found = [
        Harm(f"{figures[name]:,}", (words if figures[name] != 1 else one), table)
        for name, words, one, table in (
            ("batches_given_up", "batches that producers gave up on", "batch that a producer gave up on", "errors"),
            ("transactions_hanging", "hanging transactions", "hanging transaction", "hanging_transactions"),
            ("records_duplicated", "records duplicated", "record duplicated", "harm"),
            ("records_out_of_order", "records in another order than they were sent", "record in another order than it was sent", "records"),
            ("records_never_delivered", "records that a group never processed", "record that a group never processed", "deliveries"),
            ("records_delivered_twice", "records that a group processed more than once", "record that a group processed more than once", "deliveries"),
            ("records_processed_out_of_order", "records that a group processed out of order", "record that a group processed out of order", "deliveries"),
            ("records_dropped", "records that a retry service dropped", "record that a retry service dropped", "retry_outcomes"),
            ("records_succeeded_twice", "records that a retry service finished more than once", "record that a retry service finished more than once", "retry_outcomes"),
            ("dead_letters", "dead letters", "dead letter", "retry_outcomes"),
        )
        if figures.get(name)
    ]  # fmt: skip
    if held > HELD_BOUND and not figures.get("transactions_hanging"):
        found.append(
            Harm(format_duration(held), "longest time for which transactions held back reads with read_committed", "stable_offsets")
        )
    return found


def rows_of(result: Any) -> Rows:
    """Return the rows of a table as mappings."""
    return [dict(zip(result.columns, row, strict=True)) for row in result.rows]


def _told(row: Row) -> Told:
    """Return an event of the account. If a newer version of isrlab wrote it with a word that is unknown here, it is told as its kind."""
    kind, known = str(row["kind"]), json.loads(row["line"])
    values = []
    for name in KINDS[kind].columns:
        value = known.get(name, KINDS[kind].defaults.get(name))
        values.append(tuple(value) if isinstance(value, list) else value)
    strange = any(known.get(name) not in words for name, words in KINDS[kind].words.items())
    event = None if strange or None in values else (row["event"], row["at_us"], 0, kind, *values)
    return Told(row["event"], row["at_us"], kind, kind.replace("-", " ") if event is None else sentence(event), event)


def _outages(windows: Iterable[Row]) -> list[Outage]:
    """Return windows of the same partition that follow each other or overlap as one, longest first."""
    found: list[Outage] = []
    for row in sorted(windows, key=lambda row: (row["topic"], row["partition"], row["from_us"], row["to_us"])):
        before = found[-1] if found else None
        if before is not None and (before.topic, before.partition) == (row["topic"], row["partition"]) and row["from_us"] <= before.end:
            why = dict.fromkeys((*before.why, *row["why"].split(", ")))
            found[-1] = attrs.evolve(before, end=max(before.end, row["to_us"]), why=tuple(why))
        else:
            found.append(Outage(row["topic"], row["partition"], row["from_us"], row["to_us"], tuple(row["why"].split(", "))))
    return sorted(found, key=lambda each: (-each.lasts, each.start, each.topic, each.partition))


def _joined(told: Sequence[Happening], more: int) -> str:
    """Return lines about the cluster as a sentence. Each time stands once, after the last line of that time."""
    times = [format_duration(one.time) for one in told]
    parts = [f"{one.text()}{f' ({time})' if time != later else ''}" for one, time, later in zip(told, times, [*times[1:], ""], strict=True)]
    return _capital(", then ".join(parts) + (f", and {more:,} more." if more else "."))


def _capital(text: str) -> str:
    """Return a sentence that begins with a capital letter, except for the name of a node."""
    return text if _NODE.match(text) else text[0].upper() + text[1:]


def _losses(name: str, rows: Sequence[Row], why: str) -> str:
    """Return what was lost of a partition because of the same act. Adjacent ranges of offsets are one range."""
    ranges: list[list[int]] = []
    for row in rows:
        if ranges and ranges[-1][1] == row["from_offset"]:
            ranges[-1][1] = row["to_offset"]
        else:
            ranges.append([row["from_offset"], row["to_offset"]])
    known = [
        f"{many:,} {word}"
        for column, word in (("lost_acknowledged", "acknowledged"), ("lost_read", "already read"))
        if (many := sum(row[column] or 0 for row in rows))
    ]
    places = [offset_range(start, end) for start, end in ranges]
    noun = "offset" if sum(row["records"] for row in rows) == 1 else "offsets"
    return f"{name} at {noun} {_few(places)}{f' ({listed(known)})' if known else ''}{why}"


def _few(names: Sequence[str]) -> str:
    return listed(names) if len(names) <= 3 else f"{', '.join(names[:3])}, and {len(names) - 3:,} more"


def _span(outage: Outage) -> str:
    return f"{format_duration(outage.start)} to {format_duration(outage.end)}"
