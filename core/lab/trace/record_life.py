"""The history of one record, as a series of spans."""

from __future__ import annotations

import enum
from typing import Final, NamedTuple

import attrs

from core.kafka.log.leader_term import Batch, Term


class SpanKind(enum.StrEnum):
    """The kind of a span: what happened to the record."""

    CREATED = "created"
    FAILED = "failed"
    GIVEN_UP = "given-up"
    APPENDED = "appended"
    COPIED = "copied"
    COMMITTED = "committed"
    ACKED = "acked"
    READ = "read"
    PROCESSED = "processed"
    OFFSET_COMMITTED = "offset-committed"
    MARKER = "marker"
    STABLE = "stable"
    SKIPPED = "skipped"
    DUPLICATED = "duplicated"
    TRUNCATED = "truncated"
    LOST = "lost"
    RECOVERED = "recovered"
    DELETED = "deleted"
    CLEANED = "cleaned"


class Span(NamedTuple):
    """Something that happened to a record.

    Attributes:
        time: the virtual time at which the span's event happened, in µs.
        event: the sequence number of the span's event; 0 if the span has no event.
        cause: the sequence number of the cause of the span's event; 0 if there is none.
        kind: the type of the span, for example `SpanKind.OFFSET_COMMITTED`.
        node: the client or the address of the broker.
        words: what the node did, as a phrase that refers to the record as `it`.
    """

    time: int
    event: int
    cause: int
    kind: SpanKind
    node: str
    words: str


class Durations(NamedTuple):
    """The durations in a record's history, in µs. A duration is -1 if its start or its end has not been observed.

    Attributes:
        round_trip: the time from the record's creation to its acknowledgment.
        commit: the time from the leader's append to the moment at which the record was first committed.
        end_to_end: the time from the record's creation to the first read by a consumer, or to the end of its processing.
    """

    round_trip: int
    commit: int
    end_to_end: int


@attrs.define(slots=True, eq=False)
class Life:
    """The history of a record.

    Attributes:
        term: the term in which the record was written. The term and the offset together identify the record.
        batch: the batch that contains the record.
        counter: the number of the record among its producer's records (`core.lab.audit.produced_records`); -1 if the record was not
            produced in the session.
        created: the time at which the batch was created, in µs; -1 if the batch was not produced in the session.
        acknowledged_by: the address of the broker that acknowledged the record; empty if no broker acknowledged it.
        committed_by: the groups with a committed offset above the record's offset.
        cleaned_by: the brokers whose log cleaner removed the record.
        spans: the steps of the record's history, in the order of their events.
    """

    term: Term
    batch: Batch
    counter: int
    created: int = -1
    acknowledged_by: str = ""
    committed_by: Final[dict[str, None]] = attrs.field(factory=dict)
    cleaned_by: Final[dict[int, None]] = attrs.field(factory=dict)
    spans: Final[list[Span]] = attrs.field(factory=list)

    @property
    def is_acked(self) -> bool:
        """Whether the producer got an acknowledgment."""
        return self._first(SpanKind.ACKED) >= 0

    @property
    def is_lost(self) -> bool:
        """Whether the record is lost now."""
        last = [span.kind for span in self.spans if span.kind in (SpanKind.LOST, SpanKind.RECOVERED)]
        return bool(last) and last[-1] is SpanKind.LOST

    def _first(self, kind: SpanKind) -> int:
        """Return the time of the first span of a kind, in µs; -1 if there is none."""
        return next((span.time for span in self.spans if span.kind is kind), -1)

    def durations(self) -> Durations:
        """Return the durations in this history."""
        processed = self._first(SpanKind.PROCESSED)
        seen = processed if processed >= 0 else self._first(SpanKind.READ)
        return Durations(
            _between(self.created, self._first(SpanKind.ACKED)),
            _between(self._first(SpanKind.APPENDED), self._first(SpanKind.COMMITTED)),
            _between(self.created, seen),
        )


def _between(start: int, end: int) -> int:
    return end - start if start >= 0 and end >= 0 else -1
