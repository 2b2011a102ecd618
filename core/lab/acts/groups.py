"""Acts on consumers that are members of groups."""

from __future__ import annotations

import attrs

from core.lab.acts.act import Act


@attrs.frozen(eq=False, repr=False)
class JoinGroup(Act, word="join-group", does="start a consumer that is a member of a group"):
    """Start a consumer that subscribes to topics and joins a group. The group coordinator shares the partitions among its members.

    `assignors` is the list for partition.assignment.strategy, which can contain `range`, `roundrobin`, `sticky`, and `cooperative-sticky`.
    The default assignors depend on the release. With `instance-id`, the member is static: it keeps its partitions when its process restarts
    within the session timeout. `commit` says when the consumer commits its offsets: `auto` (every auto.commit.interval.ms, the default), `after` (after
    it has processed the records of a poll), `before`, `async`, or `none`. The application takes `poll-time` for each poll that returns
    records, and `record-time` for each record. `assign-time` is the time that the leader of the group takes to assign the partitions.
    `group` is group.id, by default `group`. `reset` is auto.offset.reset: `earliest` (the default), `latest`, `none`, or `by_duration:PT1H`. With `crash-after-records`, the process crashes when
    it has processed this number of records. If poll() throws an exception, the application closes the consumer; with `on-error: stop`, it
    only stops calling poll(). The first act of this kind creates the topic `__consumer_offsets`. `config` contains settings by their Kafka
    names: session.timeout.ms, heartbeat.interval.ms, max.poll.interval.ms, max.poll.records, auto.commit.interval.ms,
    default.api.timeout.ms, request.timeout.ms, metadata.max.age.ms. With `protocol: consumer`, the consumer uses the protocol of KIP-848
    (since 4.0): the coordinator assigns the partitions, with the assignor that most members name as `remote-assignor` (`uniform` or
    `range`); `member-id` is then the ID of the member. If the last process with this name has ended, a new process starts. A topic that
    does not exist is refused, because its name is probably mistyped. With `allow-missing-topics: true`, the consumer subscribes to such a
    topic, and gets its partitions when the topic is created.
    """

    topics: tuple[str, ...]
    consumer: str = "consumer"
    group: str | None = None
    assignors: tuple[str, ...] = ()
    instance_id: str | None = None
    reset: str | None = None
    commit: str | None = None
    poll_time: int = 0
    record_time: int = 0
    assign_time: int = 0
    isolation: str | None = None
    rack: str | None = None
    crash_after_records: int | None = None
    config: tuple[tuple[str, str], ...] = ()
    """Kafka settings of the consumer, by name (`core.kafka.clients.client_config`)."""
    on_error: str = "close"
    protocol: str | None = None
    remote_assignor: str | None = None
    member_id: str | None = None
    allow_missing_topics: bool = False


@attrs.frozen(eq=False, repr=False)
class CloseConsumer(Act, word="close-consumer", does="close a consumer of a group; a dynamic member leaves the group"):
    """Close a consumer of a group as soon as its application has finished the current step. A dynamic member leaves the group; a static one
    doesn't."""

    consumer: str = "consumer"


@attrs.frozen(eq=False, repr=False)
class KillConsumer(Act, word="kill-consumer", does="kill the process of a consumer of a group (kill -9)"):
    """Kill the process of a consumer. The coordinator notices the failure after the session timeout."""

    consumer: str = "consumer"


@attrs.frozen(eq=False, repr=False)
class FreezeConsumer(Act, word="freeze-consumer", does="stop the process of a consumer of a group (SIGSTOP)"):
    """Freeze the process of a consumer with SIGSTOP. The process does not poll or send heartbeats, as during a long garbage collection."""

    consumer: str = "consumer"


@attrs.frozen(eq=False, repr=False)
class ThawConsumer(Act, word="thaw-consumer", does="let the process of a frozen consumer continue (SIGCONT)"):
    """Let the process of a frozen consumer continue. The process does not notice that time has passed."""

    consumer: str = "consumer"


@attrs.frozen(eq=False, repr=False)
class ProcessingTime(Act, word="processing-time", does="change the time that a consumer of a group takes to process its records"):
    """Change the time that the application takes for each poll that returns records, and for each record, starting with the next poll.

    `consumer` can also be a process or a worker of a service.
    """

    consumer: str = "consumer"
    poll_time: int | None = None
    record_time: int | None = None


@attrs.frozen(eq=False, repr=False)
class StallConsumer(Act, word="stall-consumer", does="keep the application of a consumer of a group from calling poll()"):
    """Keep the application from calling poll() for some time. The consumer's heartbeats continue (since 0.10.1).

    `consumer` can also be a process or a worker of a service. If the consumer's application is not in poll(), the act has no effect.
    """

    stall_time: int
    consumer: str = "consumer"


@attrs.frozen(eq=False, repr=False)
class CommitOffsets(Act, word="commit-offsets", does="make a consumer of a group commit its offsets (commitSync)"):
    """Make a consumer commit the offsets of the records that it has polled, as soon as the application is in poll()."""

    consumer: str = "consumer"


@attrs.frozen(eq=False, repr=False)
class PausePartitions(Act, word="pause-partitions", does="make a consumer of a group pause partitions"):
    """Make a consumer pause partitions (`KafkaConsumer#pause`): poll() returns no records from them, but the consumer keeps them."""

    consumer: str = "consumer"
    topic: str | None = None
    partition: int | None = None


@attrs.frozen(eq=False, repr=False)
class ResumePartitions(Act, word="resume-partitions", does="make a consumer of a group resume paused partitions"):
    """Make a consumer resume paused partitions (`KafkaConsumer#resume`)."""

    consumer: str = "consumer"
    topic: str | None = None
    partition: int | None = None


@attrs.frozen(eq=False, repr=False)
class RemoveMember(Act, word="remove-member", does="remove a static member from its group, as an administrator"):
    """Remove a static member from its group (`Admin#removeMembersFromConsumerGroup`)."""

    instance_id: str
    group: str = "group"


@attrs.frozen(eq=False, repr=False)
class ResetOffsets(
    Act, word="reset-offsets", does="commit new offsets for a group that has no members (kafka-consumer-groups --reset-offsets)"
):
    """Commit new offsets for a group (`kafka-consumer-groups --reset-offsets --execute`). The group must not have members. The group need
    not exist.

    `offset` is `earliest`, `latest`, `current`, or an offset. Alternatively, `shift-by` adds a number to the committed offset, and
    `to-datetime` goes to the first record at or after a moment such as `1970-01-01T00:01:00.000` (virtual time begins at the start of 1970,
    UTC). `by-duration` goes to the first record at or after a moment in the past, which is given as the time that has passed since that
    moment, such as `PT30S`. Without `topics`, the act applies to all topics for which the group has a committed offset. With `partition`,
    the act applies to one partition of one topic. If an offset is outside the log, the nearest offset in the log is used.
    """

    group: str = "group"
    offset: str | None = None
    topics: tuple[str, ...] = ()
    shift_by: str | None = None
    to_datetime: str | None = None
    by_duration: str | None = None
    partition: int | None = None


@attrs.frozen(eq=False, repr=False)
class DeleteOffsets(
    Act, word="delete-offsets", does="delete the committed offsets of a group for topics (kafka-consumer-groups --delete-offsets)"
):
    """Delete the offsets that a group has committed for topics, or for one `partition` of a topic (KIP-496, 2.4).

    The coordinator refuses the deletion if a member is subscribed to one of these topics.
    """

    topics: tuple[str, ...]
    group: str = "group"
    partition: int | None = None


@attrs.frozen(eq=False, repr=False)
class DeleteGroup(
    Act, word="delete-group", does="delete a group that has no members, together with its offsets (kafka-consumer-groups --delete)"
):
    """Delete a group, together with its committed offsets (KIP-229, 1.1). The coordinator refuses to delete a group that has members."""

    group: str = "group"
