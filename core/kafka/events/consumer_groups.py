"""Events about groups that use the consumer protocol (KIP-848), recorded by their coordinators: epochs, target assignments, and the steps
of members."""

from __future__ import annotations

from core.kafka.events.base import NOTABLE, NOTHING, CoordinatorEvent, count_of

STEPS: dict[str, str] = {
    "Stable": "has reached the target assignment",
    "UnrevokedPartitions": "must give up {pending}",
    "UnreleasedPartitions": "is waiting for other members to give up partitions",
}
"""The phrases that describe the states of a member."""


class GroupEpochBumped(
    CoordinatorEvent, kind="group-epoch", source="GroupMetadataManager#consumerGroupHeartbeat", level=NOTABLE, changes=NOTHING
):
    """The epoch of a group increased, because its members, their subscriptions, or the partitions of their topics changed."""

    group_epoch: int
    members: int

    template = "group {group} is at epoch {group_epoch} on b{broker}, with {members:count member}"


class GroupConverted(
    CoordinatorEvent,
    kind="group-converted",
    source="GroupMetadataManager#convertToConsumerGroup",
    level=NOTABLE,
    words={"protocol": ("classic", "consumer")},
    changes=NOTHING,
):
    """A group changed its protocol. `members` is the number of members that use the classic protocol."""

    protocol: str
    group_epoch: int
    members: int

    def sentence(self) -> str:
        who = count_of(self.members, "member")
        if self.protocol == "consumer":
            s = "s" if self.members == 1 else ""
            return (
                f"b{self.broker} converts group {self.group} to a consumer group; its generation {self.group_epoch} becomes its epoch, "
                f"and {who} still use{s} the classic protocol"
            )
        return (
            f"b{self.broker} converts group {self.group}, which has {who}, to a classic group; its epoch {self.group_epoch} becomes its generation, "
            "and no member uses the consumer protocol anymore"
        )


class TargetAssigned(CoordinatorEvent, kind="target-assigned", source="TargetAssignmentBuilder#build", level=NOTABLE, changes=NOTHING):
    """A group coordinator computed which partitions each member of a group should own."""

    group_epoch: int
    assignment: str

    template = "b{broker} computed the target assignment of group {group} for epoch {group_epoch}: {assignment}"


class MemberReconciled(
    CoordinatorEvent,
    kind="member-reconciled",
    source="CurrentAssignmentBuilder#build",
    level=NOTABLE,
    words={"member_state": tuple(STEPS)},
    changes=NOTHING,
):
    """A member took a step toward its target assignment. `pending_names` are the partitions that the member must give up."""

    member_id: str
    member_epoch: int
    member_state: str
    partition_names: str
    pending_names: str

    def sentence(self) -> str:
        step = STEPS[self.member_state].format(pending=self.pending_names)
        return (
            f"member {self.member_id} of group {self.group} is at epoch {self.member_epoch} on b{self.broker} and {step}; "
            f"it keeps {self.partition_names or 'nothing'}"
        )


class ConsumerGroupStateChanged(
    CoordinatorEvent, kind="group-state", source="ConsumerGroup#maybeUpdateGroupState", level=NOTABLE, changes=NOTHING
):
    """The state of a group changed, or the epoch of a group increased while the group remained stable."""

    old_state: str
    new_state: str
    group_epoch: int

    def sentence(self) -> str:
        was = f" (it was {self.old_state})" if self.old_state != self.new_state else ""
        return f"group {self.group} is {self.new_state} at epoch {self.group_epoch} on b{self.broker}{was}"
