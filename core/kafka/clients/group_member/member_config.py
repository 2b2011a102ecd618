"""The configuration of a consumer in a group: what it reads, and how it commits."""

from __future__ import annotations

import enum
import re
from typing import Final

import attrs

from core.kafka.clients.client_config import ClientConfig
from core.sim.repr_mixin import ReprMixin
from core.sim.units import SECOND, US_PER_MS


class CommitMode(enum.StrEnum):
    """When a consumer commits its offsets."""

    AUTO = "auto"
    """The consumer commits in poll(), every auto.commit.interval.ms (enable.auto.commit)."""
    AFTER = "after"
    """The consumer commits after it has processed the records from a poll (commitSync): at-least-once processing."""
    BEFORE = "before"
    """The consumer commits before it processes the records from a poll (commitSync): at-most-once processing."""
    ASYNC = "async"
    """The consumer commits after it has processed the records from a poll, without waiting for the result (commitAsync)."""
    NONE = "none"
    """The consumer commits only when an act requests it."""


class Reset(enum.StrEnum):
    """What a consumer does if it has no committed offset or if its offset is not in the log (auto.offset.reset)."""

    EARLIEST = "earliest"
    LATEST = "latest"
    NONE = "none"
    BY_DURATION = "by_duration"


DURATION: Final = re.compile(r"by_duration:P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,3}))?S)?)?")
"""A reset policy with an ISO 8601 duration, such as `by_duration:PT1H`."""


def reset_duration(text: str) -> int:
    """Return the duration of a reset policy `by_duration:…`, in µs.

    Raises:
        ValueError: the string is not a valid `by_duration` policy.
    """
    found = DURATION.fullmatch(text)
    if found is None or not any(found.groups()):
        raise ValueError(f"'{text}' is not a duration; write by_duration: and an ISO 8601 duration, for example by_duration:PT1H")
    days, hours, minutes, seconds, milliseconds = (
        int((part or "0").ljust(3, "0") if number == 4 else part or 0) for number, part in enumerate(found.groups())
    )
    return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * SECOND + milliseconds * US_PER_MS


@attrs.frozen(repr=False)
class MemberConfig(ReprMixin):
    """The configuration of a consumer in a group. Times are in µs.

    Attributes:
        client: the settings of the client.
        group: group.id.
        topics: the topics that the consumer subscribes to.
        assignors: the names of the assignors in partition.assignment.strategy.
        instance_id: group.instance.id; empty for a dynamic member.
        rack: client.rack; None if the release does not send one.
        reset: auto.offset.reset.
        reset_duration: the duration in the policy `by_duration`.
        read_committed: whether isolation.level is read_committed.
        commits: when the consumer commits.
        commits_epochs: whether a commit contains the leader epoch of the last record that was read (KIP-320).
        consumer_protocol: whether the consumer uses the consumer protocol (group.protocol=consumer, KIP-848).
        remote_assignor: group.remote.assignor, which is the server-side assignor that the consumer prefers; empty if it has no preference.
        member_id: the member ID in the consumer protocol; empty if the consumer generates one.
    """

    client: ClientConfig
    group: str
    topics: tuple[str, ...]
    assignors: tuple[str, ...]
    instance_id: str = ""
    rack: str | None = None
    reset: Reset = Reset.LATEST
    reset_duration: int = 0
    read_committed: bool = False
    commits: CommitMode = CommitMode.AUTO
    commits_epochs: bool = True
    consumer_protocol: bool = False
    remote_assignor: str = ""
    member_id: str = ""
