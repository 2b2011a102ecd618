"""The application of a consumer that is a member of a group. The application loops over poll(), processing, and commits.

The application spends some time on each poll and each record. While the application is processing records, it does not call poll(), so it
does not notice a rebalance or read more records. In poll(), the application waits until there are records.
"""

from __future__ import annotations

import enum

from core.kafka import events
from core.kafka.clients.client_context import ClientContext
from core.kafka.clients.group_member.kafka_consumer import KafkaConsumer
from core.kafka.clients.group_member.member_config import CommitMode, MemberConfig
from core.kafka.clients.group_member.offset_commits import CommitKind
from core.kafka.clients.group_member.topic_reader import PolledRange
from core.kafka.group_coordinator.classic_group.classic_group_messages import Partitions
from core.kafka.group_coordinator.group_requests import OffsetToCommit
from core.kafka.release import Release
from core.sim.kernel_messages import Disconnected, Timer


class Phase(enum.Enum):
    """What the application is doing."""

    POLLING = "in poll()"
    PREPARING = "committing before a rebalance"
    COMMITTING_FIRST = "committing before it processes"
    PROCESSING = "processing"
    COMMITTING = "committing"
    FAILED = "stopped after an exception"
    CLOSING = "closing"
    ENDED = "ended"


class GroupMember(KafkaConsumer):
    """One consumer in a group.

    Attributes:
        phase: what the application is doing.
        closing: whether the application closes the consumer after its current step.
        closes_on_error: whether the application closes the consumer after an exception; if not, the application only stops calling poll().
        commit_requested: whether an act has requested a commit.
        poll_time: the time that the application spends on each poll that returns records, in µs.
        record_time: the time that the application spends on each record, in µs.
        batch: the records that the application is processing.
        batch_began: the time when the application began to process the batch, in µs.
        batch_time: the time that processing the batch takes, in µs.
        batch_number: the number of polls that returned records, which distinguishes the timers of the current batch from those of earlier
            batches.
        processed: the number of records processed.
        crash_after: how many more records the application processes before it crashes; -1 if it does not crash.
        auto_commit_due: the time when the next automatic commit is due, in µs.
    """

    __slots__ = (
        "auto_commit_due", "batch", "batch_began", "batch_number", "batch_time", "closes_on_error", "closing", "commit_requested", "crash_after",
        "phase", "poll_time", "processed", "record_time",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        does: MemberConfig,
        release: Release,
        context: ClientContext,
    ) -> None:
        super().__init__(name, does, release, context)
        self.phase = Phase.POLLING
        self.closing = False
        self.closes_on_error = True
        self.commit_requested = False
        self.poll_time = 0
        self.record_time = 0
        self.batch: tuple[PolledRange, ...] = ()
        self.batch_began = 0
        self.batch_time = 0
        self.batch_number = 0
        self.processed = 0
        self.crash_after = -1
        self.auto_commit_due = 0
        self.timers.update({"work": self._work_done, "auto-commit": self._auto_commit_timer})

    # --- the life of the process -----------------------------------------------------------------------------------

    def succeed(self, former: GroupMember) -> None:
        """Replace an earlier process that has the same name, so that its timers and requests have no effect."""
        self.incarnation = former.incarnation + 1
        self._correlation = former._correlation

    def start(self) -> None:
        """Start the process: subscribe, and call poll()."""
        self.running = True
        self.network.process_started(self.address, self.journal.now)
        does = self.does
        self.journal.cause = self.journal.emit(
            events.MemberStarted.kind,
            self.name,
            does.group,
            ", ".join(does.topics),
            ", ".join(does.assignors) or "consumer protocol",
            does.instance_id,
        )
        for topic in does.topics:
            self._reader(topic)
        self._schedule_auto_commit()
        self._continue()

    def kill(self, how: str = "killed", error: str = "", frozen_at: int | None = None) -> None:
        """End the process abruptly. `how` is the value of the column `how` in the event `member-ended`.

        `frozen_at` is the time at which the process froze, in µs; None if the process is not frozen.
        """
        journal = self.journal
        if self.phase is Phase.PROCESSING:
            self._count_processed(self._done_by(journal.now if frozen_at is None else frozen_at))
        journal.cause = journal.emit(events.MemberEnded.kind, self.name, self.does.group, how, error)
        self.running, self.phase, self.batch = False, Phase.ENDED, ()
        self.unread.clear()
        self.incarnation += 1
        for reader in self.readers.values():
            reader.stop()
        self.network.process_died(self.address, journal.now, journal.cause)
        self.account.group_checked(self.does.group, tuple(self.coordinator.owned))

    def _stop_polling(self) -> None:
        """Stop calling poll() after an exception. The consumer remains a member until max.poll.interval.ms has elapsed."""
        self.journal.cause = self.journal.emit(events.PollFailed.kind, self.name, self.does.group, self.failure)
        self.phase, self.fetches = Phase.FAILED, False
        self.coordinator.poll_ended()

    def close(self) -> None:
        """Close the consumer after the application's current step (`KafkaConsumer#close`)."""
        self.closing = True
        if self.phase is Phase.FAILED:
            self._begin_close()
        self._continue()

    def commit_now(self) -> None:
        """Commit the offsets of the polled records as soon as the application calls poll() again (commitSync)."""
        self.commit_requested = True
        self._continue()

    # --- messages --------------------------------------------------------------------------------------------------

    def handle(self, message: object, sender: str) -> None:
        """Handle a message or a timer, and then continue the application's loop."""
        if isinstance(message, Disconnected) and message.node not in self.brokers:
            return  # another client has ended
        if not isinstance(message, Timer) and not self.coordinator.reads_network:
            self.unread.append((message, sender))
            return
        if self._dispatch(message, sender) or not self._waits_for_news():
            self._continue()

    def _waits_for_news(self) -> bool:
        """Return whether further calls to poll() have no effect until a message arrives or a timer fires."""
        commits = self.does.commits is CommitMode.AUTO and self.journal.now >= self.auto_commit_due
        return self.coordinator.is_settled and not commits

    # --- the loop of the application -------------------------------------------------------------------------------

    @property
    def is_polling(self) -> bool:
        """Whether the application is in poll()."""
        return self.phase is Phase.POLLING

    @property
    def calls_consumer(self) -> bool:
        """Whether the application is in poll() or in a commit. During these calls, the consumer reads from the network."""
        return self.phase not in (Phase.PROCESSING, Phase.FAILED)

    def _continue(self) -> None:
        """Continue with poll() until the application must wait."""
        while self.running and self.phase is Phase.POLLING:
            if self.failure and not self.closes_on_error and not self.closing:
                self._stop_polling()
                return
            if self.failure or self.closing:
                self._begin_close()
                return
            if self.commit_requested:
                self.commit_requested = False
                self._commit(Phase.COMMITTING, CommitKind.SYNC, self._consumed())
                continue
            if not self._poll_coordinator():
                continue
            polled = self._poll_records()
            if not polled:
                self._fetch()
                return
            self._begin_batch(polled)

    def _poll_coordinator(self) -> bool:
        """Perform the group-related part of poll(). Return False if the application must wait for a commit first
        (`ConsumerCoordinator#poll`). A member that has given up partitions joins again in the same poll() (`#joinGroupIfNeeded`)."""
        coordinator = self.coordinator
        prepares = True
        while prepares:
            if coordinator.must_prepare():
                if self.does.commits is CommitMode.AUTO and coordinator.commit_membership() is not None:
                    timeout = coordinator.does.client.max_poll_interval
                    self._commit(Phase.PREPARING, CommitKind.PREPARE, self._consumed(), timeout)
                    if self.phase is Phase.PREPARING:
                        return False
                else:
                    coordinator.prepare_join()
            coordinator.ensure_active_group()
            prepares = coordinator.must_prepare()
        if self.does.commits is CommitMode.AUTO and self.journal.now >= self.auto_commit_due:
            self._schedule_auto_commit()
            if coordinator.commit_membership() is not None and coordinator.calls.coordinator and (offsets := self._consumed()):
                self.commits.commit(CommitKind.AUTO, offsets, 0)
        self.commits.fetch()
        return True

    # --- processing ------------------------------------------------------------------------------------------------

    def _begin_batch(self, polled: tuple[PolledRange, ...]) -> None:
        """Return records from poll(). As in Kafka, the next fetches are sent before poll() returns."""
        self.batch = polled
        self._fetch()
        self.coordinator.poll_ended()
        self.fetches = False
        if self.does.commits is CommitMode.BEFORE:
            self._commit(Phase.COMMITTING_FIRST, CommitKind.SYNC, self._consumed())
        else:
            self._process()

    def _process(self) -> None:
        self.phase = Phase.PROCESSING
        self.batch_began = self.journal.now
        self.batch_number += 1
        count = sum(each.end - each.start for each in self.batch)
        if 0 <= self.crash_after < count:
            count = self.crash_after
        self.batch_time = self.poll_time + self.record_time * count
        if self.batch_time:
            self.timer(self.batch_time, "work", self.batch_number)
        else:
            self._work_done(self.batch_number)

    def stall(self, duration: int) -> None:
        """Make the application do other work for some time without calling poll()."""
        if self.phase is Phase.POLLING:
            self.coordinator.poll_ended()
            self.fetches = False
            self.phase, self.batch, self.batch_began, self.batch_time = Phase.PROCESSING, (), self.journal.now, duration
            self.batch_number += 1
            self.timer(duration, "work", self.batch_number)

    def _work_done(self, number: object) -> None:
        if number != self.batch_number or self.phase is not Phase.PROCESSING:
            return
        count = sum(each.end - each.start for each in self.batch)
        if 0 <= self.crash_after < count:
            self.batch_time = max(self.batch_time, 1)
            self._count_processed(self.crash_after)
            self.batch = ()
            self.kill("crashed")
            return
        if self.crash_after >= 0:
            self.crash_after -= count
        worked = bool(self.batch)
        self._count_processed(count)
        self.batch = ()
        if self.does.commits is CommitMode.AFTER and worked:
            self._commit(Phase.COMMITTING, CommitKind.SYNC, self._consumed())
        else:
            if self.does.commits is CommitMode.ASYNC and worked:
                self.commits.commit(CommitKind.ASYNC, self._consumed(), 0)
            self._return_to_poll()

    def thawed(self, duration: int) -> None:
        """Continue after the process was frozen for `duration` µs, and postpone the end of the application's current work by the same
        duration."""
        if self.phase is Phase.PROCESSING:
            self.batch_number += 1
            self.batch_began += duration
            left = self.batch_began + self.batch_time - self.journal.now
            self.timer(max(left, 0), "work", self.batch_number)

    def _done_by(self, moment: int) -> int:
        """Return how many records of the batch the application has processed by the given time (µs)."""
        count = sum(each.end - each.start for each in self.batch)
        spent = moment - self.batch_began
        if spent >= self.batch_time:
            return count
        return min(max(spent - self.poll_time, 0) // self.record_time, count) if self.record_time else 0

    def _count_processed(self, count: int) -> None:
        """Record that the application has processed the first records in its batch."""
        journal = self.journal
        cause = journal.cause
        for tp, start, end, epoch in self.batch:
            taken = min(end - start, count)
            if taken:
                count -= taken
                self.processed += taken
                event = journal.emit(events.RecordsProcessed.kind, self.name, self.does.group, tp.topic, tp.partition, start, start + taken)
                journal.cause = event
                self.account.records_processed(self.does.group, self.name, tp, start, start + taken, epoch)
        journal.cause = cause

    def _return_to_poll(self) -> None:
        self.phase = Phase.POLLING
        self.fetches = True
        self.coordinator.poll_began()
        self._read_network()

    # --- commits ---------------------------------------------------------------------------------------------------

    def _commit(self, phase: Phase, kind: CommitKind, offsets: tuple[OffsetToCommit, ...], timeout: int = 0) -> None:
        """Commit offsets, and wait for the result in the given phase."""
        self.phase = phase
        self.commits.commit(kind, offsets, timeout or self.does.client.default_api_timeout)
        self._read_network()

    def commit_ended(self, kind: CommitKind, error: str) -> None:
        """Continue after a commit, even if it failed."""
        if not kind.waits:
            return
        if kind is CommitKind.CLOSE:
            self._leave()
        elif self.phase is Phase.PREPARING:
            self.phase = Phase.POLLING
            self.coordinator.prepare_join()
        elif self.phase is Phase.COMMITTING_FIRST:
            self._process()
        elif self.phase is Phase.COMMITTING:
            self._return_to_poll()

    def _schedule_auto_commit(self) -> None:
        if self.does.commits is CommitMode.AUTO:
            interval = self.does.client.auto_commit_interval
            self.auto_commit_due = self.journal.now + interval
            self.timer(interval, "auto-commit", self.auto_commit_due)

    def _auto_commit_timer(self, _: object) -> None:
        """Handle the timer for automatic commits. If the application is in poll(), the commit happens now; otherwise, it happens at the
        beginning of the next poll()."""

    # --- the end ---------------------------------------------------------------------------------------------------

    def _begin_close(self) -> None:
        self.phase = Phase.CLOSING
        fenced = bool(self.failure) and self.coordinator.commit_membership() is None
        if self.does.commits is CommitMode.AUTO and self.coordinator.commit_membership() is not None and not fenced:
            self.commits.commit(CommitKind.CLOSE, self._consumed(), self.does.client.request_timeout)
        else:
            self._leave()

    def _leave(self) -> None:
        self.coordinator.revoke_all()
        if not self.coordinator.close():
            self.left()

    def left(self) -> None:
        """End the process after the response to LeaveGroup."""
        if self.running:
            self.kill("failed" if self.failure else "closed", self.failure)

    # --- partitions ------------------------------------------------------------------------------------------------

    def partitions_added(self, tps: Partitions) -> None:
        """Begin to read the given partitions, and restart the interval for automatic commits."""
        super().partitions_added(tps)
        self._schedule_auto_commit()

    def resume_partitions(self, topic: str | None, partition: int | None) -> None:
        """Resume paused partitions, and continue with poll()."""
        super().resume_partitions(topic, partition)
        self._continue()
