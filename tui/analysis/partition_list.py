"""The filters and the order of the partition list."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Final

from core.kafka.health import (
    described_at_min_isr,
    described_min_isr,
    described_unavailable,
    described_under_min_isr,
    described_under_replicated,
)
from core.kafka.release import Release
from core.kafka.transaction.transaction_log import INTERNAL_TOPICS
from core.lab.views.cluster_view import ClusterView
from core.lab.views.partition_view import PartitionView
from scenarios.releases import release_named
from tui.analysis.word_filter import matcher
from tui.rendering.states import partition_words

FILTERS: Final[Mapping[str, Callable[[PartitionView, Container[int], int, Release], bool]]] = {
    "unavailable": lambda p, live, min_isr, release: described_unavailable(p, live),
    "under-min-isr": lambda p, live, min_isr, release: described_under_min_isr(p, min_isr),
    "at-min-isr": lambda p, live, min_isr, release: described_at_min_isr(p, min_isr),
    "under-replicated": lambda p, live, min_isr, release: described_under_replicated(p, release),
}
"""The four filters of `kafka-topics --describe`, by name. The filter for the worst state comes first.

Each filter is a function of the partition, the live brokers, the configured min ISR, and the release.
"""


def filtered(view: ClusterView, which: str) -> list[PartitionView]:
    """Return the partitions that `kafka-topics --describe` would print with a filter."""
    passes, release = FILTERS[which], release_named(view.release)
    live = {broker.id for broker in view.brokers if not broker.fenced}
    min_isr = {topic.name: described_min_isr(topic.config, release) for topic in view.topics}
    default = described_min_isr((), release)
    return [p for p in view.partitions if passes(p, live, min_isr.get(p.tp.topic, default), release)]


def in_order(view: ClusterView, worst_first: bool, which: str = "", words: str = "") -> list[PartitionView]:
    """Return the listed partitions, sorted by name or with the worst first. Among partitions of equal rank, internal topics come last.

    Args:
        view: the frozen state of the cluster.
        worst_first: whether the worst partitions come first.
        which: the name of a filter in `FILTERS`; empty for no filter.
        words: words that a listed partition must contain; empty for no filter.
    """
    partitions = filtered(view, which) if which else list(view.partitions)
    if words:
        matches = matcher(words)
        partitions = [p for p in partitions if matches(partition_words(p))]
    if worst_first:
        return sorted(partitions, key=lambda p: (not (p.lost or p.diverged), p.status, p.tp.topic in INTERNAL_TOPICS, p.tp))
    return sorted(partitions, key=lambda p: (p.tp.topic in INTERNAL_TOPICS, p.tp))
