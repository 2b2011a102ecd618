"""The fields of protocol objects that a fingerprint does not treat as plain state (`core.sim.state.fingerprint`)."""

from __future__ import annotations

from typing import Final

from core.kafka.applications.processes.process import Process
from core.kafka.applications.processes.processed_records import ProcessedRecords
from core.kafka.applications.services.holding_process import HoldingProcess
from core.kafka.applications.services.retry_worker import FailureRule
from core.kafka.applications.services.service_records import DelayedRecords, HeldRecords, RetriedRecords
from core.kafka.applications.services.service_worker import ServiceWorker
from core.kafka.broker.broker import Broker
from core.kafka.broker.context import BrokerContext
from core.kafka.broker.controller_requests.controller_channel import ControllerChannel
from core.kafka.broker.controller_requests.producer_id_manager import ProducerIdManager
from core.kafka.broker.follower.fetcher import Fetcher
from core.kafka.broker.follower.partition_fetch_state import PartitionFetchState
from core.kafka.broker.partition import Partition
from core.kafka.broker.purgatory.delayed_produce import DelayedProduces
from core.kafka.broker.replica import Replica
from core.kafka.broker.requests.fetch_manager import FetchManager
from core.kafka.broker.requests.fetch_session import CachedPartition, FetchSession
from core.kafka.broker.transactions.add_partitions_to_txn_manager import Verification
from core.kafka.clients.accumulator.producer_batch import ProducerBatch
from core.kafka.clients.accumulator.record_accumulator import RecordAccumulator
from core.kafka.clients.client import Client
from core.kafka.clients.group_member.consumer_coordinator import ConsumerCoordinator
from core.kafka.clients.group_member.coordinator_calls import CoordinatorCalls
from core.kafka.clients.group_member.group_member import GroupMember
from core.kafka.clients.group_member.membership_manager import MembershipManager
from core.kafka.clients.group_member.offset_commits import Commit, OffsetCommits
from core.kafka.clients.producer.coordinator_requests import CoordinatorRequests
from core.kafka.clients.producer.in_flight_batches import InFlightBatches
from core.kafka.clients.producer.producer_metrics import ProducerMetrics
from core.kafka.clients.producer.send_calls import SendCalls
from core.kafka.clients.producer.sender import Sender
from core.kafka.clients.producer.transaction_manager import TransactionManager
from core.kafka.controller.replication_control_manager import ReplicationControlManager
from core.kafka.group_coordinator.classic_group.classic_group import ClassicGroup
from core.kafka.group_coordinator.classic_group.classic_group_member import ClassicGroupMember, Parked
from core.kafka.group_coordinator.classic_group.group_records import GroupMetadataValue
from core.kafka.group_coordinator.consumer_group.consumer_group import ConsumerGroup, MemberTimers
from core.kafka.group_coordinator.offsets_log import CommittedOffset
from core.kafka.log.leader_term import Term
from core.kafka.log.packed_batches import PackedBatches
from core.kafka.log.producer_state import ProducerStateManager
from core.kafka.log.producer_state_entry import ProducerStateEntry, VerificationStateEntry
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.messages import FetchRequest, FetchResponse
from core.kafka.transaction.transaction_metadata import TransactionMetadata
from core.kafka.transaction.transaction_state_manager import TransactionStateManager
from core.kafka.zookeeper_mode.client import ZooKeeperClient
from core.kafka.zookeeper_mode.controller.controller_channel_manager import Channel, ControllerChannelManager
from core.kafka.zookeeper_mode.controller.event_manager import ControllerEventManager
from core.kafka.zookeeper_mode.controller.requests import LeaderAndIsrRequest
from core.kafka.zookeeper_mode.isr_manager import ZooKeeperIsrManager
from core.kafka.zookeeper_mode.znode_observer import ZnodeObserver
from core.kafka.zookeeper_server.server import ZooKeeper
from core.sim.state.fields import Declared, Table

KAFKA_FIELDS: Final[Table] = {
    object: Declared(history=("account", "cause"), labels={"correlation": "correlation"}),
    Broker: Declared(history=("shutdown_by",)),
    BrokerContext: Declared(wiring=("node", "network", "journal"), history=("_correlation",)),
    ZooKeeperIsrManager: Declared(history=("changed_by",)),
    ControllerChannelManager: Declared(history=("_correlation",)),
    ControllerChannel: Declared(history=("_fetches",)),
    DelayedProduces: Declared(times=("timer_due",)),
    FetchManager: Declared(history=("possibly_late",)),
    FetchSession: Declared(times=("last_fetch_time", "deadline", "timer_due")),
    FetchRequest: Declared(labels={"correlation": "fetch"}, rows={"changed": 4}),
    FetchResponse: Declared(labels={"correlation": "fetch"}, rows={"partitions": 6}),
    CachedPartition: Declared(row={"asked": 4}),
    LeaderAndIsrRequest: Declared(rows={"items": 2}),
    Channel: Declared(rows={"queue": 1}),
    ControllerEventManager: Declared(rows={"_events": 0}),
    Fetcher: Declared(wiring=("quota", "owner"), history=("sent_cause",), times=("sent_at", "timeout_at", "waking_at"), labels={"in_flight": "fetch"}, rows={"unsent": 4, "moved": 4}),
    Partition: Declared(history=("changed_by", "high_watermark_event", "min_isr_changed_by"), times=("uncommitted_since",)),
    PartitionFetchState: Declared(times=("delayed_until",)),
    ReplicationControlManager: Declared(history=("log_ends",)),
    ProducerIdManager: Declared(times=("_not_before",)),
    ProducerStateEntry: Declared(times=("last_timestamp",)),
    ProducerStateManager: Declared(history=("_last_guard",), times=("_checked",)),
    Replica: Declared(times=("last_fetch_time", "last_caught_up_time")),
    Client: Declared(history=("_correlation",), times=("_lacked_topic_at", "_refreshed_at"), labels={"_metadata_correlation": "correlation"}),
    RecordAccumulator: Declared(wiring=("client",), history=("_batch_id",)),
    SendCalls: Declared(wiring=("client",)),
    Sender: Declared(wiring=("client", "accumulator", "calls", "metrics", "delays", "callback")),
    InFlightBatches: Declared(labels={"batches": "correlation"}),
    ProducerMetrics: Declared(history=("sent", "acked", "failed", "retries", "last_latency")),
    TransactionManager: Declared(wiring=("client", "sequences", "release", "wakeup")),
    CoordinatorRequests: Declared(wiring=("client", "manager")),
    Process: Declared(history=("rounds", "checks")),
    ProcessedRecords: Declared(history=("event",)),
    ServiceWorker: Declared(history=("started_by",)),
    HoldingProcess: Declared(times=("due_timer", "backs_off_until")),
    HeldRecords: Declared(history=("event",), times=("due", "timestamp")),
    DelayedRecords: Declared(times=("created",)),
    RetriedRecords: Declared(history=("event",), times=("created",)),
    FailureRule: Declared(times=("until",)),
    CommittedOffset: Declared(times=("timestamp",)),
    ClassicGroup: Declared(times=("state_timestamp",)),
    ClassicGroupMember: Declared(times=("deadline", "timer_due")),
    GroupMetadataValue: Declared(times=("state_timestamp",)),
    Parked: Declared(labels={"correlation": "correlation"}),
    Commit: Declared(times=("deadline",)),
    ConsumerCoordinator: Declared(
        wiring=("client",), times=("rejoin_at", "next_heartbeat", "session_deadline", "poll_deadline", "heartbeat_timer"),
        labels={"leaving": "correlation"},
    ),
    MembershipManager: Declared(
        wiring=("client",), times=("callback_at", "next_heartbeat", "heartbeat_timer", "poll_deadline"),
    ),
    ConsumerGroup: Declared(times=("assigned_at",)),
    MemberTimers: Declared(times=("deadline", "due", "revoked_by", "joined_by", "synced_by")),
    CoordinatorCalls: Declared(wiring=("client",), labels={"in_flight": "correlation"}),
    GroupMember: Declared(history=("processed",), times=("batch_began", "auto_commit_due")),
    OffsetCommits: Declared(wiring=("client",)),
    ProducerBatch: Declared(history=("id", "created_by", "delays"), times=("created", "queued_at", "sent_at")),
    ReplicaLog: Declared(history=("last_append_event",), times=("last_flush",)),
    Term: Declared(history=("_ends", "_totals", "latest")),
    PackedBatches: Declared(history=("data",)),  # bytes that depend on the version of zlib
    TransactionStateManager: Declared(history=("clients", "opened")),
    TransactionMetadata: Declared(times=("start_time", "update_time")),
    VerificationStateEntry: Declared(times=("created",), labels={"guard": "guard"}),
    Verification: Declared(times=("since",), labels={"guard": "guard"}),
    ZnodeObserver: Declared(wiring=("disturbances",)),
    ZooKeeper: Declared(history=("_zxid", "observer")),
    ZooKeeperClient: Declared(history=("_xid", "_causes")),
}  # fmt: skip
"""For each class, the fields that a fingerprint does not treat as plain state. The entry for `object` applies to fields that have these
names in any class."""
