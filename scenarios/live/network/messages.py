"""Encodes requests and decodes answers.

The fields of every version of every message come from kafka-python, which takes them from Kafka's own definitions. Of that library, only
the messages and the SCRAM client are used: its connections retry, reconnect, and send requests of their own, so that neither their number
nor their kind could be limited. confluent-kafka does not know the ELR, log directories, and the quorum, and is a binary for each platform.
"""

from __future__ import annotations

import functools
import logging
import warnings
from collections.abc import Mapping
from typing import Any, Final

import attrs

from scenarios.live.network.errors import BrokerError, LiveError
from scenarios.live.network.reading_apis import Api

CLIENT_ID: Final = "isrlab"
"""The client.id in every request, by which the cluster's operators recognize them."""

NEEDED: Final = (
    "to read a cluster over the network, install the package kafka-python: pip install 'isrlab[live]', or, with make, 'make live'"
)

MOST_VERSIONS: Final = {Api.OFFSET_FETCH: 9, Api.METADATA: 12}
"""The newest version that is used of an API, if it is not the newest that the library has: OffsetFetch 10 has no names of topics."""


@attrs.frozen
class _Message:
    request: Any
    response: Any
    least: int
    most: int


@functools.cache
def _messages() -> dict[Api, _Message]:
    """Return the classes of the library by API.

    Raises:
        LiveError: the library is not installed.
    """
    try:
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # how the library reads its files
            from kafka.protocol import admin, consumer, metadata, sasl
            from kafka.protocol.api_message import ApiMessage
    except ImportError:
        raise LiveError(NEEDED) from None
    from scenarios.live.network import schemas

    log = logging.getLogger("kafka")
    log.addHandler(logging.NullHandler())
    log.propagate = False  # so that nothing of an exchange is ever printed

    class ConsumerGroupDescribeRequest(ApiMessage, load_json=schemas):  # type: ignore[misc,call-arg]
        pass

    class ConsumerGroupDescribeResponse(ApiMessage, load_json=schemas):  # type: ignore[misc,call-arg]
        pass

    own = {"ConsumerGroupDescribeRequest": ConsumerGroupDescribeRequest, "ConsumerGroupDescribeResponse": ConsumerGroupDescribeResponse}
    names: dict[str, Any] = {**vars(admin), **vars(consumer), **vars(metadata), **vars(sasl), **own}
    found = {}
    for api in Api:
        request, response = names[f"{api.title}Request"], names[f"{api.title}Response"]
        least, most = request.valid_versions
        found[api] = _Message(request, response, least, min(most, MOST_VERSIONS.get(api, most)))
    return found


def versions_of(api: Api) -> tuple[int, int]:
    """Return the oldest and the newest version of an API that can be encoded."""
    message = _messages()[api]
    return message.least, message.most


def encode(api: Api, version: int, correlation_id: int, fields: Mapping[str, Any]) -> bytes:
    """Return a request as bytes, with its length and header. Nested messages are mappings."""
    request = _filled(_messages()[api].request, version, fields)
    request.with_header(correlation_id=correlation_id, client_id=CLIENT_ID)
    return bytes(request.encode(framed=True, header=True))


def _filled(kind: Any, version: int, fields: Mapping[str, Any]) -> Any:
    values = {}
    for name, value in fields.items():
        field = kind.fields[name]
        if not field.for_version_q(version):
            continue
        if isinstance(value, Mapping):
            value = _filled(field.data_class, version, value)
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            value = [_filled(field.data_class, version, each) for each in value]
        values[name] = value
    return kind(version=version, **values)


def decode(api: Api, version: int, payload: bytes) -> Any:
    """Return the answer in some bytes, without their length. Its fields are attributes.

    Raises:
        BrokerError: the bytes are not an answer to such a request.
    """
    try:
        return _messages()[api].response.decode(payload, version=version, header=True)
    except Exception as wrong:  # The library raises whatever its decoder stumbles over.
        raise BrokerError(f"the answer to {api.title} is damaged ({type(wrong).__name__})") from None


def assigned_partitions(assignment: bytes) -> list[tuple[str, int]]:
    """Return the partitions in the assignment of a classic group's member (`ConsumerProtocolAssignment`); none if it cannot be read."""
    from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

    try:
        decoded = ConsumerProtocolAssignment.decode(bytes(assignment))
        return [(str(topic.topic), int(number)) for topic in decoded.assigned_partitions for number in topic.partitions]
    except Exception:  # Other kinds of members store something else in these bytes.
        return []


def scram_client(mechanism: str, user: str, password: str) -> Any:
    """Return the client of a SCRAM exchange (RFC 5802). In user names, the comma and the equals sign are escaped."""
    _messages()
    from kafka.net.sasl.scram import ScramClient

    return ScramClient(user.replace("=", "=3D").replace(",", "=2C"), password, mechanism)


def error_name(code: int) -> str:
    """Return Kafka's name of an error code (`Errors`), such as TOPIC_AUTHORIZATION_FAILED."""
    from kafka.errors import kafka_errors

    kind = kafka_errors.get(code)
    return str(kind.message) if kind is not None else f"error {code}"
