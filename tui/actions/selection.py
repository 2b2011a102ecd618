"""What is selected of a cluster, and which of its partitions are listed in which order. Knows views only."""

from __future__ import annotations

from collections.abc import Sequence

from core.kafka.ids import TopicPartition
from core.lab.views.view import BrokerView, ClusterView, PartitionView
from tui.analysis.partition_list import FILTERS, filtered, in_order


class Selection:
    """The selected broker and partition, and the list they are chosen from.

    Attributes:
        broker, partition: what is selected; None as long as there is nothing.
        worst_first: whether partitions are listed with the worst first, and otherwise by name.
        which: the filter of kafka-topics that partitions pass to be listed; empty: all.
        words: what listed partitions, brokers and events all have; empty: all.
    """

    def __init__(self) -> None:
        self.broker: int | None = None
        self.partition: TopicPartition | None = None
        self.worst_first = False
        self.filter_name = ""
        self.words = ""
        self._checked_in = -1
        self._places: tuple[int, dict[TopicPartition, int]] = (-1, {})

    def choose(self, partition: TopicPartition | None = None, broker: int | None = None) -> None:
        """Select a partition, a broker, or both."""
        self.partition = partition if partition is not None else self.partition
        self.broker = broker if broker is not None else self.broker

    def keep_within(self, view: ClusterView) -> None:
        """Select what is there: something is always selected, as long as there is anything."""
        if view.version >= 0 and view.version == self._checked_in and self.partition is not None and self.broker is not None:
            return
        self._checked_in = view.version
        if self.broker not in {b.id for b in view.brokers}:
            self.broker = view.brokers[0].id if view.brokers else None
        if self.partition not in {p.tp for p in view.partitions}:
            self.partition = min((p.tp for p in view.partitions), default=None)

    def broker_in(self, view: ClusterView) -> BrokerView | None:
        """The selected broker."""
        return next((b for b in view.brokers if b.id == self.broker), None)

    def partition_in(self, view: ClusterView) -> PartitionView | None:
        """The selected partition."""
        chosen = self.partition
        if view.version < 0 or chosen is None:
            return next((p for p in view.partitions if p.tp == chosen), None)
        if self._places[0] != view.version:
            self._places = (view.version, {p.tp: at for at, p in enumerate(view.partitions)})
        at = self._places[1].get(chosen)
        return None if at is None else view.partitions[at]

    # --- moving ----------------------------------------------------------------------------------------------------

    def move_broker(self, by: int, listed: Sequence[int]) -> None:
        """Select the next broker of those listed, or one before; after the last comes the first."""
        if listed:
            at = listed.index(self.broker) if self.broker in listed else 0
            self.broker = listed[(at + by) % len(listed)]

    def move_partition(self, by: int, listed: Sequence[TopicPartition]) -> None:
        """Select the next partition of those listed, or one before, as far as there are any."""
        if listed:
            at = listed.index(self.partition) if self.partition in listed else 0
            self.partition = listed[max(0, min(len(listed) - 1, at + by))]

    def move_into(self, partitions: Sequence[TopicPartition], brokers: Sequence[int]) -> None:
        """Select the first of those listed where the selected one is not."""
        if partitions and self.partition not in partitions:
            self.partition = partitions[0]
        if brokers and self.broker not in brokers:
            self.broker = brokers[0]

    # --- the list --------------------------------------------------------------------------------------------------

    def listed(self, view: ClusterView) -> list[PartitionView]:
        """The partitions that are listed, in their order."""
        return in_order(view, self.worst_first, self.filter_name, self.words)

    def toggle_order(self, view: ClusterView) -> str:
        """List by name, or the worst first, and select the top; returns what to say of it."""
        self.worst_first = not self.worst_first
        self.partition = next((p.tp for p in self.listed(view)), self.partition)
        return "partitions: the worst first" if self.worst_first else "partitions: by name"

    def next_filter(self, view: ClusterView) -> str:
        """List by the next of kafka-topics' filters, after the last all again; returns what to say of it."""
        names = ["", *FILTERS]
        self.filter_name = which = names[(names.index(self.filter_name) + 1) % len(names)]
        if which:
            self.partition = next((p.tp for p in self.listed(view)), self.partition)
        count = len(filtered(view, which) if which else view.partitions)
        said = f"partitions: {which or 'all'}, {count}" if count or not which else f"no partition is {which}"
        return said + (f" (kafka-topics --{which}-partitions)" if which else "")

    def listing_note(self, view: ClusterView, back_key: str) -> str:
        """How the partitions are listed, where that is not all of them by name; `back_key` lists all again."""
        order = "worst first" if self.worst_first else ""
        only = " and ".join(filter(None, (self.filter_name, self.words and f"'{self.words}'")))
        if not only:
            return order
        ends = f", {back_key} shows all" if self.words else ""
        return f"{only} only, of {len(view.partitions)}" + (f", {order}" if order else "") + ends
