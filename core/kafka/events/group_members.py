"""Events about group members: who joins, who leaves, and who owns which partitions. In this module, the coordinator's events come first,
followed by the members' own events."""

from __future__ import annotations

from typing import Final

from core.kafka.events.base import NOTABLE, NOTHING, CoordinatorEvent, Event, MemberEvent, count_of, offsets, records

OPERATIONS: dict[str, tuple[str, str]] = {
    "reset-offsets": ("reset the offsets of", "reset the offsets of"),
    "delete-offsets": ("deleted offsets of", "delete offsets of"),
    "delete-group": ("deleted", "delete"),
}
"""The phrases that describe what an administrator did, or could not do, with a group."""

REMOVALS: dict[str, str] = {
    "left": "it left the group",
    "removed": "an administrator removed it",
    "session-timeout": "the coordinator did not hear from it within its session timeout",
    "rebalance-timeout": "it did not rejoin within the rebalance timeout",
    "sync-timeout": "it did not ask for its assignment within the rebalance timeout",
    "left-for-a-while": "it is a static member and left temporarily; its partitions stay reserved until its session ends",
    "revocation-timeout": "it did not give up partitions within its rebalance timeout",
    "join-timeout": "it waited too long for its first generation",
}
"""The phrases that describe why a coordinator removed a member."""

ENDINGS: dict[str, str] = {"closed": "closed", "killed": "was killed", "crashed": "crashed, as requested", "failed": "failed and closed"}
"""The phrases that describe how a consumer in a group ended."""

_REPHRASED: Final = {
    "the group rebalances": "the group is rebalancing",
    "the group rebalances again": "the group is rebalancing again",
    "its commit was refused, because the group rebalances": "its commit was refused, because the group is rebalancing",
    "it gave up partitions that others are to get": "it gave up partitions that are assigned to other members",
    "a topic has other partitions than those that the leader has assigned": "the number of partitions of a topic has changed since the leader assigned them",
}
"""The wordings that sentences use for the rejoin reasons in logs."""

_REBALANCE_REASONS: Final = {
    "has another subscription": "has a different subscription",
    "its last member of the consumer protocol left": "its last member that used the consumer protocol left",
}
"""The wordings that sentences use for the rebalance reasons in logs. Each key is the phrase with which a reason ends."""


def _rebalance_reason(reason: str) -> str:
    """Return a rebalance reason in the wording that sentences use. Logs keep the original wording."""
    for end, words in _REBALANCE_REASONS.items():
        if reason.endswith(end):
            return reason.removesuffix(end) + words
    return reason


class MemberIdGiven(CoordinatorEvent, kind="member-id-given", source="KIP-394", changes=NOTHING):
    """A group coordinator assigned a member ID to a client that asked to join. The client then sends another JoinGroup request, which
    contains this ID."""

    member_id: str

    template = "b{broker} assigned member ID {member_id} in group {group}; the client must now join with this ID"


class GroupMemberJoined(
    CoordinatorEvent,
    kind="member-joined",
    source="GroupMetadataManager#addMemberThenRebalanceOrCompleteJoin",
    level=NOTABLE,
    changes=NOTHING,
):
    """A client became a member of a group. `instance_id` is the member's group.instance.id; it is empty for a dynamic member."""

    member_id: str
    client: str
    instance_id: str
    members: int

    def sentence(self) -> str:
        static = f" (static member {self.instance_id})" if self.instance_id else ""
        return f"{self.client} joined group {self.group} as {self.member_id}{static}; the group has {count_of(self.members, 'member')} on b{self.broker}"


class StaticMemberReplaced(CoordinatorEvent, kind="static-member-replaced", source="KIP-345", level=NOTABLE, changes=NOTHING):
    """A new process with a known group.instance.id replaced the previous process, whose member ID is no longer valid."""

    instance_id: str
    old_member_id: str
    member_id: str

    template = (
        "static member {instance_id} of group {group} is now {member_id} on b{broker}; its former member ID {old_member_id} is fenced"
    )


class GroupRebalancing(
    CoordinatorEvent, kind="group-rebalancing", source="GroupMetadataManager#prepareRebalance", level=NOTABLE, changes=NOTHING
):
    """A group began to rebalance, so its members must join again. `generation` is the generation before the rebalance."""

    generation: int
    members: int
    reason: str

    def sentence(self) -> str:
        return (
            f"group {self.group} is preparing to rebalance on b{self.broker} after generation {self.generation}, with "
            f"{count_of(self.members, 'member')}: {_rebalance_reason(self.reason)}"
        )


class GroupGeneration(
    CoordinatorEvent, kind="group-generation", source="GroupMetadataManager#completeClassicGroupJoin", level=NOTABLE, changes=NOTHING
):
    """A new generation of a group began. All members have joined, and the group leader assigns the partitions next."""

    generation: int
    protocol: str
    leader_id: str
    member_ids: str

    template = (
        "generation {generation} of group {group} began on b{broker} with {member_ids}; {leader_id} assigns the partitions ({protocol})"
    )


class GroupStable(CoordinatorEvent, kind="group-stable", source="GroupMetadataManager#classicGroupSync", level=NOTABLE, changes=NOTHING):
    """The assignment for a generation was written to `__consumer_offsets`, and each member gets its part of the assignment."""

    generation: int
    protocol: str
    assignment: str

    template = "generation {generation} of group {group} is stable on b{broker} ({protocol}): {assignment}"


class GroupEmptied(
    CoordinatorEvent, kind="group-emptied", source="GroupMetadataManager#completeClassicGroupJoin", level=NOTABLE, changes=NOTHING
):
    """A group no longer has members. When a group becomes empty, a new generation begins."""

    generation: int

    template = "group {group} is empty on b{broker}, in generation {generation}"


class GroupMemberRemoved(
    CoordinatorEvent,
    kind="member-removed",
    source="GroupMetadataManager#removeMemberAndUpdateClassicGroup",
    level=NOTABLE,
    words={"why": tuple(REMOVALS)},
    changes=NOTHING,
):
    """A coordinator removed a member from a group, which now has `members` members."""

    member_id: str
    why: str
    members: int

    def sentence(self) -> str:
        return (
            f"b{self.broker} removed {self.member_id} from group {self.group}: {REMOVALS[self.why]}; "
            f"{count_of(self.members, 'member')} remain{'s' if self.members == 1 else ''}"
        )


class OffsetDeleted(CoordinatorEvent, kind="offset-deleted", source="GroupCoordinator#onPartitionsDeleted", level=NOTABLE):
    """A group coordinator deleted a group's committed offset, because the topic was deleted."""

    topic: str
    partition: int
    committed_offset: int

    template = "b{broker} deleted the committed offset {committed_offset} of group {group} for {tp}, because the topic was deleted"


class OffsetExpired(CoordinatorEvent, kind="offset-expired", source="OffsetMetadataManager#cleanupExpiredOffsets", level=NOTABLE):
    """A group's committed offset expired (offsets.retention.minutes)."""

    topic: str
    partition: int
    committed_offset: int

    template = "the committed offset {committed_offset} of group {group} for {tp} expired on b{broker} (offsets.retention.minutes)"


class OffsetRemoved(CoordinatorEvent, kind="offset-removed", source="OffsetMetadataManager#deleteOffsets", level=NOTABLE):
    """An administrator deleted a group's committed offset."""

    topic: str
    partition: int
    committed_offset: int

    template = "an administrator deleted the committed offset {committed_offset} of group {group} for {tp} on b{broker}"


class GroupAdministered(
    Event, kind="group-administered", source="ConsumerGroupCommand", level=NOTABLE, words={"operation": tuple(OPERATIONS)}, changes=NOTHING
):
    """An administrator's command for a group ended. `error` is empty if the command succeeded."""

    group: str
    operation: str
    error: str

    def sentence(self) -> str:
        did, could_not = OPERATIONS[self.operation]
        if self.error:
            return f"an administrator could not {could_not} group {self.group}: {self.error}"
        return f"an administrator {did} group {self.group}"


class GroupDeleted(CoordinatorEvent, kind="group-deleted", source="GroupMetadataManager#maybeDeleteGroup", level=NOTABLE, changes=NOTHING):
    """An empty group that had no offsets was deleted."""

    template = "b{broker} deleted group {group}, which has no members and no offsets"


class MemberStarted(MemberEvent, kind="member-started", source="KafkaConsumer#subscribe", level=NOTABLE, changes=NOTHING):
    """A consumer in a group started. `topics` are the topics that the member subscribes to."""

    topics: str
    assignors: str
    instance_id: str

    def sentence(self) -> str:
        static = f", group.instance.id {self.instance_id}" if self.instance_id else ""
        return f"consumer {self.client} started in group {self.group} and subscribed to {self.topics} ({self.assignors}{static})"


class MemberEnded(
    MemberEvent, kind="member-ended", source="KafkaConsumer#close", level=NOTABLE, words={"how": tuple(ENDINGS)}, changes=NOTHING
):
    """A consumer in a group stopped for good. `error` is the exception that caused a failure."""

    how: str
    error: str

    def sentence(self) -> str:
        why = f": {self.error}" if self.error else ""
        return f"consumer {self.client} of group {self.group} {ENDINGS[self.how]}{why}"


class PollFailed(MemberEvent, kind="poll-failed", source="KafkaConsumer#poll", level=NOTABLE, changes=NOTHING):
    """poll() threw an exception, so the application of a member no longer calls poll(). The consumer stays open."""

    error: str

    template = "the application of consumer {client} in group {group} stopped calling poll() after an exception: {error}"


class MemberFrozen(MemberEvent, kind="member-frozen", source="SIGSTOP", level=NOTABLE, changes=NOTHING):
    """A consumer's process was stopped with SIGSTOP. The process still exists, but does nothing."""

    template = "the process of consumer {client} in group {group} was frozen (SIGSTOP)"


class MemberThawed(MemberEvent, kind="member-thawed", source="SIGCONT", level=NOTABLE, changes=NOTHING):
    """The process of a frozen consumer resumed (SIGCONT)."""

    frozen_us: int

    def sentence(self) -> str:
        return f"the process of consumer {self.client} in group {self.group} continued (SIGCONT) after {self.frozen_us / 1_000_000:.3f} s"


class CoordinatorFound(MemberEvent, kind="coordinator-found", source="AbstractCoordinator#lookupCoordinator", changes=NOTHING):
    """A member learned which broker coordinates its group."""

    broker: int

    template = "consumer {client} found the coordinator of group {group}: b{broker}"


class CoordinatorLost(
    MemberEvent, kind="coordinator-lost", source="AbstractCoordinator#markCoordinatorUnknown", level=NOTABLE, changes=NOTHING
):
    """A member no longer knows its group's coordinator, and looks it up again."""

    broker: int
    reason: str

    template = "consumer {client} is looking up the coordinator of group {group} again, because b{broker} failed: {reason}"


class RejoinNeeded(MemberEvent, kind="rejoin-needed", source="AbstractCoordinator#requestRejoin", changes=NOTHING):
    """A member will rejoin its group in its next poll()."""

    generation: int
    reason: str

    def sentence(self) -> str:
        return f"consumer {self.client} will rejoin group {self.group} on its next poll(): {_REPHRASED.get(self.reason, self.reason)}"


class PartitionsAssigned(
    MemberEvent, kind="partitions-assigned", source="ConsumerRebalanceListener#onPartitionsAssigned", level=NOTABLE, changes=NOTHING
):
    """A member took over partitions. The list of partitions is empty if the member got no new partitions."""

    generation: int
    partition_names: str

    def sentence(self) -> str:
        return f"consumer {self.client} got {self.partition_names or 'no new partitions'} in generation {self.generation} of group {self.group}"


class PartitionsRevoked(
    MemberEvent, kind="partitions-revoked", source="ConsumerRebalanceListener#onPartitionsRevoked", level=NOTABLE, changes=NOTHING
):
    """A member gave up partitions, after it had the opportunity to commit their offsets. The list of partitions is empty if the member had
    no partitions."""

    generation: int
    partition_names: str

    def sentence(self) -> str:
        return f"consumer {self.client} gave up {self.partition_names or 'no partitions'} in generation {self.generation} of group {self.group}"


class PartitionsLost(
    MemberEvent, kind="partitions-lost", source="ConsumerRebalanceListener#onPartitionsLost", level=NOTABLE, changes=NOTHING
):
    """A consumer lost partitions, because it is no longer a member of its group. The consumer was unable to commit the offsets of the lost
    partitions."""

    partition_names: str

    template = "consumer {client} lost {partition_names}, because it is no longer a member of group {group}"


class PollTooLate(
    MemberEvent, kind="poll-interval-exceeded", source="KIP-62, AbstractCoordinator#maybeLeaveGroup", level=NOTABLE, changes=NOTHING
):
    """A member did not call poll() within max.poll.interval.ms."""

    interval_ms: int

    template = "consumer {client} left group {group}, because it did not call poll() for {interval_ms:,} ms (max.poll.interval.ms)"


class CommitFailed(MemberEvent, kind="commit-failed", source="ConsumerCoordinator#commitOffsetsSync", level=NOTABLE, changes=NOTHING):
    """A member's commit failed. `error` is the exception or the error that the application gets."""

    error: str
    commit_offsets: str

    template = "consumer {client} could not commit {commit_offsets} for group {group}: {error}"


class PositionSet(MemberEvent, kind="position-set", source="SubscriptionState#resetInitializingPositions"):
    """A member began to read a partition that was assigned to it. `policy` is `committed` or the value of auto.offset.reset that determined
    the position."""

    topic: str
    partition: int
    position: int
    policy: str

    def sentence(self) -> str:
        if self.policy == "committed":
            return f"consumer {self.client} reads {self.tp} from the committed offset {self.position} of group {self.group}"
        return f"consumer {self.client} reads {self.tp} from offset {self.position} ({self.policy}), because group {self.group} has no committed offset"


class RecordsProcessed(MemberEvent, kind="records-processed", source="KafkaConsumer#poll"):
    """A member's application processed the records from a poll."""

    topic: str
    partition: int
    from_offset: int
    to_offset: int

    template = "consumer {client} of group {group} processed {record_range}"


class ProcessedAgain(Event, kind="processed-again", source="durability account", level=NOTABLE):
    """A member processed records that the group had already processed. `doomed_by` is the event that set the member's position."""

    group: str
    client: str
    topic: str
    partition: int
    from_offset: int
    to_offset: int
    epoch: int
    doomed_by: int

    template = (
        "PROCESSED AGAIN: {record_count} of {tp} ({offset_range}, epoch {epoch}) by group {group}, "
        "because consumer {client} read from the position that event {doomed_by} set"
    )


SKIP_REASONS: Final = {
    "committed": "no member has processed them, and event {event} committed a higher offset",
    "reset": "event {event} moved the group past them, because of auto.offset.reset",
    "deleted": "event {event} deleted them before a member processed them",
    "truncated": "the log was truncated before a member processed them (event {event})",
}
"""The reasons for which a group never gets records, as sentences."""


class ProcessedOutOfOrder(Event, kind="processed-out-of-order", source="durability account", level=NOTABLE):
    """A member processed records for the first time after the group had processed records with a higher offset, or of a later leader epoch, in
    the same partition. `doomed_by` is the last event that set a member's position."""

    group: str
    client: str
    topic: str
    partition: int
    from_offset: int
    to_offset: int
    epoch: int
    doomed_by: int

    template = (
        "OUT OF ORDER: group {group} processed {record_count} of {tp} ({offset_range}, "
        "epoch {epoch}) in consumer {client} after later records of the partition"
    )


class RecordsSkipped(Event, kind="records-skipped", source="durability account", level=NOTABLE, words={"reason": tuple(SKIP_REASONS)}):
    """A group never gets records that it had to read. `reason` is `committed` (the group committed a higher offset), `reset` (a member's
    position is higher because of auto.offset.reset, and the group had already begun to read the topic), `deleted` (retention or DeleteRecords
    deleted the records before a member processed them), or `truncated` (the records were truncated, or written after a truncation below an
    offset that the group had passed). `doomed_by` is the event that moved the group past the records, or that removed them."""

    group: str
    topic: str
    partition: int
    from_offset: int
    to_offset: int
    epoch: int
    doomed_by: int
    reason: str

    def sentence(self) -> str:
        why = SKIP_REASONS.get(self.reason, SKIP_REASONS["committed"]).format(event=self.doomed_by)
        return (
            f"SKIPPED: {records(self.to_offset - self.from_offset)} of {self.tp} ({offsets(self.from_offset, self.to_offset)}, epoch {self.epoch}) "
            f"by group {self.group}: {why}"
        )


class RecordsLeftOut(Event, kind="records-left-out", source="durability account"):
    """A group began to read a partition at a position that auto.offset.reset gave, and leaves out the records below it on purpose."""

    group: str
    topic: str
    partition: int
    from_offset: int
    to_offset: int
    epoch: int

    template = "group {group} leaves out {record_count} of {tp} ({offset_range}, epoch {epoch}), because it began at a later position (auto.offset.reset)"
