"""Events about processes that read one topic, write to another, and commit their offsets, and about input records that they do not process
exactly once.
"""

from __future__ import annotations

from core.kafka.events.base import INSTANCE_ENDINGS, NOTABLE, NOTHING, Event


class ProcessStarted(Event, kind="process-started", source="KafkaProducer, KafkaConsumer", level=NOTABLE, changes=NOTHING):
    """An instance of a process started. If the process uses no transactions, `transactional_id` is empty."""

    process: str
    instance: int
    delivery: str
    group: str
    transactional_id: str

    def sentence(self) -> str:
        identity = f" and transactional ID {self.transactional_id}" if self.transactional_id else ""
        return f"instance {self.instance} of process {self.process} started with group {self.group}{identity} ({self.delivery})"


class ProcessStepDone(Event, kind="process-step", source="KafkaProducer, KafkaConsumer", changes=NOTHING):
    """A process completed a step of its loop. `input_offsets` contains the offsets of the step's input records; it is empty if there are
    none.
    """

    process: str
    instance: int
    step: str
    input_offsets: str

    def sentence(self) -> str:
        which = f" ({self.input_offsets})" if self.input_offsets else ""
        return f"instance {self.instance} of process {self.process} completed the {self.step} step{which}"


class ProcessRewound(Event, kind="process-rewound", source="KafkaProducer#abortTransaction", level=NOTABLE, changes=NOTHING):
    """A process abandoned its current records because of an error. The process continues from the offsets that its group committed."""

    process: str
    instance: int
    step: str
    error: str

    template = "instance {instance} of process {process} returns to its committed offsets, because the {step} step failed: {error}"


class ProcessEnded(
    Event, kind="process-ended", source="KafkaProducer#close", level=NOTABLE, words={"how": tuple(INSTANCE_ENDINGS)}, changes=NOTHING
):
    """An instance of a process ended during or after a step."""

    process: str
    instance: int
    step: str
    how: str
    error: str

    def sentence(self) -> str:
        why = f": {self.error}" if self.error else ""
        when = "after" if self.how == "crashed" else "during"
        return f"instance {self.instance} of process {self.process} {INSTANCE_ENDINGS[self.how]} {when} the {self.step} step{why}"


class ProcessedRange(Event, kind=""):
    """Input records that a process did not process exactly once. `doomed_by` is the event that caused the records to be processed twice,
    only in part, or never."""

    group: str
    process: str
    instance: int
    topic: str
    partition: int
    from_offset: int
    to_offset: int
    doomed_by: int


class ProcessedTwice(ProcessedRange, kind="processed-twice", source="durability account", level=NOTABLE):
    """Consumers with read_committed see the output for some input records more than once. `doomed_by` is the event that led to the last of
    the repeated outputs."""

    template = "PROCESSED TWICE: {record_range} by group {group}: instance {instance} of process {process} produced the output again after event {doomed_by}"


class NeverProcessed(ProcessedRange, kind="never-processed", source="durability account", level=NOTABLE):
    """The committed offset is above some input records that have no output. `doomed_by` is the event that committed the offset. `process`
    is empty."""

    template = "NEVER PROCESSED: {record_range} by group {group}: event {doomed_by} committed a higher offset, but there is no output"


class HalfVisible(ProcessedRange, kind="half-visible", source="durability account", level=NOTABLE):
    """Consumers with read_committed see only part of the output for some input records. `doomed_by` is the event that caused the output to
    be incomplete.
    """

    template = (
        "HALF VISIBLE: {record_range}, processed by group {group}: only part of the output that "
        "instance {instance} of process {process} produced after event {doomed_by} is visible"
    )
