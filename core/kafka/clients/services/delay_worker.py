"""A worker in a delay service. It reads the topic of one level, and sends each record to its real topic when the record is due."""

from __future__ import annotations

from core.kafka import events
from core.kafka.clients.processes.processed_records import ProcessedRecords
from core.kafka.clients.services.service_records import DelayedRecords, HeldRecords
from core.kafka.clients.services.service_worker import ServiceWorker
from core.kafka.durability_observer import ForwardTimes


class DelayWorker(ServiceWorker):
    """One instance of a worker in a delay service."""

    __slots__ = ()

    def _handle(self, records: HeldRecords) -> None:
        """Send the records to the real topic."""
        does = self.does
        content = ProcessedRecords(
            does.group, self.name, self.instance, self.consumer.tp(records.partition), records.start, records.end, 0, records.event
        )
        self._forward(records, content)

    def _forwarded(self, records: HeldRecords, content: object) -> None:
        """Report the lateness, which is the time between when records were due and when they were acknowledged."""
        does, journal, headers = self.does, self.journal, records.content
        delay = self.delay_of(records)
        due = records.timestamp + delay
        wanted, created = (headers.wanted, headers.created) if isinstance(headers, DelayedRecords) else (delay, records.timestamp)
        tp = self.consumer.tp(records.partition)
        times = ForwardTimes(journal.now - due, delay - wanted, journal.now - created - wanted)
        columns = (
            self.name,
            tp.topic,
            tp.partition,
            records.start,
            records.end,
            times.lateness,
            does.target,
            times.rounding,
            times.total_error,
        )
        journal.emit(events.DelayedForwarded.kind, *columns)
        self.account.records_forwarded(does.service, self.name, tp, records.end, records.size, times)

    def _check(self) -> None:
        self.account.process_checked(self.does.group, self.does.source, self.does.target, 1)
