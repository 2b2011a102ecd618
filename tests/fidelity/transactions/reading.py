"""What a new consumer reads from the model."""

from __future__ import annotations

from typing import Any, Final

from core.kafka import events
from core.kafka.ids import TopicPartition
from core.lab import acts
from core.lab.cluster import Cluster
from core.sim.units import SECOND

READING: Final = 3 * SECOND
"""The time for which a new consumer reads, in µs."""


def read_all(cluster: Cluster, partitions: dict[str, TopicPartition], isolation: str) -> dict[str, tuple[list[int], int]]:
    """Return the records that a new consumer reads from the beginning, and its final position, by the recorded name of the partition.

    The consumer reads in a copy of the model, so nothing else changes.
    """
    heard: list[Any] = []
    copy = Cluster.restore(cluster.snapshot(), heard.append)
    there = {name: tp for name, tp in partitions.items() if tp.topic in copy.controller.registry.topics}
    for topic in dict.fromkeys(tp.topic for tp in there.values()):
        copy.do(acts.Consume(topic, f"reader of {topic}", isolation=isolation))
    copy.run_until(copy.now + READING)
    found: dict[str, tuple[list[int], int]] = {}
    for name, tp in there.items():
        reader = copy.clients.consumer(f"reader of {tp.topic}")
        assert reader is not None
        offsets_read = [
            offset
            for event in heard
            if event[3] == events.Consumed.kind and event[4] == reader.name and event[6] == tp.partition
            for offset in range(event[8], event[9])
        ]
        found[name] = (offsets_read, reader.positions[tp.partition])
    return found
