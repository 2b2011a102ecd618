"""The selection in a cluster, and the filter and order of the partition list."""

from __future__ import annotations

from collections.abc import Sequence

from core.kafka.ids import TopicPartition
from core.lab.views.broker_view import BrokerView
from core.lab.views.cluster_view import ClusterView
from core.lab.views.partition_view import PartitionView
from tui.analysis.partition_list import FILTERS, filtered, in_order


class Selection:
    """The selected broker and partition, and how partitions are listed.

    Attributes:
        broker, partition: the selected broker and partition, or None if nothing is selected.
        worst_first: whether the list is sorted with the worst partitions first, instead of by name.
        filter_name: the kafka-topics filter that is applied to the partition list; empty for all partitions.
        words: the words that partitions, brokers, and events must contain to be listed; empty for no filter.
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
        """If the selected broker or partition is not in the view, select the first one in the view instead."""
        if view.version >= 0 and view.version == self._checked_in and self.partition is not None and self.broker is not None:
            return
        self._checked_in = view.version
        if self.broker not in {b.id for b in view.brokers}:
            self.broker = view.brokers[0].id if view.brokers else None
        if self.partition not in {p.tp for p in view.partitions}:
            self.partition = min((p.tp for p in view.partitions), default=None)

    def broker_in(self, view: ClusterView) -> BrokerView | None:
        """Return the view of the selected broker, or None."""
        return next((b for b in view.brokers if b.id == self.broker), None)

    def partition_in(self, view: ClusterView) -> PartitionView | None:
        """Return the view of the selected partition, or None."""
        chosen = self.partition
        if view.version < 0 or chosen is None:
            return next((p for p in view.partitions if p.tp == chosen), None)
        if self._places[0] != view.version:
            self._places = (view.version, {p.tp: at for at, p in enumerate(view.partitions)})
        at = self._places[1].get(chosen)
        return None if at is None else view.partitions[at]

    # --- moving ----------------------------------------------------------------------------------------------------

    def move_broker(self, by: int, listed: Sequence[int]) -> None:
        """Move the selection by the given number of listed brokers. At the ends of the list, wrap around."""
        if listed:
            at = listed.index(self.broker) if self.broker in listed else 0
            self.broker = listed[(at + by) % len(listed)]

    def move_partition(self, by: int, listed: Sequence[TopicPartition]) -> None:
        """Move the selection by the given number of listed partitions. Stop at the ends of the list."""
        if listed:
            at = listed.index(self.partition) if self.partition in listed else 0
            self.partition = listed[max(0, min(len(listed) - 1, at + by))]

    def move_into(self, partitions: Sequence[TopicPartition], brokers: Sequence[int]) -> None:
        """If the selected partition is not listed, select the first listed partition. If the selected broker is not listed, select the
        first listed broker.
        """
        if partitions and self.partition not in partitions:
            self.partition = partitions[0]
        if brokers and self.broker not in brokers:
            self.broker = brokers[0]

    # --- the list --------------------------------------------------------------------------------------------------

    def listed(self, view: ClusterView) -> list[PartitionView]:
        """Return the listed partitions in order."""
        return in_order(view, self.worst_first, self.filter_name, self.words)

    def toggle_order(self, view: ClusterView) -> str:
        """Switch to the other order of the list and select the first partition. Return a message that describes how the list is filtered or
        sorted now."""
        self.worst_first = not self.worst_first
        self.partition = next((p.tp for p in self.listed(view)), self.partition)
        return "partitions sorted with the worst first" if self.worst_first else "partitions sorted by name"

    def next_filter(self, view: ClusterView) -> str:
        """Switch to the next kafka-topics filter.

        If the last filter is active, list all partitions again. Return a message that describes how the list is filtered or sorted now.
        """
        names = ["", *FILTERS]
        self.filter_name = which = names[(names.index(self.filter_name) + 1) % len(names)]
        if which:
            self.partition = next((p.tp for p in self.listed(view)), self.partition)
        count = len(filtered(view, which) if which else view.partitions)
        said = f"partitions: {which or 'all'}, {count}" if count or not which else f"no partition is {which}"
        return said + (f" (kafka-topics --{which}-partitions)" if which else "")

    def nothing_note(self, search_key: str, back_key: str, only_key: str) -> str:
        """Return what an empty list says: why it is empty, and how to leave the filter.

        Args:
            search_key, back_key: the display names of the keys that change and remove the word filter.
            only_key: the display name of the key for the next kafka-topics filter.
        """
        among = f" is {self.filter_name}" if self.filter_name else ""
        matches = f" matches '{self.words}'" if self.words else ""
        ways = [f"press {search_key} to change the words, or {back_key} to show all"] if self.words else []
        ways += [f"press {only_key} for the next kafka-topics filter"] if self.filter_name else []
        return f"No partition{among}{' and' if among and matches else ''}{matches}: {', or '.join(ways)}."

    def listing_note(self, view: ClusterView, back_key: str) -> str:
        """Describe the filter and the order of the list. If the list shows all partitions in order of name, return an empty string.

        Args:
            view: the frozen state of the cluster.
            back_key: the display name of the key that removes the word filter.
        """
        order = "worst first" if self.worst_first else ""
        only = " and ".join(filter(None, (self.filter_name, self.words and f"'{self.words}'")))
        if not only:
            return order
        ends = f", {back_key} shows all" if self.words else ""
        return f"{only} only, of {len(view.partitions)}" + (f", {order}" if order else "") + ends
