"""Events about groups: their coordinators, and the offsets that their members commit."""

from __future__ import annotations

from core.kafka.events.base import NOTABLE, NOTHING, CoordinatorEvent, ReplicaEvent, count_of


class GroupsLoaded(ReplicaEvent, kind="groups-loaded", source="GroupMetadataManager#loadGroupsAndOffsets"):
    """A broker became the group coordinator for a partition of `__consumer_offsets`, and loaded the groups from its log."""

    coordinator_epoch: int
    groups: int
    committed_offsets: int
    pending_offsets: int

    def sentence(self) -> str:
        pending = f" and {count_of(self.pending_offsets, 'offset')} from open transactions" if self.pending_offsets else ""
        return (
            f"b{self.broker} now coordinates the groups in {self.tp} (coordinator epoch {self.coordinator_epoch}); it loaded "
            f"{count_of(self.groups, 'group')} with {count_of(self.committed_offsets, 'committed offset')}{pending} from the log"
        )


class GroupsUnloaded(ReplicaEvent, kind="groups-unloaded", source="GroupMetadataManager#removeGroupsForPartition"):
    """A broker is no longer the group coordinator for a partition of `__consumer_offsets`."""

    coordinator_epoch: int

    template = "b{broker} no longer coordinates the groups in {tp}"


class OffsetCommitted(CoordinatorEvent, kind="offset-committed", source="GroupMetadata#onOffsetCommitAppend"):
    """A group coordinator committed an offset outside of a transaction. `former_offset` is -1 if the group had no committed offset."""

    topic: str
    partition: int
    committed_offset: int
    former_offset: int

    def sentence(self) -> str:
        return f"the committed offset of group {self.group} for {self.tp} is now {self.committed_offset}{_former(self.former_offset)} on b{self.broker}"


class OffsetPending(CoordinatorEvent, kind="offset-pending", source="GroupMetadata#onTxnOffsetCommitAppend"):
    """A group coordinator wrote an offset that belongs to an open transaction. The offset takes effect when the transaction is committed."""

    topic: str
    partition: int
    committed_offset: int
    producer_id: int
    producer_epoch: int

    template = (
        "b{broker} holds offset {committed_offset} of group {group} for {tp} until "
        "the transaction of producer ID {producer_id}, epoch {producer_epoch}, ends"
    )


class OffsetMaterialized(
    CoordinatorEvent, kind="offset-materialized", source="GroupMetadata#completePendingTxnOffsetCommit", level=NOTABLE
):
    """A transaction was committed, so the offset that it contains is now the committed offset of the group."""

    topic: str
    partition: int
    committed_offset: int
    former_offset: int
    producer_id: int

    def sentence(self) -> str:
        return (
            f"the committed offset of group {self.group} for {self.tp} is now {self.committed_offset}{_former(self.former_offset)} on "
            f"b{self.broker}: the transaction of producer ID {self.producer_id} was committed"
        )


class OffsetDropped(
    CoordinatorEvent,
    kind="offset-dropped",
    source="GroupMetadata#completePendingTxnOffsetCommit",
    level=NOTABLE,
    words={"reason": ("aborted", "older")},
):
    """An offset from a transaction took no effect, because the transaction was aborted or the group had committed a newer offset."""

    topic: str
    partition: int
    committed_offset: int
    producer_id: int
    reason: str

    def sentence(self) -> str:
        why = "the transaction was aborted" if self.reason == "aborted" else "the group has committed a newer offset since then"
        return (
            f"b{self.broker} dropped offset {self.committed_offset} of group {self.group} for {self.tp} "
            f"in the transaction of producer ID {self.producer_id}: {why}"
        )


class GroupRequestRefused(CoordinatorEvent, kind="group-refused", source="GroupCoordinator", level=NOTABLE, changes=NOTHING):
    """A group coordinator refused a request."""

    request: str
    error: str

    template = "b{broker} refused {request} for group {group}: {error}"


def _former(former: int) -> str:
    return f" (it was {former})" if former >= 0 else ""
