"""The number of copies that a model needs: how many lost copies still allow writes, and how many an acknowledged write survives."""

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
    """Return the tolerance of a majority log: both a write and the continuation after a loss need a majority."""
    return Tolerance((copies - 1) // 2, (copies - 1) // 2)


def isr(copies: int, min_isr: int) -> Tolerance:
    """Return the tolerance of Kafka with acks=all: the ISR can shrink to min.insync.replicas, so only this many copies are certain."""
    return Tolerance(copies - min_isr, min_isr - 1)


def semi_sync(copies: int, count: int) -> Tolerance:
    """Return the tolerance of MySQL if semi-synchronous replication stays on. Only losses of replicas count; the source is replaced by hand."""
    return Tolerance(copies - 1 - count, count)


def in_sync_copies(copies: int) -> Tolerance:
    """Return the tolerance of Elasticsearch: the primary removes failed copies until only the primary is left."""
    return Tolerance(copies - 1, 0)
