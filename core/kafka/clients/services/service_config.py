"""The configuration of the workers of a service."""

from __future__ import annotations

import enum
from typing import NamedTuple


class ServiceCommit(enum.StrEnum):
    """The offset that a worker commits."""

    DONE = "done"
    """The lowest offset that the worker is not done with. After a crash, some records are handled again."""
    POSITION = "position"
    """The offset after the last record that the worker has polled. A crash loses the records that the worker holds."""


class ServiceStep(enum.StrEnum):
    """A moment at which a script can let a worker crash."""

    SEND = "send"
    """The worker has sent records, but has not handled the response from the broker."""
    FORWARD = "forward"
    """The broker has acknowledged records that the worker sent. Their offsets are not committed."""
    COMMIT = "commit"
    """The offsets are committed."""


class DueFrom(enum.StrEnum):
    """The moment from which the delay of a record counts."""

    TIMESTAMP = "timestamp"
    """The timestamp of the record."""
    READ = "read"
    """The moment when the worker polled the record. A worker that was down delays its records a second time."""


class WorkerConfig(NamedTuple):
    """The configuration of a worker, which reads one topic of a service.

    Attributes:
        service: the name of the service.
        source: the topic that the worker reads.
        target: the topic that the worker writes.
        group: the group whose offsets the worker commits.
        delay: the delay of each record, µs; 0 if records are due at once.
        bound: the number of held records of a partition at which the worker pauses the partition.
        resume_at: a paused partition is resumed when fewer records than this are held.
        commit_interval: the interval of commits, µs.
        commits: which offset the worker commits.
        transactional_id: the transactional.id; empty without transactions.
        fifo: whether the worker has a FIFO queue in place of a priority queue.
        per_record: whether each record has the delay that its producer asked for.
        due_from: the moment from which the delay counts.
        tick: the tick of a timing wheel, µs, to which due times are rounded up; 0 for exact due times.
        reset: auto.offset.reset.
    """

    service: str
    source: str
    target: str
    group: str
    delay: int
    bound: int
    resume_at: int
    commit_interval: int
    commits: ServiceCommit
    transactional_id: str
    fifo: bool
    per_record: bool
    due_from: DueFrom
    tick: int
    reset: str
