"""The records that an application wants to send and that are in no batch yet, because metadata or memory is missing (Kafka:
`RecordAccumulator#appendsInProgress`, `BufferPool#waiters`)."""

from __future__ import annotations

from collections import deque
from typing import Final

import attrs

from core.kafka.clients.client import NEVER, Client
from core.kafka.clients.producer.keyed_records import KeyedRecords


@attrs.define
class SendCall:
    """Records that an application sends one after the other through a producer that collects records in batches.

    Attributes:
        called: the time when the application wanted to send the records, in µs.
        count: the number of records that are not in a batch yet.
        record_bytes: the size of the key and the value of each record, in bytes.
        partition: the partition; None to let the producer choose one.
        keyed: the records that are not in a batch yet, in reverse order; None if they have no keys.
        topic: the topic of the records.
    """

    called: int
    count: int
    record_bytes: int
    partition: int | None
    keyed: list[tuple[str, str | None]] | None
    topic: str


@attrs.frozen
class UnspreadRecords:
    """Records to be spread over all partitions of a topic, whose number the producer does not know yet.

    Attributes:
        count: the number of records.
        record_bytes: the size of each record, in bytes.
        keyed: the keys and values; None if the records have no keys.
        topic: the topic of the records.
    """

    count: int
    record_bytes: int
    keyed: KeyedRecords | None
    topic: str


class SendCalls:
    """The calls to send() that have not ended.

    Attributes:
        client: the producer as a client.
        unspread: the records of a producer that does not collect records, which wait for metadata.
        calls: the calls to a producer that collects records. Only the first one can be waiting for memory or metadata.
        blocked_since: the time since which the first call has been waiting, in µs; NEVER if it is not waiting.
    """

    __slots__ = ("_resumes", "blocked_since", "calls", "client", "unspread")

    client: Final[Client]
    calls: Final[deque[SendCall]]

    def __init__(self, client: Client) -> None:
        self.client = client
        self.unspread: list[UnspreadRecords] = []
        self.calls = deque()
        self.blocked_since = NEVER
        self._resumes = False

    @property
    def first(self) -> SendCall | None:
        """The call whose records are next; None if there is none."""
        return self.calls[0] if self.calls else None

    @property
    def is_blocked(self) -> bool:
        """Whether a call is waiting for memory or metadata."""
        return self.blocked_since != NEVER

    @property
    def waiting_records(self) -> int:
        """The number of records in calls that are not in a batch yet."""
        return sum(call.count for call in self.calls)

    def add(self, call: SendCall) -> None:
        """Add a call behind the others."""
        self.calls.append(call)

    def take_record(self) -> None:
        """Remove the first record of the first call, because it is in a batch now or has failed. The last record ends the call."""
        call = self.calls[0]
        call.count -= 1
        if call.keyed is not None:
            call.keyed.pop()
        if not call.count:
            self.calls.popleft()

    def block(self, since: int) -> None:
        """Record that the first call has been waiting for memory or metadata since a virtual time."""
        self.blocked_since = since

    def unblock(self) -> int:
        """Record that the first call continues, and return the time since which it has waited, in µs; NEVER if it was not waiting."""
        since, self.blocked_since = self.blocked_since, NEVER
        return since

    def memory_released(self) -> None:
        """Let a waiting call continue after the current message has been handled (`BufferPool#deallocate`)."""
        if self.is_blocked and not self._resumes:
            self._resumes = True
            self.client.timer(0, "append")

    def resume(self) -> int:
        """Let the first call continue, because memory or metadata has arrived. Return the same as `unblock`."""
        self._resumes = False
        return self.unblock()

    def await_metadata(self, records: UnspreadRecords) -> None:
        """Keep records until the number of partitions of their topic is known."""
        self.unspread.append(records)

    def take_unspread(self) -> list[UnspreadRecords]:
        """Remove and return the records that wait for metadata."""
        unspread, self.unspread = self.unspread, []
        return unspread

    def has_any(self) -> bool:
        """Return whether some records are in no batch yet (`RecordAccumulator#appendsInProgress`)."""
        return bool(self.unspread or self.calls)

    def clear(self) -> None:
        """Forget all calls, because they fail."""
        self.unspread.clear()
        self.calls.clear()
        self.blocked_since = NEVER
