"""The moments around a send: what a fault does can depend on whether it meets a batch that is on its way, although nothing is known about the
batch yet that would make another situation.

A fault that takes time, such as a clean shutdown, meets the batch if it begins shortly before the batch is sent. What happens between nodes
takes a number of latencies, so such moments lie half a latency before a send, and a latency and a half; halves, because at a whole number two
messages would arrive at once. A third moment is the end of the instant of the send.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from core.kafka.clients.producer.producer import Producer
from core.kafka.ids import TopicPartition
from core.lab.cluster import Cluster
from core.lab.views.situation import Situation, key_of

HALVES: Final = (3, 1, 0)
"""How long before a send something is tried, in halves of the latency between two nodes."""


class Sends:
    """Notices when the producers of a cluster send batches. A batch that is answered in the instant of its send, or not at all (acks=0), is not
    noticed.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._last: dict[str, int] = {}  # the correlation ID of the newest batch, by producer
        self.partitions()

    def partitions(self) -> set[TopicPartition]:
        """Return the partitions to which batches were sent since the last call."""
        found: set[TopicPartition] = set()
        for name, client in self._cluster.clients.items():
            if not isinstance(client, Producer):
                continue
            batches = client.sender.in_flight.batches
            newest = next(reversed(batches), -1)
            last = self._last.get(name, -1)
            if newest > last:
                self._last[name] = newest
                found.update(batch.tp for number, batch in batches.items() if number > last)
        return found


def moments_around_send(cluster: Cluster, before: Situation, *, swaps: bool) -> list[tuple[bytes, int]]:
    """Return the moments around the first send in a situation, which happens now: their keys, and their virtual times in µs."""
    key = key_of(before, swaps=swaps)
    latency = cluster.network.latency
    around = HALVES if latency else HALVES[-1:]
    return [(blake2b(key + bytes([halves]), digest_size=16).digest(), cluster.now - halves * latency // 2) for halves in around]
