"""What Kafka's errors mean to a person who meets one, and the names under which clients report them.

Source of the names: `org.apache.kafka.common.protocol.Errors` and the exceptions that it names, and `rdkafka.h` for librdkafka.
"""

from __future__ import annotations

from typing import Final

ERROR_MEANINGS: Final[dict[str, str]] = {
    "CORRUPT_MESSAGE": "A batch does not match its checksum. A follower that fetches such a batch asks for it again.",
    "OFFSET_OUT_OF_RANGE": "A consumer or follower asked for an offset that the leader's log does not have: deleted by retention, or cut off by a truncation.",
    "UNKNOWN_TOPIC_OR_PARTITION": "The broker does not host the partition: the topic is new or deleted, or the client's metadata is old.",
    "NOT_LEADER_OR_FOLLOWER": "The broker does not lead the partition any more, or not yet. The client asks for new metadata and retries.",
    "REQUEST_TIMED_OUT": "The broker did not finish in time. For a write with acks=all, too few replicas had the records in time; they may still be written.",
    "NETWORK_EXCEPTION": "The connection broke before the answer came. Whether the broker handled the request is unknown.",
    "TOPIC_ALREADY_EXISTS": "There is a topic with this name already.",
    "TOPIC_DELETION_DISABLED": "delete.topic.enable is false.",
    "INVALID_PARTITIONS": "The number of partitions is not possible; it can only grow.",
    "INVALID_REPLICATION_FACTOR": "There are fewer usable brokers than replicas are wanted.",
    "INVALID_REPLICA_ASSIGNMENT": "The listed replicas are not possible: unknown or repeated brokers, or lists of different lengths.",
    "INVALID_RECORD": "The broker refuses the records themselves, for example records without keys in a compacted topic.",
    "INVALID_REQUEST": "The request contradicts the protocol or the broker's settings.",
    "INVALID_REQUIRED_ACKS": "acks is none of 0, 1, and all.",
    "INVALID_CONFIG": "A setting has a value that Kafka does not allow.",
    "NOT_CONTROLLER": "The node is not the active controller. The client looks for the active one.",
    "MESSAGE_TOO_LARGE": "A batch is larger than max.message.bytes of the topic.",
    "NOT_ENOUGH_REPLICAS": "The ISR is smaller than min.insync.replicas, so the leader refuses writes with acks=all before it appends them.",
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND": "The leader had appended the records when the ISR became too small. The producer retries, which can duplicate them.",
    "KAFKA_STORAGE_ERROR": "A log directory of the broker failed, and the partition's log was in it.",
    "FENCED_LEADER_EPOCH": "The request names an older leader epoch than the broker knows: whoever sent it missed an election.",
    "UNKNOWN_LEADER_EPOCH": "The request names a newer leader epoch than the broker knows: the broker has not heard of the election yet.",
    "OFFSET_NOT_AVAILABLE": "A new leader does not know yet how far its high watermark has to be, so it cannot give the end offset.",
    "STALE_CONTROLLER_EPOCH": "A controller that has been replaced still sends requests; brokers refuse them.",
    "STALE_BROKER_EPOCH": "The request comes from an earlier process of a broker that has registered again.",
    "BROKER_ID_NOT_REGISTERED": "The controller does not know a broker with this ID.",
    "PREFERRED_LEADER_NOT_AVAILABLE": "The preferred leader is down or not in the ISR, so it cannot be elected.",
    "ELIGIBLE_LEADERS_NOT_AVAILABLE": "No replica may lead: none is alive, for an unclean election either.",
    "ELECTION_NOT_NEEDED": "The wanted replica leads already.",
    "OPERATION_NOT_ATTEMPTED": "The controller ended before it handled the request, or refused it as a whole.",
    "INELIGIBLE_REPLICA": "The leader wants to add a replica to the ISR that the controller knows to be fenced, shutting down, or restarted.",
    "INVALID_UPDATE_VERSION": "Somebody else changed the partition's state first. The leader must learn the new state before it can change it.",
    "NO_REASSIGNMENT_IN_PROGRESS": "There is no reassignment of the partition to cancel.",
    "NEW_LEADER_ELECTED": "While the leader asked to change the ISR, another leader was elected.",
    "UNKNOWN_TOPIC_ID": "The broker does not know a topic with this ID: it was deleted, or created again with the same name.",
    "DUPLICATE_BROKER_REGISTRATION": "Another live broker is registered under the same ID.",
    "FETCH_SESSION_ID_NOT_FOUND": "The leader has forgotten the follower's fetch session, for example after a restart. The follower starts a new one.",
    "OUT_OF_ORDER_SEQUENCE_NUMBER": "A batch of an idempotent producer arrived before an earlier one: records were lost on the way, or a new leader lacks them.",
    "INVALID_PRODUCER_EPOCH": "A newer instance of the producer exists, or its transaction was ended by another: the old one is a zombie.",
    "INVALID_PRODUCER_ID_MAPPING": "The coordinator knows another producer ID for this transactional.id.",
    "INVALID_TXN_STATE": "The call does not fit the state of the transaction, for example a commit of a transaction that was aborted.",
    "INVALID_TRANSACTION_TIMEOUT": "transaction.timeout.ms is larger than transaction.max.timeout.ms of the broker.",
    "CONCURRENT_TRANSACTIONS": "The coordinator still ends the previous transaction. The producer waits and asks again.",
    "TRANSACTION_COORDINATOR_FENCED": "A transaction coordinator that has been replaced still sends markers; leaders refuse them.",
    "TRANSACTION_ABORTABLE": "Something in the transaction failed. The producer can abort it and go on (KIP-890).",
    "UNKNOWN_PRODUCER_ID": "The leader has no state of the producer: retention deleted its last records, or it expired.",
    "DUPLICATE_SEQUENCE_NUMBER": "The leader has the batch already, and does not append it again.",
    "PRODUCER_FENCED": "Another producer with the same transactional.id has started. This one must not go on.",
    "COORDINATOR_LOAD_IN_PROGRESS": "The coordinator still reads its state from the internal topic. The client asks again.",
    "COORDINATOR_NOT_AVAILABLE": "There is no coordinator at the moment: the internal topic does not exist yet, or its partition has no leader.",
    "NOT_COORDINATOR": "The broker does not coordinate this group or transaction any more. The client looks for the coordinator again.",
    "TOPIC_AUTHORIZATION_FAILED": "The client may not use the topic.",
    "TRANSACTIONAL_ID_NOT_FOUND": "The coordinator does not know this transactional.id.",
    "UNSTABLE_OFFSET_COMMIT": "Offsets of an open transaction are pending, so the coordinator does not give the committed offset yet.",
    "ILLEGAL_GENERATION": "The member's generation is over: the group has rebalanced without it.",
    "UNKNOWN_MEMBER_ID": "The coordinator has removed the member, usually because its session timed out or it was too slow to poll.",
    "FENCED_INSTANCE_ID": "Another member with the same group.instance.id has joined; this one must stop.",
    "REBALANCE_IN_PROGRESS": "The group is rebalancing. The member joins again; its commit is refused.",
    "GROUP_MAX_SIZE_REACHED": "The group has group.max.size members already.",
    "FENCED_MEMBER_EPOCH": "The member's epoch is not the one that the coordinator knows (KIP-848). It gives up its partitions and joins again.",
    "STALE_MEMBER_EPOCH": "A commit names a member epoch that is over; the member retries with its new epoch (KIP-848).",
    "UNRELEASED_INSTANCE_ID": "A static member with the same group.instance.id is still in the group (KIP-848).",
    "UNSUPPORTED_ASSIGNOR": "The coordinator does not have the assignor that the member asks for.",
    "MEMBER_ID_REQUIRED": "The coordinator gave the member an ID, with which it must join again (KIP-394). Not a fault.",
    "INCONSISTENT_GROUP_PROTOCOL": "The member has no assignor in common with the others, or uses another protocol.",
    "INVALID_SESSION_TIMEOUT": "session.timeout.ms is outside the broker's limits for groups.",
    "GROUP_ID_NOT_FOUND": "There is no such group.",
    "NON_EMPTY_GROUP": "The group has members, so it cannot be deleted and its offsets cannot be reset.",
    "GROUP_SUBSCRIBED_TO_TOPIC": "Members of the group subscribe to the topic, so its offsets cannot be deleted.",
    "INVALID_GROUP_ID": "The group ID is empty or otherwise not allowed.",
    "UNSUPPORTED_VERSION": "The broker's release does not know the request, or not in this version.",
    "UNKNOWN_SERVER_ERROR": "The broker failed in a way for which the protocol has no word.",
}
"""For each error that the laboratory knows, what it means."""

EXCEPTIONS: Final[dict[str, tuple[str, ...]]] = {
    "CORRUPT_MESSAGE": ("CorruptRecordException",),
    "REQUEST_TIMED_OUT": ("TimeoutException",),
    "NETWORK_EXCEPTION": ("NetworkException", "DisconnectException"),
    "TOPIC_ALREADY_EXISTS": ("TopicExistsException",),
    "INVALID_REQUIRED_ACKS": ("InvalidRequiredAcksException",),
    "INVALID_CONFIG": ("InvalidConfigurationException",),
    "MESSAGE_TOO_LARGE": ("RecordTooLargeException",),
    "OUT_OF_ORDER_SEQUENCE_NUMBER": ("OutOfOrderSequenceException",),
    "INVALID_PRODUCER_ID_MAPPING": ("InvalidPidMappingException",),
    "DUPLICATE_SEQUENCE_NUMBER": ("DuplicateSequenceException",),
    "INVALID_PARTITIONS": ("InvalidPartitionsException",),
    "KAFKA_STORAGE_ERROR": ("KafkaStorageException",),
    "UNKNOWN_SERVER_ERROR": ("UnknownServerException",),
    "COORDINATOR_LOAD_IN_PROGRESS": ("CoordinatorLoadInProgressException", "GROUP_LOAD_IN_PROGRESS"),
    "COORDINATOR_NOT_AVAILABLE": ("CoordinatorNotAvailableException", "GROUP_COORDINATOR_NOT_AVAILABLE"),
    "NOT_COORDINATOR": ("NotCoordinatorException", "NOT_COORDINATOR_FOR_GROUP"),
    "NOT_LEADER_OR_FOLLOWER": ("NotLeaderOrFollowerException", "NotLeaderForPartitionException", "NOT_LEADER_FOR_PARTITION"),
    "UNKNOWN_MEMBER_ID": ("UnknownMemberIdException", "CommitFailedException"),
    "ILLEGAL_GENERATION": ("IllegalGenerationException", "CommitFailedException"),
    "REBALANCE_IN_PROGRESS": ("RebalanceInProgressException", "CommitFailedException"),
    "PRODUCER_FENCED": ("ProducerFencedException",),
    "TRANSACTION_ABORTABLE": ("TransactionAbortableException",),
    "OFFSET_OUT_OF_RANGE": ("OffsetOutOfRangeException", "NoOffsetForPartitionException"),
}
"""The exceptions and older names of errors whose Java exception is not simply the name in camel case."""

LIBRDKAFKA: Final[dict[str, tuple[str, ...]]] = {
    "REQUEST_TIMED_OUT": ("_TIMED_OUT", "_MSG_TIMED_OUT"),
    "NETWORK_EXCEPTION": ("_TRANSPORT", "_ALL_BROKERS_DOWN"),
    "MESSAGE_TOO_LARGE": ("MSG_SIZE_TOO_LARGE",),
    "CORRUPT_MESSAGE": ("INVALID_MSG", "_BAD_MSG"),
    "UNKNOWN_TOPIC_OR_PARTITION": ("UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_PARTITION"),
    "NOT_LEADER_OR_FOLLOWER": ("NOT_LEADER_FOR_PARTITION",),
    "PRODUCER_FENCED": ("_FENCED",),
    "UNKNOWN_MEMBER_ID": ("_MAX_POLL_EXCEEDED",),
    "OFFSET_OUT_OF_RANGE": ("_AUTO_OFFSET_RESET",),
}
"""The names that librdkafka and the clients built on it use, where they differ from Kafka's."""


def spellings(error: str) -> tuple[str, ...]:
    """Return the names under which clients report an error: Kafka's, Java's exceptions, and librdkafka's codes."""
    camel = "".join(word.capitalize() for word in error.split("_"))
    java = EXCEPTIONS.get(error, (f"{camel}Exception",))
    own = [name if name.startswith("_") else f"RD_KAFKA_RESP_ERR_{name}" for name in LIBRDKAFKA.get(error, (error,))]
    return tuple(dict.fromkeys((error, camel, *java, *own, *(f"RD_KAFKA_RESP_ERR_{name}" for name in own if name.startswith("_")))))
