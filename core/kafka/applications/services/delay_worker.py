"""A worker in a delay service. The worker reads the topic of one level, and sends each record to its destination topic when the record is
due.

If levels are chained, and the requested delay of a record is longer than the longest level, the worker of the longest level sends the
record on to the level that matches the rest of the delay.

If the destination topic never accepts a record, for example because the record is too large, the worker tries to send it again and again.
If there is a dead-letter topic, a record that the destination topic never accepts goes to the dead-letter topic instead, so that the worker
can commit later offsets.
"""

from __future__ import annotations

from typing import Final

from core.kafka import errors, events
from core.kafka.applications.processes.processed_records import ProcessedRecords
from core.kafka.applications.services.delay_levels import level_for, level_topic
from core.kafka.applications.services.service_config import WorkerConfig
from core.kafka.applications.services.service_records import DelayedRecords, HeldRecords, RetriedRecords
from core.kafka.applications.services.service_worker import ServiceWorker
from core.kafka.clients.accumulator.producer_batch import ProducerBatch
from core.kafka.clients.client_context import ClientContext
from core.kafka.durability_observer import ForwardTimes
from core.kafka.release import Release

FINAL: Final = frozenset({errors.MESSAGE_TOO_LARGE, errors.INVALID_RECORD, errors.CORRUPT_MESSAGE, errors.TOPIC_AUTHORIZATION_FAILED})
"""The errors after which retries are useless, because the topic would refuse the same records again."""


class DelayWorker(ServiceWorker):
    """One instance of a worker in a delay service.

    Attributes:
        refused: the records that the destination topic never accepts, by partition, each as (first offset, offset after the last record,
            error).
        dead: the headers and the number of records that were sent to the dead-letter topic in the open transaction.
    """

    __slots__ = ("dead", "refused")

    refused: Final[dict[int, list[tuple[int, int, str]]]]
    dead: Final[list[tuple[RetriedRecords, int]]]

    def __init__(
        self,
        name: str,
        does: WorkerConfig,
        instance: int,
        release: Release,
        context: ClientContext,
    ) -> None:
        super().__init__(name, does, instance, release, context)
        self.refused = {}
        self.dead = []
        if does.dead_letters:
            self.write_topic(does.dead_letters)
        for topic in does.chained_topics:
            self.write_topic(topic)

    def _handle(self, records: HeldRecords) -> None:
        """Send the records to the destination topic. Send the records that the destination topic has refused to the dead-letter topic."""
        for start, end, error in self.refused.get(records.partition, ()):
            if start < records.end and records.start < end:
                before, rest = records.split(max(start, records.start))
                dead, after = rest.split(min(end, rest.end))
                for each in (before, after):
                    if each.size:
                        self._handle(each)
                self._send_dead_letter(dead, error)
                return
        does = self.does
        content = ProcessedRecords(
            does.group, self.name, self.instance, self.consumer.tp(records.partition), records.start, records.end, 0, records.event
        )
        headers = records.content
        if does.chained_levels and isinstance(headers, DelayedRecords):
            waited = headers.before + does.delay
            if waited < headers.wanted:
                topic = level_topic(level_for(headers.wanted - waited, does.chained_levels, chained=True))
                self._forward(records, headers._replace(before=waited, sent_on=content), topic)
                return
        self._forward(records, content)

    def _forwarded(self, records: HeldRecords, batch: ProducerBatch) -> None:
        """Report how long after their due time the records were acknowledged.

        If the records were sent to another level instead of their destination topic, the reported rounding is 0.
        """
        content = batch.content
        if isinstance(content, RetriedRecords):
            if self.transactions is not None:
                self.dead.append((content, records.size))
            else:
                self._report_dead(content, records.size)
            return
        does, journal, headers = self.does, self.journal, records.content
        delay = self.delay_of(records)
        due = records.timestamp + delay
        wanted, created = delay, records.timestamp
        if isinstance(headers, DelayedRecords):
            delay += headers.before
            created, wanted = headers.created, delay if isinstance(content, DelayedRecords) else headers.wanted
        tp = self.consumer.tp(records.partition)
        times = ForwardTimes(journal.now - due, delay - wanted, journal.now - created - wanted)
        columns = (
            self.name,
            tp.topic,
            tp.partition,
            records.start,
            records.end,
            times.lateness,
            batch.tp.topic,
            times.rounding,
            times.total_error,
        )
        journal.emit(events.DelayedForwarded.kind, *columns)
        self.account.records_forwarded(does.service, self.name, tp, records.end, records.size, times)

    # --- dead letters ----------------------------------------------------------------------------------------------

    def batch_failed(self, batch: ProducerBatch, error: str, *, aborted: bool) -> None:
        """Hold the records in a batch that failed. If the destination topic never accepts them, send them to the dead-letter topic
        immediately."""
        records, backs_off_until = self.sending.get(batch.id), self.backs_off_until
        super().batch_failed(batch, error, aborted=aborted)
        if error == errors.REQUEST_TIMED_OUT and self.topic_deleted:
            error = errors.UNKNOWN_TOPIC_OR_PARTITION
        elif error not in FINAL:
            return
        if self.does.dead_letters and records is not None and batch.tp.topic == self.topic:
            self.backs_off_until = backs_off_until
            if not aborted:
                self.refused.setdefault(records.partition, []).append((records.start, records.end, error))

    def _send_dead_letter(self, records: HeldRecords, error: str) -> None:
        does, journal, tp = self.does, self.journal, self.consumer.tp(records.partition)
        content = RetriedRecords(tp, records.start, 1, error, journal.now, does.group, tp, records.start, records.event)
        self._forward(records, content, does.dead_letters)

    def _report_dead(self, content: RetriedRecords, records: int) -> None:
        """Report records that have reached the dead-letter topic. Records in a transaction are reported only when the transaction is
        committed."""
        tp = content.source
        self.account.records_dead_lettered(self.does.service, tp, content.start, content.start + records)
        self.journal.emit(
            events.DeadLettered.kind, self.name, tp.topic, tp.partition, content.start, content.start + records, content.tries, content.reason,
            self.does.dead_letters,
        )  # fmt: skip

    def _committed(self) -> None:
        """Report the dead letters in a committed transaction, and forget the refused records below the committed offsets."""
        for content, records in self.dead:
            self._report_dead(content, records)
        self.dead.clear()
        for number, ranges in self.refused.items():
            ranges[:] = [each for each in ranges if each[1] > self.committed.get(number, 0)]
        super()._committed()

    def _forget(self) -> None:
        super()._forget()
        self.dead.clear()

    def partitions_revoked(self, partitions: tuple[int, ...]) -> None:
        """Forget all state of partitions that the worker no longer owns."""
        super().partitions_revoked(partitions)
        for number in partitions:
            self.refused.pop(number, None)

    def _check(self) -> None:
        does = self.does
        self.account.process_checked(does.group, does.source, does.target, 1, does.chained_topics)
