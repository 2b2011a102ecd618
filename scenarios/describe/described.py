"""What one `kafka-topics --describe` text says, as data: topics with their headline and their partition rows.

`parse` makes these from text, `render` makes text of them, `render.from_view` takes them from a running cluster.
Kafka source: `TopicCommand.TopicDescription` and `TopicCommand.PartitionDescription`.
"""

from __future__ import annotations

import enum

import attrs

from core.kafka.health import is_offline, replication_factor
from scenarios.errors import InputError


class ElrColumn(enum.StrEnum):
    """What a row says about eligible leader replicas (KIP-966)."""

    ABSENT = "columns absent"
    """The release prints no such columns."""
    NOT_AVAILABLE = "N/A"
    """The tool knows them, the broker does not tell."""
    LISTED = "listed"
    """Broker ids, possibly none."""


@attrs.frozen
class DescribedPartition:
    """One partition row.

    Attributes:
        topic, partition: which partition.
        leader: broker id, or -1 when nobody leads (printed `none` or `-1`).
        replicas: assigned replicas in order, those being added and removed included.
        isr: in-sync replicas in the order printed.
        elr, last_known_elr: `None` when the column is absent or says N/A.
        elr_known: which of those it is.
        adding, removing: replicas that a reassignment in progress adds and removes.
        marked_for_deletion: the row ends with `MarkedForDeletion: true`.
        observers: replicas that by design stay outside the ISR (Confluent Server's `Observers` or `LiveObservers`).
        offline: replicas that are not available (Confluent Server's `Offline`); `None` when there is no such column.
        aside: columns that Kafka's own tool does not print, as (name, value); never printed back.
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
        """Whether somebody leads it."""
        return not is_offline(self)

    @property
    def replication_factor(self) -> int:
        """Replicas without those being added (`core.kafka.health`)."""
        return replication_factor(self)


@attrs.frozen
class DescribedTopic:
    """A topic: its headline and its rows, ordered by partition.

    Attributes:
        name: the topic.
        topic_id: as printed, '' when the headline has none.
        partitions, replication_factor: as the headline says; without a headline, as the rows show.
        config: settings as (name, value as written), in the order printed.
        rows: the partitions; empty when only the headline was printed (`--topics-with-overrides`).
        marked_for_deletion: the headline ends with `MarkedForDeletion: true`.
        headed: whether there was a headline; the filters print none.
        aside: columns of the headline that Kafka's own tool does not print.
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
    """A text that was read: its topics in order of appearance, and a note for everything that could not be placed."""

    topics: tuple[DescribedTopic, ...]
    notes: tuple[str, ...]
    source: str = "<stdin>"


class DescribeError(InputError):
    """A text that is no description of a possible cluster: `source:line: what; what would be right`."""
