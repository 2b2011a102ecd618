"""Events about services on top of Kafka: delayed records (which a service holds until they are due), retries, and dead letters."""

from __future__ import annotations

from core.kafka.events.base import INSTANCE_ENDINGS, NOTABLE, NOTHING, Event, count_of, offsets, records
from core.sim.units import format_duration


class ServiceStarted(Event, kind="service-started", source="KafkaConsumer, KafkaProducer", level=NOTABLE, changes=NOTHING):
    """An instance of a worker in a service started. If the worker uses no transactions, `transactional_id` is empty."""

    worker: str
    instance: int
    reads: str
    writes: str
    group: str
    delay_us: int
    transactional_id: str

    def sentence(self) -> str:
        identity = f" and transactional ID {self.transactional_id}" if self.transactional_id else ""
        delay = f", with a delay of {format_duration(self.delay_us)}" if self.delay_us else ""
        return f"instance {self.instance} of {self.worker} reads {self.reads} and writes to {self.writes}{delay}; it uses group {self.group}{identity}"


class ServiceEnded(
    Event, kind="service-ended", source="KafkaProducer#close", level=NOTABLE, words={"how": tuple(INSTANCE_ENDINGS)}, changes=NOTHING
):
    """An instance of a worker ended. The `held` records were only in the memory of this instance."""

    worker: str
    instance: int
    held: int
    how: str
    error: str

    def sentence(self) -> str:
        why = f" ({self.error})" if self.error else ""
        held = records(self.held) if self.held else "no records"
        return f"instance {self.instance} of {self.worker} {INSTANCE_ENDINGS[self.how]}{why} while it held {held} in memory"


class ServiceRewound(Event, kind="service-rewound", source="KafkaProducer#abortTransaction", level=NOTABLE, changes=NOTHING):
    """A worker aborted its transaction because of an error. The worker continues from the offsets that its group committed."""

    worker: str
    instance: int
    error: str

    template = "instance {instance} of {worker} aborts its transaction and returns to its committed offsets: {error}"


class WorkerRecords(Event, kind=""):
    """What a worker did with records from a partition that it reads."""

    worker: str
    topic: str
    partition: int
    from_offset: int
    to_offset: int


class HeldRecords(Event, kind=""):
    """The number of a partition's records that a worker holds, and the limit on this number."""

    worker: str
    topic: str
    partition: int
    held: int
    bound: int


class RecordsHeld(WorkerRecords, kind="records-held", source="delay service"):
    """A worker holds records in memory until they are due. The records become due after `wait_us`."""

    wait_us: int

    def sentence(self) -> str:
        be = "is" if self.to_offset - self.from_offset == 1 else "are"
        when = f"{be} due in {format_duration(self.wait_us)}" if self.wait_us else f"{be} already due"
        return f"{self.worker} holds {self.record_range}, which {when}"


class ServicePaused(HeldRecords, kind="service-paused", source="KafkaConsumer#pause"):
    """A worker paused a partition, because it holds the maximum number of records from this partition (`bound`)."""

    template = "{worker} pauses {tp}, because it holds {held:count record} from the partition (bound: {bound:,})"


class ServiceResumed(HeldRecords, kind="service-resumed", source="KafkaConsumer#resume"):
    """A worker resumed a partition, because it holds fewer records from this partition than the maximum (`bound`)."""

    def sentence(self) -> str:
        held = f"only {records(self.held)}" if self.held else "no records"
        return f"{self.worker} resumes {self.tp}, because it holds {held} from the partition (bound: {self.bound:,})"


class DelayedForwarded(WorkerRecords, kind="delayed-forwarded", source="delay service"):
    """A broker acknowledged delayed records in their destination topic, `late_us` after they were due. If `late_us` is negative, the
    records arrived too early. If levels are chained, `real_topic` can also be the topic of the next level. In this case, the event of the
    last level in the chain reports the rounding.

    `rounding_us` is the delay of the level minus the requested delay. `total_error_us` is the time since the records were sent, minus the
    requested delay. Logs from earlier isrlab versions do not have the columns `rounding_us` and `total_error_us`.
    """

    late_us: int
    real_topic: str
    rounding_us: int = 0
    total_error_us: int = 0

    def sentence(self) -> str:
        late = f"{format_duration(self.late_us)} late" if self.late_us >= 0 else f"{format_duration(-self.late_us)} TOO EARLY"
        count = count_of(self.to_offset - self.from_offset, "delayed record")
        return f"{count} of {self.tp} ({offsets(self.from_offset, self.to_offset)}) reached {self.real_topic} {late}"


class RecordsTried(WorkerRecords, kind="records-tried", source="retry service"):
    """A worker tried to process records. `reason` says why the records failed; it is empty if they succeeded."""

    number: int
    reason: str

    def sentence(self) -> str:
        outcome = f"failed: {self.reason}" if self.reason else "succeeded"
        return f"{self.worker} processed {self.record_range}, and try {self.number} {outcome}"


class DeadLettered(WorkerRecords, kind="dead-lettered", source="DeadLetterPublishingRecoverer", level=NOTABLE):
    """The dead-letter topic received records that failed on every try or that their destination topic never accepts. The offsets are those
    at which the application originally produced the records.
    """

    tries: int
    reason: str
    dead_letter_topic: str

    template = "{record_range} went to {dead_letter_topic} after {tries:count try/tries}: {reason}"


class SucceededTwice(Event, kind="succeeded-twice", source="durability account", level=NOTABLE):
    """Records in a retry service succeeded more than once. `doomed_by` is the event that caused the records to be processed again."""

    worker: str
    instance: int
    topic: str
    partition: int
    from_offset: int
    to_offset: int
    doomed_by: int

    template = "PROCESSED TWICE: {record_range} succeeded again in instance {instance} of {worker} after event {doomed_by}"


class RetryDropped(Event, kind="retry-dropped", source="durability account", level=NOTABLE):
    """The committed offset is above records that neither succeeded nor reached the next topic. `doomed_by` is the event that committed the
    offset."""

    group: str
    topic: str
    partition: int
    from_offset: int
    to_offset: int
    doomed_by: int

    template = (
        "DROPPED: {record_range}: event {doomed_by} committed a higher offset of group {group}, "
        "but the records neither succeeded nor reached another topic"
    )
