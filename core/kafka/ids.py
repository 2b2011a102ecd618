"""Identifiers: topic-partitions and the addresses of nodes on the simulated network."""

from __future__ import annotations

from typing import Final, NamedTuple

NO_LEADER: Final = -1
"""Kafka's leader id of a partition that nobody leads."""

NO_EPOCH: Final = -1
"""Kafka's undefined epoch."""

NO_OFFSET: Final = -1
"""Kafka's undefined offset."""

PRODUCER_ID_BLOCK_SIZE: Final = 1_000
"""Producer ids in a block that a controller gives to a broker (`ProducerIdsBlock`)."""

CONTROLLER: Final = "controller"
"""Network address of the active controller."""

ZOOKEEPER: Final = "zookeeper"
"""ZooKeeper's network address, in clusters that have one."""


class TopicPartition(NamedTuple):
    """A partition of a topic; prints as Kafka prints it, `orders-0`."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"

    @classmethod
    def parse(cls, text: str) -> TopicPartition:
        """`orders-0` → (orders, 0).

        Raises:
            ValueError: there is no dash with a partition number behind it.
        """
        topic, dash, number = text.rpartition("-")
        if not dash or not topic or not number.isdecimal() or not number.isascii() or len(number) > 9:
            raise ValueError(f"'{text}' is no partition; write topic-number, for example orders-0")
        return cls(topic, int(number))


def broker_address(broker: int) -> str:
    """Network address of a broker: `b1`."""
    return f"b{broker}"


def broker_at(address: str) -> int | None:
    """The broker whose process has that address; None if it is no broker's."""
    number = address[1:]
    return int(number) if address[:1] == "b" and number.isascii() and number.isdecimal() else None


def node_address(name: str) -> str:
    """Network address for a name as people write it: `1` and `b1` are a broker, anything else a node's own name."""
    digits = name[1:] if name[:1] == "b" else name
    if digits.isascii() and digits.isdecimal():
        return f"b{int(digits)}"
    return name
