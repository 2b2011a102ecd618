"""How many copies a model needs: the losses of copies through which it accepts writes, and through which acknowledged writes survive."""

from __future__ import annotations

import attrs


@attrs.frozen
class Tolerance:
    """The tolerance of a number of copies.

    Attributes:
        write: the number of lost copies with which writes are still accepted.
        keep: the number of permanently lost copies that an acknowledged write is certain to survive.
    """

    write: int
    keep: int


def majority(copies: int) -> Tolerance:
    """A majority log: a write needs a majority, and so does going on after a loss."""
    return Tolerance((copies - 1) // 2, (copies - 1) // 2)


def isr(copies: int, min_isr: int) -> Tolerance:
    """Kafka with acks=all: the ISR can shrink to min.insync.replicas, so only this many copies are certain."""
    return Tolerance(copies - min_isr, min_isr - 1)


def semi_sync(copies: int, count: int) -> Tolerance:
    """MySQL with semi-synchronous replication that stays on. The losses are those of replicas; the source is replaced by hand."""
    return Tolerance(copies - 1 - count, count)


def in_sync_copies(copies: int) -> Tolerance:
    """Elasticsearch: the primary removes copies that fail, down to itself."""
    return Tolerance(copies - 1, 0)
