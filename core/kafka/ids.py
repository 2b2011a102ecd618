"""Identifiers: topic partitions, and the addresses of nodes on the simulated network."""

from __future__ import annotations

from typing import Final, NamedTuple

NO_LEADER: Final = -1
"""Kafka's leader id for a partition that has no leader."""

NO_EPOCH: Final = -1
"""The value that Kafka uses for an undefined epoch."""

NO_OFFSET: Final = -1
"""The value that Kafka uses for an undefined offset."""

PRODUCER_ID_BLOCK_SIZE: Final = 1_000
"""The number of producer IDs in a block that the controller allocates to a broker (`ProducerIdsBlock`)."""

CONTROLLER: Final = "controller"
"""The network address of a controller that is not part of a quorum."""

ZOOKEEPER: Final = "zookeeper"
"""The network address of ZooKeeper."""


class TopicPartition(NamedTuple):
    """A partition of a topic. `str` returns the form that Kafka prints, for example `orders-0`."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"

    @classmethod
    def parse(cls, text: str) -> TopicPartition:
        """Parse the name of a partition. For example, `orders-0` becomes (orders, 0).

        Raises:
            ValueError: the text does not end with a dash and a partition number.
        """
        topic, dash, number = text.rpartition("-")
        if not dash or not topic or not number.isdecimal() or not number.isascii() or len(number) > 9:
            raise ValueError(f"'{text}' is not a partition; write topic-number, for example orders-0")
        return cls(topic, int(number))


def broker_address(broker: int) -> str:
    """Return the network address of a broker, such as `b1`."""
    return f"b{broker}"


def broker_at(address: str) -> int | None:
    """Return the broker that has the given network address; None if the address is not the address of a broker."""
    number = address[1:]
    return int(number) if address[:1] == "b" and number.isascii() and number.isdecimal() else None


def is_broker(address: str) -> bool:
    """Return whether a network address is that of a broker."""
    return broker_at(address) is not None


def node_address(name: str) -> str:
    """Return the network address for a name that a user has entered. `1` and `b1` both mean broker 1. A name that does not identify a
    broker is already an address."""
    digits = name[1:] if name[:1] == "b" else name
    if digits.isascii() and digits.isdecimal():
        return f"b{int(digits)}"
    return name
