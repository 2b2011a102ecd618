"""The configuration of the workers in a service."""

from __future__ import annotations

import enum
from typing import NamedTuple

from core.kafka.applications.services.delay_levels import level_topic
from core.kafka.clients.group_member.member_config import MemberConfig


class ServiceCommit(enum.StrEnum):
    """The offset that a worker commits."""

    DONE = "done"
    """The lowest offset that the worker has not finished handling. After a crash, some records are handled again."""
    POSITION = "position"
    """The offset after the last record that the worker has polled. A crash loses the records that the worker holds."""


class ServiceStep(enum.StrEnum):
    """A point at which a script can make a worker crash."""

    SEND = "send"
    """The worker has sent records, but has not yet handled the response from the broker."""
    FORWARD = "forward"
    """The broker has acknowledged records that the worker sent, but the worker has not committed the offsets of these records yet."""
    COMMIT = "commit"
    """The offsets have been committed."""


class DueFrom(enum.StrEnum):
    """The point in time at which the delay of a record begins."""

    TIMESTAMP = "timestamp"
    """The timestamp of the record."""
    READ = "read"
    """The time when the worker polled the record. If the worker was down while records were waiting for it, these records are delayed for
    longer."""


def instance_names(worker: str, instances: int) -> tuple[str, ...]:
    """Return the names of a worker's instances, which share the partitions of its topic."""
    return (worker,) if instances == 1 else tuple(f"{worker}-{number}" for number in range(1, instances + 1))


class WorkerConfig(NamedTuple):
    """The configuration of a worker, which reads one topic of a service.

    Attributes:
        service: the name of the service.
        source: the topic that the worker reads.
        target: the topic to which the worker writes.
        group: the group whose offsets the worker commits.
        delay: the delay of each record, in µs; 0 if records are due immediately.
        bound: the number of held records at which the worker pauses a partition.
        resume_at: the number of held records below which the worker resumes a paused partition.
        commit_interval: the time between two commits, in µs.
        commits: which offset the worker commits.
        transactional_id: the transactional.id; empty without transactions.
        fifo: whether the worker has a FIFO queue instead of a priority queue.
        per_record: whether each record has the delay that its producer requested.
        due_from: the point in time at which the delay begins.
        tick: the tick of a timing wheel, to which due times are rounded up, in µs; 0 if due times are exact.
        reset: auto.offset.reset.
        membership: the worker's configuration as a member of the group; None if the worker reads all partitions of its topic.
        dead_letters: the topic for records that the target never accepts; empty if the worker retries such records indefinitely.
        chained_levels: the levels to which the worker can send a record whose requested delay is longer than the worker's own level; empty
            if the worker sends every record to the target.
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
    membership: MemberConfig | None = None
    dead_letters: str = ""
    chained_levels: tuple[str, ...] = ()

    @property
    def chained_topics(self) -> tuple[str, ...]:
        """The topics of the chained levels."""
        return tuple(map(level_topic, self.chained_levels))
