"""The output of `kafka-topics --describe` as data: topics with their summary lines and their partition rows.

`parse` creates the data from pasted text, and `render.from_view` creates the data from a running cluster. `render` prints the data. Kafka
source: `TopicCommand.TopicDescription` and `TopicCommand.PartitionDescription`.
"""

from __future__ import annotations

import enum

import attrs

from core.kafka.health import is_offline, replication_factor
from scenarios.errors import InputError


class ElrColumn(enum.StrEnum):
    """What a partition row says about eligible leader replicas (KIP-966)."""

    ABSENT = "columns absent"
    """The output has no ELR columns, because the tool of its release does not print them."""
    NOT_AVAILABLE = "N/A"
    """The tool prints the ELR columns, but the broker does not send their values."""
    LISTED = "listed"
    """The ELR columns contain lists of broker ids, which can be empty."""


@attrs.frozen
class DescribedPartition:
    """A partition row in the output of `kafka-topics --describe`.

    Attributes:
        topic, partition: the topic and the number of the partition.
        leader: the broker ID, or -1 if the partition has no leader (printed as `none` or `-1`).
        replicas: the assigned replicas in order, including those being added or removed.
        isr: the in-sync replicas, in the order in which the tool prints them.
        elr, last_known_elr: the broker ids in the columns `Elr` and `LastKnownElr`; None if the column is absent or contains N/A.
        elr_known: whether the pasted text contains the column `Elr`, and if so, whether the column contains N/A or a list of broker ids.
        adding, removing: the replicas that a reassignment in progress adds and removes.
        marked_for_deletion: whether the row ends with `MarkedForDeletion: true`.
        observers: the replicas that by design stay outside the ISR (`Observers` or `LiveObservers` of Confluent Server).
        offline: the replicas that are not available (`Offline` of Confluent Server); None if the column is absent.
        aside: the columns of the row that Kafka's own tool does not print, as (name, value); `render` omits these columns.
    """

    topic: str
    partition: int
    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...] | None = None
    elr_known: ElrColumn = ElrColumn.ABSENT
    last_known_elr: tuple[int, ...] | None = None
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    marked_for_deletion: bool = False
    observers: tuple[int, ...] = ()
    offline: tuple[int, ...] | None = None
    aside: tuple[tuple[str, str], ...] = ()

    @property
    def has_leader(self) -> bool:
        """Whether the partition has a leader."""
        return not is_offline(self)

    @property
    def replication_factor(self) -> int:
        """The number of replicas, not counting those being added (`core.kafka.health`)."""
        return replication_factor(self)


@attrs.frozen
class DescribedTopic:
    """A topic with its summary line and its partition rows.

    Attributes:
        name: the name of the topic.
        topic_id: the topic id as printed; '' if the summary line has none.
        partitions, replication_factor: the numbers in the summary line; without a summary line, the numbers derived from the rows.
        config: the settings as (name, value as written), in the order in which the tool prints them.
        rows: the partitions in order; empty if only the summary line was printed (`--topics-with-overrides`).
        marked_for_deletion: whether the summary line ends with `MarkedForDeletion: true`.
        headed: whether the pasted text contains the topic's summary line; with a filter, Kafka's tool omits summary lines.
        aside: the columns of the summary line that Kafka's own tool does not print, as (name, value).
    """

    name: str
    topic_id: str
    partitions: int
    replication_factor: int
    config: tuple[tuple[str, str], ...]
    rows: tuple[DescribedPartition, ...]
    marked_for_deletion: bool = False
    headed: bool = True
    aside: tuple[tuple[str, str], ...] = ()


@attrs.frozen
class DescribeImport:
    """The result of parsing: the topics in order of appearance, and a note for each part of the pasted text that could not be used."""

    topics: tuple[DescribedTopic, ...]
    notes: tuple[str, ...]
    source: str = "<stdin>"


class DescribeError(InputError):
    """The error for a description of an impossible cluster. The message has the form `source:line: problem; remedy`."""
