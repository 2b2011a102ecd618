"""The write of a consumer group's records to `__consumer_offsets`, and the responses that wait for it (`CoordinatorRuntime`).

The coordinator applies records as soon as they are in its log. It responds when they are committed.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from core.kafka import errors
from core.kafka.group_coordinator.append_errors import APPEND_ERRORS, FOREVER
from core.kafka.group_coordinator.consumer.messages import ConsumerGroupHeartbeatResponse
from core.kafka.group_coordinator.consumer.records import ConsumerGroupRecord, record_bytes
from core.kafka.group_coordinator.coordinator_context import GroupCoordinatorContext
from core.kafka.group_coordinator.offsets_log import LOG_WRITER, partition_of
from core.kafka.log.leader_term import BatchFields
from core.kafka.transaction.transaction_log import BATCH_HEADER_BYTES

TIMER: Final = "consumer-group-write-timeout"
"""The name of the timer after which a write counts as failed."""


class WaitingResponse(NamedTuple):
    """A response that waits for a write."""

    sender: str
    response: ConsumerGroupHeartbeatResponse


class RecordWrite:
    """A write of records.

    Attributes:
        partition: the partition of `__consumer_offsets`.
        records: the records.
        responses: the responses that wait.
        done: whether the write has ended.
        error: the error of the write; NONE if it succeeded or has not ended.
    """

    __slots__ = ("broker", "done", "error", "partition", "records", "responses")

    broker: Final[GroupCoordinatorContext]
    partition: Final[int]
    records: Final[tuple[ConsumerGroupRecord, ...]]
    responses: Final[list[WaitingResponse]]

    def __init__(self, broker: GroupCoordinatorContext, partition: int, records: tuple[ConsumerGroupRecord, ...]) -> None:
        self.broker = broker
        self.partition = partition
        self.records = records
        self.responses = []
        self.done = False
        self.error = errors.NONE

    def start(self) -> None:
        """Append the records. The write ends when they are committed, or after offsets.commit.timeout.ms."""
        broker = self.broker
        broker.timer(broker.settings.us("offsets.commit.timeout.ms", broker=broker.id), TIMER, self)
        broker.append_offsets(partition_of(self.partition), self._batch, FOREVER, self, 0, below_min_isr=True)

    def _batch(self, base: int) -> BatchFields:
        size = BATCH_HEADER_BYTES + sum(map(record_bytes, self.records))
        return (base, len(self.records), size, LOG_WRITER, 0, self.broker.journal.now, -1, -1, -1, False, self.records)

    def append_completed(self, error: str) -> None:
        """End the write with the result of the append."""
        self._end(APPEND_ERRORS.get(error, error))

    def timed_out(self) -> None:
        """End the write, because offsets.commit.timeout.ms has elapsed. The records can still be committed later."""
        self._end(APPEND_ERRORS[errors.REQUEST_TIMED_OUT])

    def _end(self, error: str) -> None:
        if not self.done:
            self.done, self.error = True, error
            for sender, response in self.responses:
                self.respond(sender, response)
            self.responses.clear()

    def respond(self, sender: str, response: ConsumerGroupHeartbeatResponse) -> None:
        """Send a response when the write has ended; if the write failed, send its error instead."""
        if not self.done:
            self.responses.append(WaitingResponse(sender, response))
        elif self.error == errors.NONE:
            self.broker.reply(sender, response)
        else:
            self.broker.reply(sender, ConsumerGroupHeartbeatResponse(response.correlation, self.error))
