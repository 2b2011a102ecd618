"""A reading: a value that conditions can read, with its name, arguments, type, and function.

Readings use the snapshots of `core.lab.views.cluster_view` and the recorded events, never the running cluster. If a reading currently has no value,
such as the high watermark of a partition without a leader, its result is None. Every comparison with None is false.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

import attrs

from core.kafka.ids import NO_LEADER, TopicPartition
from core.lab.audit.audit_report import AuditReport
from core.lab.views.cluster_view import ClusterView
from core.lab.views.log_contents import LogContents
from core.lab.views.partition_view import PartitionView
from core.sim.units import format_duration

NUMBER: Final = "number"

DURATION: Final = "duration"

BOOL: Final = "truth"

WORD: Final = "word"

BROKER: Final = "broker"

IDS: Final = "set of brokers"

ROW: Final = "list of brokers"

EPOCHS: Final = "list of (epoch, start offset)"

TEXT: Final = "value of a key"


class Moment(Protocol):
    """The state at one moment, and the events up to that moment. A condition is evaluated at a given moment."""

    def view(self) -> ClusterView:
        """Return the view of the whole cluster."""

    def partition(self, tp: TopicPartition) -> PartitionView | None:
        """Return the view of a partition, or None if the partition does not exist at that moment."""

    def contents(self, tp: TopicPartition, broker: int) -> LogContents | None:
        """Return the records that a broker stores for a partition of a compacted topic, or None if there are none."""

    def events(self, kind: str) -> list[tuple[Any, ...]]:
        """Return the recorded events of a kind, oldest first."""

    def audit(self) -> AuditReport | None:
        """Return the report of the message audit, or None if the session has no audit."""


@attrs.frozen(repr=False)
class Reading:
    """A value that conditions can read, with its name in the condition language.

    Attributes:
        name: the name of the reading.
        arguments: the kinds of the arguments: `partition`, `broker`, `client`, `group`, `key`, `transactional-id`, or `partition-or-client`, with a trailing `?` if
            optional.
        type: the type of the value.
        meaning: one line of documentation.
        read: the function that reads the value from a `Moment`.
        words: the possible values, if the value is a word.
        ages: whether the value can change without an event, merely because time passes.
        kinds: the kinds of the events that `read` reads.
        audits: whether `read` needs a message audit.
    """

    name: str
    arguments: tuple[str, ...]
    type: str
    meaning: str
    read: Callable[..., Any]
    words: tuple[str, ...] = ()
    ages: bool = False
    kinds: tuple[str, ...] = ()
    audits: bool = False

    @property
    def written(self) -> str:
        """The reading with its arguments, for example `hw(partition, broker)`."""
        inside = ", ".join(f"[{kind[:-1]}]" if kind.endswith("?") else kind for kind in self.arguments)
        return f"{self.name}({inside})" if inside else self.name


STATISTICS: Final = {
    "mean": "the mean",
    "p50": "the median",
    "p95": "the 95th percentile (nearest rank)",
    "p99": "the 99th percentile (nearest rank)",
    "max": "the maximum",
}
"""The statistics that a condition can compute from a list of durations, with their meanings."""


def show(value: Any, kind: str) -> str:
    """Return a value in the notation of conditions."""
    if value is None:
        return "nothing"
    if kind == BROKER:
        return "none" if value == NO_LEADER else str(value)
    if kind == BOOL:
        return "true" if value else "false"
    if kind == DURATION:
        return format_duration(value)
    if kind in (IDS, ROW):
        return "[" + ", ".join(map(str, value)) + "]"
    if kind == EPOCHS:
        return "[" + ", ".join(f"({epoch}, {start})" for epoch, start in value) + "]"
    return str(value)
