"""The acts that people and scripts can perform on a cluster. Each act is a frozen class that names its word in the script language.

An act is plain data, which `Cluster.do` executes. The journal records each act as an `act` event with its fields as JSON, so a recorded
session can be replayed or written as a script. Times are in µs. If an act names no `topic`, `broker`, or `partition`, it applies to all
topics, brokers, or partitions. In scripts, the fields of an act have the same names, with hyphens instead of underscores.
"""

from __future__ import annotations

from typing import Final

from core.lab.acts.act import Act
from core.lab.acts.administration import (
    CancelReassignment,
    Clean,
    CreatePartitions,
    CreateTopic,
    DeleteRecords,
    DeleteTopic,
    Elect,
    Reassign,
    Set,
    Unregister,
    UpdateFeature,
)
from core.lab.acts.brokers import Kill, Pause, PowerLoss, Resume, Shutdown, Start
from core.lab.acts.by_hand import Answer, Arrive, Bounce, CheckIsr, Checkpoint, Fence, Fetch, SetPace
from core.lab.acts.clients import Acks, Consume, Load, Produce, StopConsume, StopLoad
from core.lab.acts.clocks import SetClock
from core.lab.acts.controllers import KillController, PauseController, ResumeController, StartController
from core.lab.acts.disks import FailDir, MoveReplica, RepairDir, SlowDisk
from core.lab.acts.groups import (
    CloseConsumer,
    CommitOffsets,
    DeleteGroup,
    DeleteOffsets,
    FreezeConsumer,
    JoinGroup,
    KillConsumer,
    PausePartitions,
    ProcessingTime,
    RemoveMember,
    ResetOffsets,
    ResumePartitions,
    StallConsumer,
    ThawConsumer,
)
from core.lab.acts.links import Cut, Heal, Hold, Isolate, Link, Release
from core.lab.acts.processes import KillProcess, StartProcess, StopProcess
from core.lab.acts.services import FailProcessing, KillService, ProduceDelayed, StartDelayService, StartRetryService, StopService
from core.lab.acts.transactions import AbortHanging, AbortTransaction, BeginTransaction, CommitTransaction, InitTransactions
from core.lab.acts.zones import CutZone, FailZone, HealZone, RestoreZone

ACTS: Final[dict[str, type[Act]]] = {
    act.word: act
    for act in (
        Kill, PowerLoss, Shutdown, Start, Pause, Resume, FailDir, RepairDir, MoveReplica, SlowDisk, KillController, StartController,
        PauseController, ResumeController, Cut, Heal, Isolate, Link, Hold, Release, FailZone, RestoreZone, CutZone, HealZone,
        Set, CreateTopic, CreatePartitions, DeleteTopic, SetClock, Elect,
        Reassign, CancelReassignment, Unregister, UpdateFeature, DeleteRecords, Clean, Produce, Load, StopLoad, Acks, Consume, StopConsume, InitTransactions,
        BeginTransaction, CommitTransaction, AbortTransaction, AbortHanging, StartProcess, StopProcess, KillProcess, JoinGroup, CloseConsumer, KillConsumer,
        FreezeConsumer, ThawConsumer, ProcessingTime, StallConsumer, CommitOffsets, PausePartitions, ResumePartitions, RemoveMember, ResetOffsets,
        DeleteOffsets, DeleteGroup, StartDelayService,
        ProduceDelayed, StartRetryService, FailProcessing, StopService, KillService, SetPace, Fetch, Arrive, Answer, Fence, Bounce, Checkpoint, CheckIsr,
    )
}  # fmt: skip
"""All acts, by word."""
