"""A producer of delayed records. The producer requests the same delay for all records, and sends them to the topic of the appropriate
level."""

from __future__ import annotations

from typing import Final

from core.kafka.applications.services.service_records import DelayedRecords
from core.kafka.clients.client_context import ClientContext
from core.kafka.clients.producer.producer import Producer
from core.kafka.ids import TopicPartition


class DelayProducer(Producer):
    """A producer of delayed records.

    Attributes:
        real_topic: the topic to which the records go when they are due.
        wanted: the requested delay, in µs.
        left: the number of records that the steady load has yet to produce.
    """

    __slots__ = ("left", "real_topic", "wanted")

    real_topic: Final[str]
    wanted: Final[int]

    def __init__(
        self,
        name: str,
        topic: str,
        real_topic: str,
        wanted: int,
        acks: int,
        context: ClientContext,
    ) -> None:
        super().__init__(name, topic, acks, context)
        self.real_topic = real_topic
        self.wanted = wanted
        self.left = 0

    def enqueue(self, tp: TopicPartition, count: int, record_bytes: int, content: object = None) -> int:
        """Add a batch that has the headers of delayed records, and return its number."""
        if self.rate:
            count = min(count, self.left)
            self.left -= count
            if not self.left:
                self.stop_load()
        return super().enqueue(tp, count, record_bytes, DelayedRecords(self.real_topic, self.wanted, self.journal.now))
