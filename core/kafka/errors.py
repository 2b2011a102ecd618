"""Kafka's error codes by name (`org.apache.kafka.common.protocol.Errors`), and the refusals of the laboratory itself."""

from __future__ import annotations

from typing import Final

NONE: Final = "NONE"
CORRUPT_MESSAGE: Final = "CORRUPT_MESSAGE"
OFFSET_OUT_OF_RANGE: Final = "OFFSET_OUT_OF_RANGE"
UNKNOWN_TOPIC_OR_PARTITION: Final = "UNKNOWN_TOPIC_OR_PARTITION"
NOT_LEADER_OR_FOLLOWER: Final = "NOT_LEADER_OR_FOLLOWER"
REQUEST_TIMED_OUT: Final = "REQUEST_TIMED_OUT"
NETWORK_EXCEPTION: Final = "NETWORK_EXCEPTION"
TOPIC_ALREADY_EXISTS: Final = "TOPIC_ALREADY_EXISTS"
INVALID_PARTITIONS: Final = "INVALID_PARTITIONS"
INVALID_REPLICATION_FACTOR: Final = "INVALID_REPLICATION_FACTOR"
INVALID_REPLICA_ASSIGNMENT: Final = "INVALID_REPLICA_ASSIGNMENT"
INVALID_REQUEST: Final = "INVALID_REQUEST"
INVALID_REQUIRED_ACKS: Final = "INVALID_REQUIRED_ACKS"
INVALID_CONFIG: Final = "INVALID_CONFIG"
NOT_CONTROLLER: Final = "NOT_CONTROLLER"
MESSAGE_TOO_LARGE: Final = "MESSAGE_TOO_LARGE"
NOT_ENOUGH_REPLICAS: Final = "NOT_ENOUGH_REPLICAS"
NOT_ENOUGH_REPLICAS_AFTER_APPEND: Final = "NOT_ENOUGH_REPLICAS_AFTER_APPEND"
KAFKA_STORAGE_ERROR: Final = "KAFKA_STORAGE_ERROR"
FENCED_LEADER_EPOCH: Final = "FENCED_LEADER_EPOCH"
UNKNOWN_LEADER_EPOCH: Final = "UNKNOWN_LEADER_EPOCH"
OFFSET_NOT_AVAILABLE: Final = "OFFSET_NOT_AVAILABLE"
STALE_CONTROLLER_EPOCH: Final = "STALE_CONTROLLER_EPOCH"
STALE_BROKER_EPOCH: Final = "STALE_BROKER_EPOCH"
BROKER_ID_NOT_REGISTERED: Final = "BROKER_ID_NOT_REGISTERED"
PREFERRED_LEADER_NOT_AVAILABLE: Final = "PREFERRED_LEADER_NOT_AVAILABLE"
ELIGIBLE_LEADERS_NOT_AVAILABLE: Final = "ELIGIBLE_LEADERS_NOT_AVAILABLE"
ELECTION_NOT_NEEDED: Final = "ELECTION_NOT_NEEDED"
OPERATION_NOT_ATTEMPTED: Final = "OPERATION_NOT_ATTEMPTED"
INELIGIBLE_REPLICA: Final = "INELIGIBLE_REPLICA"
INVALID_UPDATE_VERSION: Final = "INVALID_UPDATE_VERSION"
NO_REASSIGNMENT_IN_PROGRESS: Final = "NO_REASSIGNMENT_IN_PROGRESS"
NO_REASSIGNMENT: Final = "No partition reassignment is in progress."
"""What Kafka says with it."""
NEW_LEADER_ELECTED: Final = "NEW_LEADER_ELECTED"
UNKNOWN_TOPIC_ID: Final = "UNKNOWN_TOPIC_ID"
DUPLICATE_BROKER_REGISTRATION: Final = "DUPLICATE_BROKER_REGISTRATION"
FETCH_SESSION_ID_NOT_FOUND: Final = "FETCH_SESSION_ID_NOT_FOUND"
OUT_OF_ORDER_SEQUENCE_NUMBER: Final = "OUT_OF_ORDER_SEQUENCE_NUMBER"
INVALID_PRODUCER_EPOCH: Final = "INVALID_PRODUCER_EPOCH"
UNKNOWN_SERVER_ERROR: Final = "UNKNOWN_SERVER_ERROR"

RETRIABLE: Final = frozenset(
    {
        NOT_LEADER_OR_FOLLOWER,
        UNKNOWN_TOPIC_OR_PARTITION,
        REQUEST_TIMED_OUT,
        NETWORK_EXCEPTION,
        NOT_ENOUGH_REPLICAS,
        NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        KAFKA_STORAGE_ERROR,
        FENCED_LEADER_EPOCH,
        UNKNOWN_LEADER_EPOCH,
        OFFSET_NOT_AVAILABLE,
    }
)
"""Errors a producer or consumer tries again on (`RetriableException` in the Java client)."""


INVALID_METADATA: Final = frozenset(
    {NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION, NETWORK_EXCEPTION, KAFKA_STORAGE_ERROR, FENCED_LEADER_EPOCH}
)
"""Errors after which a producer asks who leads (`InvalidMetadataException` in the Java client)."""


class KafkaError(Exception):
    """A request that Kafka refuses, with Kafka's own error code.

    Attributes:
        code: name in `org.apache.kafka.common.protocol.Errors`.
        message: what was wrong, in words.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class ActRefused(Exception):
    """An act that is impossible in the cluster's present state: the message says what, and what would be right."""


class Standstill(ActRefused):
    """The cluster is busy without end at one moment of virtual time: what it does there takes no time."""
