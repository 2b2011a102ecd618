"""Requests that the recorder sends itself, byte by byte: to brokers (Metadata, DescribeTopicPartitions, ListOffsets) and to ZooKeeper.

They cost no Java process, so a state can be read several times a second without disturbing the cluster that is being recorded.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterable
from typing import Any, Final

METADATA: Final = 3
LIST_OFFSETS: Final = 2
DESCRIBE_TOPIC_PARTITIONS: Final = 75

LATEST: Final = -1
EARLIEST: Final = -2

TIMEOUT: Final = 4.0
"""The time in seconds that the recorder waits for a response."""


class Reader:
    """Reads the types of Kafka's and ZooKeeper's protocols from bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def number(self, code: str) -> int:
        """Read an integer of a width given as in `struct`: b, h, i, or q."""
        (value,) = struct.unpack_from(">" + code, self.data, self.at)
        self.at += struct.calcsize(code)
        return int(value)

    def varint(self) -> int:
        """Read an unsigned varint."""
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def take(self, size: int) -> bytes:
        """Read some bytes; none if the size is negative."""
        data = self.data[self.at : self.at + max(size, 0)]
        self.at += max(size, 0)
        return data

    def string(self, *, flexible: bool = False) -> str:
        """Read a string, which can be null."""
        return self.take(self.varint() - 1 if flexible else self.number("h")).decode()

    def count(self, *, flexible: bool = False) -> int:
        """Read the length of an array; a null array is empty."""
        return max(self.varint() - 1 if flexible else self.number("i"), 0)

    def numbers(self, *, flexible: bool = False) -> list[int]:
        """Read an array of 32-bit integers."""
        return [self.number("i") for _ in range(self.count(flexible=flexible))]

    def tags(self, *, flexible: bool = True) -> None:
        """Read the tagged fields at the end of a structure, which none of these responses uses."""
        if flexible:
            self.varint()


def _string(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def _compact(text: str) -> bytes:
    return _varint(len(text) + 1) + text.encode()


def _varint(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + _varint(value >> 7)


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise OSError("the connection was closed")
        data += part
    return data


def ask(port: int, api: int, version: int, body: bytes, *, flexible: bool = False) -> Reader:
    """Send a request to the broker at a port, and return its response without the header."""
    head = struct.pack(">hhi", api, version, 7) + _string("recorder") + (b"\0" if flexible else b"")
    with socket.create_connection(("127.0.0.1", port), TIMEOUT) as connection:
        connection.settimeout(TIMEOUT)
        connection.sendall(struct.pack(">i", len(head + body)) + head + body)
        (size,) = struct.unpack(">i", _exactly(connection, 4))
        reader = Reader(_exactly(connection, size))
    reader.number("i")
    reader.tags(flexible=flexible)
    return reader


def metadata_version(release: tuple[int, ...]) -> int:
    """Return the version of Metadata that the recorder asks a release with: 1 has no offline replicas, and 5 no leader epochs."""
    known = (((2, 4), 9), ((2, 1), 7), ((1, 0), 5), ((0, 10), 1))
    return next((version for since, version in known if release[:2] >= since), 0)


def metadata(port: int, topics: Iterable[str], version: int) -> tuple[int, list[int], dict[str, dict[str, Any]]]:
    """Return the controller (-1 before version 1), the brokers, and the partitions of topics, as a broker knows them."""
    flexible = version >= 9
    names = list(topics)
    if flexible:
        body = _varint(len(names) + 1) + b"".join(_compact(name) + b"\0" for name in names) + b"\0\0\0\0"
    else:
        body = struct.pack(">i", len(names)) + b"".join(_string(name) for name in names) + (b"\0" if version >= 4 else b"")
    reader = ask(port, METADATA, version, body, flexible=flexible)
    if version >= 3:
        reader.number("i")
    brokers = []
    for _ in range(reader.count(flexible=flexible)):
        brokers.append(reader.number("i"))
        reader.string(flexible=flexible)
        reader.number("i")
        if version >= 1:
            reader.string(flexible=flexible)
        reader.tags(flexible=flexible)
    if version >= 2:
        reader.string(flexible=flexible)
    controller = reader.number("i") if version >= 1 else -1
    found: dict[str, dict[str, Any]] = {}
    for _ in range(reader.count(flexible=flexible)):
        reader.number("h")
        name = reader.string(flexible=flexible)
        if version >= 1:
            reader.number("b")
        for _ in range(reader.count(flexible=flexible)):
            error, index, leader = reader.number("h"), reader.number("i"), reader.number("i")
            epoch = reader.number("i") if version >= 7 else -1
            replicas, isr = reader.numbers(flexible=flexible), reader.numbers(flexible=flexible)
            offline = reader.numbers(flexible=flexible) if version >= 5 else []
            reader.tags(flexible=flexible)
            found[f"{name}-{index}"] = {
                "err": error, "leader": leader, "epoch": epoch, "replicas": replicas, "isr": isr, "elr": [], "lkelr": [], "offline": offline,
            }  # fmt: skip
        if version >= 8:
            reader.number("i")
        reader.tags(flexible=flexible)
    return controller, brokers, found


def topic_partitions(port: int, topics: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the partitions of topics with their ELR (DescribeTopicPartitions, since 3.8)."""
    names = sorted(topics)
    body = _varint(len(names) + 1) + b"".join(_compact(name) + b"\0" for name in names) + struct.pack(">ib", 2000, -1) + b"\0"
    reader = ask(port, DESCRIBE_TOPIC_PARTITIONS, 0, body, flexible=True)
    reader.number("i")
    found: dict[str, dict[str, Any]] = {}
    for _ in range(reader.count(flexible=True)):
        reader.number("h")
        name = reader.string(flexible=True)
        reader.take(17)
        for _ in range(reader.count(flexible=True)):
            error, index, leader, epoch = reader.number("h"), reader.number("i"), reader.number("i"), reader.number("i")
            replicas, isr, elr, known, offline = (reader.numbers(flexible=True) for _ in range(5))
            reader.tags()
            found[f"{name}-{index}"] = {
                "err": error, "leader": leader, "epoch": epoch, "replicas": replicas, "isr": isr, "elr": elr, "lkelr": known, "offline": offline,
            }  # fmt: skip
        reader.number("i")
        reader.tags()
    return found


def offsets(port: int, partitions: Iterable[str], timestamp: int) -> dict[str, str]:
    """Return the offsets that a leader tells a client, or `error N` where it refuses (ListOffsets, version 1)."""
    by_topic: dict[str, list[int]] = {}
    for partition in partitions:
        topic, _, number = partition.rpartition("-")
        by_topic.setdefault(topic, []).append(int(number))
    body = struct.pack(">ii", -1, len(by_topic))
    for topic, numbers in by_topic.items():
        body += _string(topic) + struct.pack(">i", len(numbers)) + b"".join(struct.pack(">iq", number, timestamp) for number in numbers)
    reader = ask(port, LIST_OFFSETS, 1, body)
    found = {}
    for _ in range(reader.count()):
        topic = reader.string()
        for _ in range(reader.count()):
            number, error = reader.number("i"), reader.number("h")
            reader.number("q")
            offset = reader.number("q")
            found[f"{topic}-{number}"] = f"error {error}" if error else str(offset)
    return found


class ZooKeeper:
    """Reads znodes from the ZooKeeper server at a port. Each instance is a short session."""

    GET_CHILDREN: Final = 8
    GET_DATA: Final = 4

    def __init__(self, port: int) -> None:
        self.connection = socket.create_connection(("127.0.0.1", port), TIMEOUT)
        self.connection.settimeout(TIMEOUT)
        self.requests = 0
        try:
            self._send(struct.pack(">iqiqi", 0, 0, 6000, 0, 16) + bytes(16))
            self._receive()
        except OSError:
            self.connection.close()
            raise

    def __enter__(self) -> ZooKeeper:
        return self

    def __exit__(self, *_: object) -> None:
        self._send(struct.pack(">ii", self.requests + 1, -11))
        self.connection.close()

    def _send(self, data: bytes) -> None:
        self.connection.sendall(struct.pack(">i", len(data)) + data)

    def _receive(self) -> Reader:
        (size,) = struct.unpack(">i", _exactly(self.connection, 4))
        return Reader(_exactly(self.connection, size))

    def _ask(self, kind: int, path: str) -> Reader | None:
        self.requests += 1
        self._send(struct.pack(">iii", self.requests, kind, len(path)) + path.encode() + b"\0")
        reader = self._receive()
        reader.take(12)
        return reader if reader.number("i") == 0 else None

    def children(self, path: str) -> list[str]:
        """Return the names of the children of a znode; none if it does not exist."""
        reader = self._ask(self.GET_CHILDREN, path)
        return [] if reader is None else [reader.take(reader.number("i")).decode() for _ in range(reader.number("i"))]

    def data(self, path: str) -> tuple[Any, int] | None:
        """Return the JSON content of a znode and its version; None if it does not exist."""
        reader = self._ask(self.GET_DATA, path)
        if reader is None:
            return None
        content = reader.take(reader.number("i"))
        reader.take(32)
        return json.loads(content), reader.number("i")

    def brokers(self) -> list[int]:
        """Return the registered brokers."""
        return sorted(int(name) for name in self.children("/brokers/ids"))

    def controller(self) -> int:
        """Return the controller; -1 if there is none."""
        found = self.data("/controller")
        return -1 if found is None else int(found[0]["brokerid"])

    def partition_states(self, topics: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the content of the state znode of each partition, with its version as `zversion`."""
        found = {}
        for topic in sorted(topics):
            for number in self.children(f"/brokers/topics/{topic}/partitions"):
                state = self.data(f"/brokers/topics/{topic}/partitions/{number}/state")
                if state is not None:
                    found[f"{topic}-{number}"] = {**state[0], "zversion": state[1]}
        return found
