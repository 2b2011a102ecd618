"""How a producer chooses a partition for records that have no key, based on the lengths of its queues (Kafka: `BuiltInPartitioner`,
KIP-794, since 3.3).

The longer the queue of batches for a partition is, the less often the producer chooses this partition.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate


def cumulative_weights(queue_lengths: Sequence[int]) -> tuple[int, ...] | None:
    """Return the cumulative weights of partitions, given the lengths of their queues (`BuiltInPartitioner#updatePartitionLoadStats`).

    The weight of a queue is 1 more than the difference between its length and that of the longest queue. If there are fewer than two
    partitions, or all queues have the same length, return None, which means a uniform choice.
    """
    if len(queue_lengths) < 2 or len(set(queue_lengths)) == 1:
        return None
    longest = max(queue_lengths) + 1
    return tuple(accumulate(longest - length for length in queue_lengths))


def choose_partition(weights: Sequence[int], number: int) -> int:
    """Return the index of the partition that a random number selects (`BuiltInPartitioner#nextPartition`). The random number is taken
    modulo the total weight."""
    return bisect_right(weights, number % weights[-1])
