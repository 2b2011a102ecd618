"""A worker in a retry service. The worker processes records, and sends those that fail to the next retry topic or to the dead-letter topic.

A worker for a retry topic processes each record when the topic's delay has elapsed since the record was sent to that topic. With blocking
retries, there are no retry topics. The same worker tries the record again, and all later records in the partition wait.

A record that kills the process is never sent to another topic. If the worker counts tries before it starts them, it first commits the
offset, with the number of the try as the offset's metadata, so that the next instance knows both. When all tries of a record have been
started, the record goes to the dead-letter topic. To count tries before they start, the worker must make a separate commit for each record.

The laboratory determines which tries fail (`FailureRule`). In each batch, the first records fail. A fraction of a record is carried over to
the next batch, so exactly the requested share of records fails.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from core.kafka import errors, events
from core.kafka.applications.services.service_config import WorkerConfig
from core.kafka.applications.services.service_records import HeldRecords, RetriedRecords
from core.kafka.applications.services.service_worker import ServiceWorker
from core.kafka.applications.services.worker_phase import Phase
from core.kafka.clients.accumulator.producer_batch import ProducerBatch
from core.kafka.clients.client_context import ClientContext
from core.kafka.clients.consumer.group_consumer import GroupCall
from core.kafka.clients.producer.producer_transaction_state import ProducerTransactionState
from core.kafka.durability_observer import Tried
from core.kafka.group_coordinator.group_requests import OffsetToCommit
from core.kafka.ids import TopicPartition
from core.kafka.release import Release

MILLION: Final = 1_000_000

ENDED: Final = "the process ended"
"""The reason for the last failure of a record that goes to the dead-letter topic without another try."""


class FailureRule(NamedTuple):
    """The rule that determines which tries fail.

    Attributes:
        share_ppm: the share of records that fail, in parts per million.
        tries: how many of a record's tries can fail, counted from the first one; 0 means that all of them can fail.
        until: the time when records stop failing, in µs; -1 if they never stop.
        kills: whether a failing record kills the process.
        reason: the reason for the failure, such as the name of an exception.
    """

    share_ppm: int = 0
    tries: int = 0
    until: int = -1
    kills: bool = False
    reason: str = "IllegalStateException"

    def applies(self, number: int, now: int) -> bool:
        """Return whether this rule can make a try fail. The first try has `number` 1."""
        return bool(self.share_ppm) and (not self.tries or number <= self.tries) and (self.until < 0 or now < self.until)


class RetryConfig(NamedTuple):
    """The part of the configuration that only workers in retry services have.

    Attributes:
        number: the number of the try: 1 for the original topic, 2 for the first retry topic, and so on.
        blocking: the delays of blocking retries, in µs; empty if retries use topics.
        dead_letters: whether the target is the dead-letter topic.
        skips: whether records that fail for the last time are skipped, which requires that there is no dead-letter topic.
        starts: if the worker counts each try before the try starts, the maximum number of tries for each record; otherwise 0.
        dead_letter_topic: the dead-letter topic.
        handles_dead_letters: whether the worker reads the dead-letter topic itself.
    """

    number: int
    blocking: tuple[int, ...]
    dead_letters: bool
    skips: bool
    starts: int = 0
    dead_letter_topic: str = ""
    handles_dead_letters: bool = False


class RetryWorker(ServiceWorker):
    """One instance of a worker in a retry service.

    Attributes:
        plan: the configuration of the retries.
        rule: the rule that determines which tries fail.
        owed: the fraction of a record, in parts per million, that must still fail and that is carried over to the next batch.
        blocked: for each blocked partition, the records that are being tried again, and the number of their failed tries.
        reports: the records that were sent in the open transaction, with their headers and topic.
        started: for each partition, the offsets of unfinished records whose tries were counted, and how many of their tries were started.
        counted: the offsets of records for which the worker has committed the number of the next try, but has not started that try yet,
            by partition.
        counting: the partition and the offset of the record for which the worker is committing the number of the next try; None if there
            is none.
        count_sent: whether this commit has been sent.
    """

    __slots__ = ("blocked", "count_sent", "counted", "counting", "owed", "plan", "reports", "rule", "started")

    plan: Final[RetryConfig]
    blocked: Final[dict[int, tuple[HeldRecords, int]]]
    reports: Final[list[tuple[HeldRecords, RetriedRecords, str]]]
    started: Final[dict[int, dict[int, int]]]
    counted: Final[dict[int, int]]

    def __init__(
        self,
        name: str,
        does: WorkerConfig,
        retries: RetryConfig,
        instance: int,
        release: Release,
        context: ClientContext,
    ) -> None:
        super().__init__(name, does, instance, release, context)
        self.plan = retries
        self.rule = FailureRule()
        self.owed = 0
        self.blocked = {}
        self.reports = []
        self.started = {}
        self.counted = {}
        self.counting: tuple[int, int] | None = None
        self.count_sent = False
        if retries.starts:
            self.write_topic(retries.dead_letter_topic)

    # --- processing ------------------------------------------------------------------------------------------------

    def _handle(self, records: HeldRecords) -> None:
        """Try records that are due: some succeed, and the others fail."""
        waiting, failed_tries = self.blocked.get(records.partition, (None, 0))
        if waiting is not None and waiting.start != records.start:
            self.queue.push(records._replace(due=waiting.due), again=True)
            return
        if self.plan.starts:
            records, rest = records.split(records.start + 1)
            if rest.size:
                self.queue.push(rest, again=True)
            if self.counted.pop(records.partition, -1) != records.start:
                tries = self.plan.number - 1 + self._started_tries(records)
                self._forward(records, self._headers(records, tries, ENDED, records.event), self.plan.dead_letter_topic)
                return
        number = self.plan.number + failed_tries
        if self.plan.handles_dead_letters and isinstance(records.content, RetriedRecords):
            number = records.content.tries + 1
        failing = self._failing(records, number, first=waiting is None)
        if failing and self.rule.kills:
            self._report_try(records.split(records.start + failing)[0], number, failed=True)
            self.kill("crashed")
            return
        self.blocked.pop(records.partition, None)
        failed, succeeded = records.split(records.start + failing)
        if failed.size:
            event = self._report_try(failed, number, failed=True)
            if failed_tries < len(self.plan.blocking):
                if succeeded.size:
                    self.queue.push(succeeded._replace(due=self.journal.now + self.plan.blocking[failed_tries]), again=True)
                self._block_partition(failed, failed_tries)
                return
            self._send_on(failed, number, event)
        if succeeded.size:
            self._report_try(succeeded, number, failed=False)
            self._report(succeeded, number, "handled" if self.plan.handles_dead_letters else "succeeded")
            self._done(succeeded)

    # --- counting tries before they start --------------------------------------------------------------------------

    def _can_start(self, records: HeldRecords) -> bool:
        """Return whether the first record can be tried or sent to the dead-letter topic. If the number of the record's next try has not
        been committed, hold the records, and commit that number. If a transaction is open, commit it first, so that a later abort does not
        return the worker to earlier records."""
        partition, offset = records.partition, records.start
        if not self.plan.starts or self.counted.get(partition) == offset or self._started_tries(records) >= self.plan.starts:
            return True
        self.queue.push(records, again=True)
        if not self.consumer.can_commit:
            self.left = 0
        elif self.transactions is not None and self.transactions.state is ProducerTransactionState.IN_TRANSACTION:
            self.phase = Phase.FLUSHING
        else:
            self.started[partition][offset] = self._started_tries(records) + 1
            self.counting, self.count_sent = (partition, offset), False
            self.phase = Phase.COUNTING
            self._count()
        return False

    def _started_tries(self, records: HeldRecords) -> int:
        """Return how many tries were started for the first of the given records. When the worker gets a partition, it reads the numbers of
        started tries from the metadata of the committed offset.
        """
        partition = records.partition
        if partition not in self.started:
            self.started[partition] = _tries_in(self.consumer.metadata.get(partition, ""))
        return self.started[partition].get(records.start, 0)

    def _count(self) -> bool:
        """Commit the number of the try, together with the lowest offset that the worker has not finished handling. If the group refuses the
        commit, the worker first calls poll()."""
        consumer, counting = self.consumer, self.counting
        if consumer.call is not GroupCall.NOTHING or counting is None:
            return False
        partition, offset = counting
        succeeded = self.count_sent and consumer.error == errors.NONE
        refused = self.count_sent and consumer.member is not None and not succeeded
        self._complete_commit()
        if succeeded or refused:
            if succeeded:
                self.counted[partition] = offset
            else:
                self.started[partition][offset] -= 1
                self.left = 0
            self.counting, self.count_sent = None, False
            self.phase = Phase.RUNNING
            return True
        self.count_sent = True
        self.committing = ((consumer.tp(partition), self.offset_to_commit(partition), consumer.read_epoch(partition)),)
        consumer.commit_offsets(self.committing, self._metadata(self.committing))
        return False

    def _metadata(self, offsets: tuple[OffsetToCommit, ...]) -> tuple[str, ...]:
        """Return the metadata for each committed offset: the unfinished records at or above the offset, each with the number of tries that
        were started.
        """
        texts = [
            ",".join(f"{start}:{tries}" for start, tries in self.started.get(tp.partition, {}).items() if start >= offset)
            for tp, offset, _ in offsets
        ]
        return tuple(texts) if any(texts) else ()

    def _done(self, records: HeldRecords) -> None:
        """Record that the worker has finished handling some records, and forget their tries."""
        super()._done(records)
        if self.plan.starts:
            known = self.started.get(records.partition, {})
            for offset in [offset for offset in known if records.start <= offset < records.end]:
                del known[offset]

    # --- failures --------------------------------------------------------------------------------------------------

    def _failing(self, records: HeldRecords, number: int, *, first: bool) -> int:
        """Return how many of the records fail. A range of records that is retried in place succeeds or fails as a whole."""
        if not self.rule.applies(number, self.journal.now):
            return 0
        if not first:
            return records.size
        failing, self.owed = divmod(self.owed + records.size * self.rule.share_ppm, MILLION)
        return min(failing, records.size)

    def _block_partition(self, failed: HeldRecords, failed_tries: int) -> None:
        """Block the partition, and try the records again after the next delay."""
        again = failed._replace(due=self.journal.now + self.plan.blocking[failed_tries])
        self.blocked[failed.partition] = (again, failed_tries + 1)
        self.queue.push(again, again=True)

    def _send_on(self, failed: HeldRecords, number: int, event: int) -> None:
        """Send the records to the next topic. If there is no next topic, skip the records."""
        if self.plan.skips:
            self._report(failed, number, "skipped")
            self._done(failed)
            return
        self._forward(failed._replace(event=event), self._headers(failed, number, self.rule.reason, event))

    def _headers(self, failed: HeldRecords, number: int, reason: str, event: int) -> RetriedRecords:
        """Return the headers of records that the worker sends to the next topic after a given number of tries."""
        original, first = self._original(failed)
        since = failed.content.created if isinstance(failed.content, RetriedRecords) else self.journal.now
        return RetriedRecords(
            original, first, number, reason, since, self.does.group, self.consumer.tp(failed.partition), failed.start, event
        )

    def _original(self, records: HeldRecords) -> tuple[TopicPartition, int]:
        """Return the partition to which the application produced the records, and their first offset there."""
        headers = records.content
        if isinstance(headers, RetriedRecords):
            return headers.original, headers.first + records.start - records.base
        return self.consumer.tp(records.partition), records.start

    # --- reports ---------------------------------------------------------------------------------------------------

    def _report_try(self, records: HeldRecords, number: int, *, failed: bool) -> int:
        """Report a try, and return the sequence number of the event that records it."""
        journal, does = self.journal, self.does
        self.account.records_tried(does.service, number, records.size, failed)
        before, journal.cause = journal.cause, records.event or journal.cause
        event = journal.emit(
            events.RecordsTried.kind, self.name, does.source, records.partition, records.start, records.end, number,
            self.rule.reason if failed else "",
        )  # fmt: skip
        journal.cause = before
        return event

    def _report(self, records: HeldRecords, number: int, outcome: str) -> None:
        """Report to the durability account that the worker has finished trying records."""
        original, first = self._original(records)
        since = self.journal.now - records.content.created if isinstance(records.content, RetriedRecords) else 0
        self.account.records_done(
            self.does.service,
            Tried(
                self.name, self.instance, self.does.group, self.consumer.tp(records.partition), records.start, original, first, records.size,
                number, outcome, since, records.event or self.started_by,
            ),
        )  # fmt: skip

    def _forwarded(self, records: HeldRecords, batch: ProducerBatch) -> None:
        """Report records that have reached the next topic. Records in a transaction are reported only when the transaction is committed."""
        content, topic = batch.content, batch.tp.topic
        assert isinstance(content, RetriedRecords), "the worker sends records with these headers"
        if self.transactions is not None:
            self.reports.append((records, content, topic))
        else:
            self._report_sent(records, content, topic)

    def _report_sent(self, records: HeldRecords, content: RetriedRecords, topic: str) -> None:
        dead = self.plan.dead_letters or topic != self.topic
        self._report(records, content.tries, "dead" if dead else "retried")
        if dead:
            self.journal.emit(
                events.DeadLettered.kind, self.name, content.original.topic, content.original.partition, content.first,
                content.first + records.size, content.tries, content.reason, topic,
            )  # fmt: skip

    def _committed(self) -> None:
        """Report the records in a committed transaction."""
        for report in self.reports:
            self._report_sent(*report)
        self.reports.clear()
        super()._committed()

    def partitions_revoked(self, partitions: tuple[int, ...]) -> None:
        """Forget the records in partitions that the worker no longer owns."""
        super().partitions_revoked(partitions)
        for number in partitions:
            self.blocked.pop(number, None)
            self.started.pop(number, None)
            self.counted.pop(number, None)

    def _forget(self) -> None:
        super()._forget()
        self.blocked.clear()
        self.reports.clear()
        self.started.clear()
        self.counted.clear()

    def _check(self) -> None:
        self.account.retries_checked(self.does.service, self.does.group, self.does.source)


def _tries_in(metadata: str) -> dict[int, int]:
    """Parse the metadata of a committed offset, and return the number of started tries of each record, by record offset."""
    pairs = (text.partition(":") for text in metadata.split(",") if text)
    return {int(offset): int(tries) for offset, _, tries in pairs}
