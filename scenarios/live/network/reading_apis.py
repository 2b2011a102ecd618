"""The requests that may be sent to a cluster: those that read, and change nothing.

FindCoordinator is not among them, because a broker that gets it creates `__consumer_offsets` or `__transaction_state` if the topic does not
exist yet. The coordinators are found by asking every broker for its groups and transactions instead. Fetch is not among them either: it
reads the records of topics, and a follower's fetch moves high watermarks.
"""

from __future__ import annotations

import enum
from typing import Final


class Api(enum.IntEnum):
    """The APIs that read a cluster, by their keys. The names are Kafka's (`ApiKeys`)."""

    LIST_OFFSETS = 2
    METADATA = 3
    OFFSET_FETCH = 9
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    OFFSET_FOR_LEADER_EPOCH = 23
    DESCRIBE_CONFIGS = 32
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    LIST_PARTITION_REASSIGNMENTS = 46
    DESCRIBE_QUORUM = 55
    DESCRIBE_CLUSTER = 60
    DESCRIBE_PRODUCERS = 61
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66
    CONSUMER_GROUP_DESCRIBE = 69
    DESCRIBE_TOPIC_PARTITIONS = 75

    @property
    def title(self) -> str:
        """The name of the API as Kafka's documentation writes it, such as DescribeLogDirs."""
        return "".join(word.capitalize() for word in self.name.split("_"))


ALLOWED: Final = frozenset(int(api) for api in Api)
"""The keys of the APIs that may be sent. `check` reads this list, and nothing else decides."""


def check(frame: bytes) -> None:
    """Refuse a request that is not on the list. `frame` is the request as it would be sent: four bytes of length, then the header.

    Raises:
        AssertionError: the request could change the cluster; it must not be sent.
    """
    key = int.from_bytes(frame[4:6], "big", signed=True)
    if len(frame) < 8 or key not in ALLOWED:
        raise AssertionError(f"a request with the API key {key} is not on the list of reading requests, and is not sent")
    version = int.from_bytes(frame[6:8], "big", signed=True)
    if key == Api.METADATA and version < METADATA_WITHOUT_CREATION and not _asks_for_all_or_none(frame):
        raise AssertionError("before version 4, a Metadata request with names can create topics; it is not sent")


METADATA_WITHOUT_CREATION: Final = 4
"""The first version of Metadata that says whether topics may be created."""


def _asks_for_all_or_none(frame: bytes) -> bool:
    """Return whether a Metadata request, before version 9, names no topics."""
    client = max(int.from_bytes(frame[12:14], "big", signed=True), 0)
    return int.from_bytes(frame[14 + client : 18 + client], "big", signed=True) <= 0
