"""The kinds of events, with the columns of each kind and the sentence that explains it.

The journal stores an event as a plain tuple `(seq, time, cause, kind, *columns)`. `seq` is the number of the event in its session, starting
with 1, and `time` is the virtual time in µs. `cause` is the `seq` of the event that led to this one, a tuple of such numbers if several events together led to it, or 0
if there is none. `kind` is the name of the event's kind. After `kind`, the tuple contains the kind's columns, in the order of the fields of its class. A
column has the same type in all kinds that have it, so that all kinds fit in one wide table. Offsets have the same meaning as in Kafka, and
`to_offset` is exclusive. If an event has no ID of some type, the column for this ID contains -1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from core.kafka.events.administration import Acted, ClockSet, ClusterObserved, FeatureLevelChanged, SettingChanged
from core.kafka.events.base import (
    BROKER,
    DETAIL,
    EVERYTHING,
    LINK,
    NORMAL,
    NOTABLE,
    NOTHING,
    OFFSETS,
    PARTITION,
    TOPICS,
    TRANSACTIONS,
    Event,
    EventTuple,
)
from core.kafka.events.brokers import (
    BrokerFenced,
    BrokerPaused,
    BrokerRegistered,
    BrokerResumed,
    BrokerStarted,
    BrokerStopped,
    BrokerUnfenced,
    BrokerUnregistered,
    HighWatermarksCheckpointed,
    RegistrationRefused,
    ShutdownBegun,
    UnflushedLost,
)
from core.kafka.events.clients import (
    BatchCompleted,
    ClientRebootstrapped,
    Consumed,
    ConsumerReset,
    ConsumerTruncated,
    DuplicateDropped,
    ProduceAcked,
    ProduceFailed,
    ProduceGivenUp,
    ProducerBlocked,
    ProducerEpochBumped,
    ProducerIdGiven,
    ProduceWaiting,
    ReadReplica,
    SendTimedOut,
)
from core.kafka.events.consumer_groups import ConsumerGroupStateChanged, GroupConverted, GroupEpochBumped, MemberReconciled, TargetAssigned
from core.kafka.events.controller import (
    AlterPartitionRefused,
    ControllerCandidate,
    ControllerElected,
    ControllerPaused,
    ControllerResigned,
    ControllerResumed,
    ControllerStarted,
    ControllerStopped,
    ElectionRefused,
    LeaderElected,
    NoMajority,
    PartitionChanged,
    PartitionOffline,
    PartitionsCreated,
    TopicCreated,
    TopicDeleted,
    TopicDeletionDelayed,
    TopicRefused,
    UncommittedDropped,
)
from core.kafka.events.disks import (
    DeleteRecordsRefused,
    DirectoriesOffline,
    DiskBehind,
    DiskSlowed,
    LogCleaned,
    LogDirFailed,
    LogDirRepaired,
    LogFlushed,
    LogRestarted,
    LogsRecovered,
    LogStartMoved,
    OfflineReplicaDropped,
    OfflineReplicaFound,
    RecoveryPointsCheckpointed,
    ReplicaDeleted,
    ReplicaMoveBegun,
    ReplicaMoved,
    SegmentsDeleted,
)
from core.kafka.events.durability import (
    LostRecordsSeen,
    RecordsDiverged,
    RecordsDuplicated,
    RecordsExposed,
    RecordsLost,
    RecordsOutOfOrder,
    RecordsRecovered,
    RecordsSafe,
)
from core.kafka.events.group_members import (
    CommitFailed,
    CoordinatorFound,
    CoordinatorLost,
    GroupAdministered,
    GroupDeleted,
    GroupEmptied,
    GroupGeneration,
    GroupMemberJoined,
    GroupMemberRemoved,
    GroupRebalancing,
    GroupStable,
    MemberEnded,
    MemberFrozen,
    MemberIdGiven,
    MemberStarted,
    MemberThawed,
    OffsetDeleted,
    OffsetExpired,
    OffsetRemoved,
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
    PollFailed,
    PollTooLate,
    PositionSet,
    ProcessedAgain,
    ProcessedOutOfOrder,
    RecordsLeftOut,
    RecordsProcessed,
    RecordsSkipped,
    RejoinNeeded,
    StaticMemberReplaced,
)
from core.kafka.events.groups import (
    GroupRequestRefused,
    GroupsLoaded,
    GroupsUnloaded,
    OffsetCommitted,
    OffsetDropped,
    OffsetMaterialized,
    OffsetPending,
)
from core.kafka.events.isr import IsrChangeFailed, IsrExpanded, IsrExpandProposed, IsrShrinkByCount, IsrShrinkProposed, IsrShrunk
from core.kafka.events.network import LinkChanged, LinkCut, LinkHealed, LinkHeld, LinkProxied, LinkReleased
from core.kafka.events.processes import (
    HalfVisible,
    NeverProcessed,
    ProcessedTwice,
    ProcessEnded,
    ProcessRewound,
    ProcessStarted,
    ProcessStepDone,
)
from core.kafka.events.replicas import (
    Appended,
    AppendRefused,
    BecameFollower,
    BecameLeader,
    EpochAnswered,
    FetcherDisconnected,
    FetcherLags,
    FetchFailed,
    FollowerAppended,
    FollowerFetched,
    FollowerHighWatermark,
    HighWatermarkAdvanced,
    Truncated,
)
from core.kafka.events.services import (
    DeadLettered,
    DelayedForwarded,
    RecordsHeld,
    RecordsTried,
    RetryDropped,
    ServiceEnded,
    ServicePaused,
    ServiceResumed,
    ServiceRewound,
    ServiceStarted,
    SucceededTwice,
)
from core.kafka.events.transactions import (
    AbortedRecordsSkipped,
    CoordinatorLoaded,
    CoordinatorUnloaded,
    LastStableOffsetAdvanced,
    MarkerAppended,
    MarkerRefused,
    MarkerSkipped,
    ProducerStateChanged,
    TransactionBegun,
    TransactionCallTimedOut,
    TransactionEnded,
    TransactionRefused,
    TransactionStateChanged,
    TransactionTimedOut,
    VerificationFailed,
)
from core.kafka.events.zookeeper import (
    BrokerJoined,
    BrokerLeft,
    ControllerRequestRefused,
    FetcherAwaited,
    IsrChangesPublished,
    LeaderAndIsrIgnored,
    LeaderUnavailable,
    ReplicasOffline,
    SessionExpired,
)
from core.sim.events import kind_of, without_causes

EVENTS: Final[tuple[type[Event], ...]] = (
    Acted, SettingChanged, BrokerStopped, UnflushedLost, BrokerStarted, BrokerPaused, BrokerResumed, BrokerRegistered, BrokerUnregistered,
    RegistrationRefused, BrokerFenced, BrokerUnfenced, ShutdownBegun, HighWatermarksCheckpointed, LogsRecovered, RecoveryPointsCheckpointed,
    LogFlushed, SegmentsDeleted, LogCleaned, LogStartMoved, DeleteRecordsRefused, LogRestarted, LogDirFailed, DirectoriesOffline, LogDirRepaired,
    OfflineReplicaFound, OfflineReplicaDropped, ReplicaMoveBegun, ReplicaMoved, DiskSlowed, DiskBehind, LinkCut, LinkHealed, LinkChanged,
    LinkProxied, LinkHeld, LinkReleased, ClockSet, FeatureLevelChanged, TopicCreated, PartitionsCreated, TopicDeleted, TopicDeletionDelayed, ReplicaDeleted,
    TopicRefused, PartitionChanged, LeaderElected, PartitionOffline,
    ElectionRefused, AlterPartitionRefused, BecameLeader, BecameFollower, Appended, AppendRefused, FollowerFetched, FollowerAppended,
    FollowerHighWatermark, HighWatermarkAdvanced, EpochAnswered, Truncated, FetchFailed, FetcherDisconnected, FetcherLags,
    IsrShrinkProposed, IsrShrinkByCount, IsrExpandProposed, IsrShrunk, IsrExpanded, IsrChangeFailed, ProduceAcked, ProduceFailed,
    ProduceWaiting, ProduceGivenUp, BatchCompleted, ProducerBlocked, SendTimedOut, Consumed,
    ReadReplica, ConsumerReset, ConsumerTruncated, ClientRebootstrapped, ProducerIdGiven, DuplicateDropped, ProducerEpochBumped, RecordsLost, LostRecordsSeen, RecordsRecovered,
    RecordsDiverged, RecordsDuplicated, RecordsOutOfOrder, RecordsExposed, RecordsSafe,
    ControllerCandidate, ControllerElected, ControllerResigned, UncommittedDropped, NoMajority, ControllerStopped,
    ControllerStarted, ControllerPaused, ControllerResumed,
    SessionExpired, BrokerJoined, BrokerLeft, ControllerRequestRefused, LeaderAndIsrIgnored, LeaderUnavailable, ReplicasOffline,
    FetcherAwaited, IsrChangesPublished,
    CoordinatorLoaded, CoordinatorUnloaded, TransactionBegun, TransactionCallTimedOut, TransactionStateChanged, TransactionEnded, TransactionRefused, TransactionTimedOut,
    MarkerAppended, MarkerRefused, MarkerSkipped, LastStableOffsetAdvanced, VerificationFailed, ProducerStateChanged, AbortedRecordsSkipped,
    GroupsLoaded, GroupsUnloaded, OffsetCommitted, OffsetPending, OffsetMaterialized, OffsetDropped, GroupRequestRefused,
    GroupConverted, GroupEpochBumped, TargetAssigned, MemberReconciled, ConsumerGroupStateChanged,
    MemberIdGiven, GroupMemberJoined, StaticMemberReplaced, GroupRebalancing, GroupGeneration, GroupStable, GroupEmptied, GroupMemberRemoved,
    OffsetDeleted, OffsetExpired, OffsetRemoved, GroupAdministered, GroupDeleted, MemberStarted, MemberEnded, PollFailed, MemberFrozen, MemberThawed, CoordinatorFound, CoordinatorLost, RejoinNeeded,
    PartitionsAssigned, PartitionsRevoked, PartitionsLost, PollTooLate, CommitFailed, PositionSet, RecordsProcessed,
    ProcessedAgain, RecordsSkipped, RecordsLeftOut, ProcessedOutOfOrder,
    ProcessStarted, ProcessStepDone, ProcessRewound, ProcessEnded, ProcessedTwice, NeverProcessed, HalfVisible,
    ServiceStarted, ServiceEnded, ServiceRewound, RecordsHeld, ServicePaused, ServiceResumed, DelayedForwarded,
    RecordsTried, DeadLettered, SucceededTwice, RetryDropped, ClusterObserved,
)  # fmt: skip
"""All kinds of events, from user actions to the findings of the durability account."""

KINDS: Final[dict[str, type[Event]]] = {event.kind: event for event in EVENTS}
"""All kinds of events, by name."""

PARTITION_OF: Final[dict[str, Callable[[EventTuple], tuple[str, int]]]] = {
    event.kind: event.reader("topic", "partition") for event in EVENTS if {"topic", "partition"} <= event.columns.keys()
}
"""The functions that read the topic and the partition of an event, by kind. Kinds without a partition are missing."""


def column_types(event: type[Event]) -> dict[str, str]:
    """Return the columns of an event kind and their types: `int`, `str`, `bool`, or `tuple[int, ...]`."""
    return dict(event.columns)


def required_columns(event: type[Event]) -> tuple[str, ...]:
    """Return the columns of an event kind that are in every log, even in logs that the oldest isrlab version wrote."""
    return tuple(name for name in event.columns if name not in event.defaults)


def agree(recorded: EventTuple, event: EventTuple) -> bool:
    """Return whether a recorded event equals another event. Causes are not compared, because an older isrlab version did not know all of
    them. Columns that an older log lacks are ignored.
    """
    recorded, event = without_causes(recorded), without_causes(event)
    if recorded == event:
        return True
    defaults = KINDS[kind_of(recorded)].defaults
    if not defaults or recorded[: -len(defaults)] != event[: -len(defaults)]:
        return False
    return all(
        one in (absent, other)
        for one, other, absent in zip(recorded[-len(defaults) :], event[-len(defaults) :], defaults.values(), strict=True)
    )


def decode(event: EventTuple) -> Event:
    """Return the typed event for a recorded tuple."""
    return KINDS[kind_of(event)](event)


def explain(event: EventTuple) -> str:
    """Return the sentence that describes a recorded event."""
    return decode(event).sentence()
