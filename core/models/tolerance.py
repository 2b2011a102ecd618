"""The number of copies that a model needs so that it accepts writes and keeps acknowledged writes even after some copies are lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs


@attrs.frozen
class Tolerance:
    """How many lost copies a system with a given number of copies tolerates.

    Attributes:
        write: how many copies can be lost while writes are still accepted.
        keep: how many copies can be permanently lost without the loss of any acknowledged write.
    """

    write: int
    keep: int


def majority(copies: int) -> Tolerance:
    """Return the tolerance of a majority log, which needs a majority both for a write and to continue after a loss."""
    return Tolerance((copies - 1) // 2, (copies - 1) // 2)


def isr(copies: int, min_isr: int) -> Tolerance:
    """Return the tolerance of Kafka with acks=all: the ISR can shrink to min.insync.replicas, so only min.insync.replicas copies are
    certain to have a write.
    """
    return Tolerance(copies - min_isr, min_isr - 1)


def semi_sync(copies: int, count: int) -> Tolerance:
    """Return the tolerance of MySQL if semi-synchronous replication stays on. Only losses of replicas count, because an operator replaces a
    lost source.
    """
    return Tolerance(copies - 1 - count, count)


def in_sync_copies(copies: int) -> Tolerance:
    """Return the tolerance of Elasticsearch: the primary removes failed copies until only the primary is left."""
    return Tolerance(copies - 1, 0)


def asynchronous(copies: int) -> Tolerance:
    """Return the tolerance of a primary that acknowledges a write before another copy has it, as Kafka with acks=1 and asynchronous MySQL do."""
    return Tolerance(copies - 1, 0)


# --- the tolerances of a number of copies, for each setting that decides them ---------------------------------------------


def majorities(copies: int) -> Sequence[Tolerance]:
    """Return a single tolerance, because no setting of a majority log changes the tolerance."""
    return [majority(copies)]


def isr_by_min_isr(copies: int) -> Sequence[Tolerance]:
    """Return the tolerances of Kafka with acks=all for each min.insync.replicas."""
    return [isr(copies, least) for least in range(1, copies + 1)]


def semi_sync_by_count(copies: int) -> Sequence[Tolerance]:
    """Return the tolerances of MySQL for each rpl_semi_sync_source_wait_for_replica_count."""
    return [semi_sync(copies, count) for count in range(1, copies)]


def in_sync_copies_of(copies: int) -> Sequence[Tolerance]:
    """Return a single tolerance for Elasticsearch, because wait_for_active_shards does not guarantee how many copies contain a write."""
    return [in_sync_copies(copies)]


def asynchronous_copies(copies: int) -> Sequence[Tolerance]:
    """Return a single tolerance, because no setting of asynchronous replication changes the tolerance."""
    return [asynchronous(copies)]


@attrs.frozen
class CopiesNeeded:
    """How many copies are needed to tolerate a given number of lost copies.

    Attributes:
        to_keep: how many copies are needed so that no acknowledged write is lost; 0 if no number is enough.
        to_go_on: how many copies are needed so that no acknowledged write is lost and writes are still accepted; 0 if no number is enough.
    """

    to_keep: int
    to_go_on: int


def copies_needed(tolerances: Callable[[int], Sequence[Tolerance]], losses: int) -> CopiesNeeded:
    """Return how many copies are needed to tolerate a given number of lost copies with the best settings for that number."""
    counts = range(1, 2 * losses + 2)  # a majority needs the most
    kept = [copies for copies in counts if any(each.keep >= losses for each in tolerances(copies))]
    both = [copies for copies in counts if any(min(each.keep, each.write) >= losses for each in tolerances(copies))]
    return CopiesNeeded(min(kept, default=0), min(both, default=0))
