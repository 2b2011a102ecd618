"""A client that sends the handwritten requests: one request, one response."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from core.kafka.group_coordinator.group_requests import OffsetCommitResponse, OffsetFetchResponse
from core.kafka.ids import broker_address
from core.kafka.messages import InitProducerIdResponse, ProduceResponse
from core.kafka.transaction.transaction_messages import (
    AddPartitionsToTxnResponse,
    EndTxnResponse,
    InitTransactionalIdResponse,
    WriteTxnMarkersResponse,
)
from core.sim.kernel_messages import Disconnected
from core.sim.node import Node

NAME: Final = "raw"
"""The address of the client."""

RESPONSES: Final = (
    InitProducerIdResponse,
    InitTransactionalIdResponse,
    AddPartitionsToTxnResponse,
    EndTxnResponse,
    ProduceResponse,
    WriteTxnMarkersResponse,
    OffsetCommitResponse,
    OffsetFetchResponse,
)
"""The responses that the client understands."""


class RawClient(Node):
    """The client. `answers` holds the responses that have arrived and have not been taken yet."""

    __slots__ = ("answers", "number")

    def __init__(self, network: Any, journal: Any) -> None:
        super().__init__(NAME, network, journal)
        self.answers: list[Any] = []
        self.number = 0
        self.handlers.update(dict.fromkeys(RESPONSES, self._answered))
        self.handlers[Disconnected] = self._disconnected

    def _answered(self, message: Any, _: str) -> None:
        self.answers.append(message)

    def _disconnected(self, message: Any, _: str) -> None:
        """Handle a closed connection: the response will not arrive."""

    def next_number(self) -> int:
        """Return the correlation ID of the next request."""
        self.number += 1
        return self.number

    def ask(self, broker: int, request: Any) -> None:
        """Send a request."""
        self.answers.clear()
        self.send(broker_address(broker), request)


def answer_of(message: Any, name: str) -> list[Any]:
    """Return a response in the form of the recordings. `name` is the recorded partition."""
    return list(_answer(message, name))


def _answer(message: Any, name: str) -> Iterator[Any]:
    match message:
        case InitProducerIdResponse():
            yield from ("NONE", message.producer_id, 0)
        case InitTransactionalIdResponse():
            yield from (message.error, message.producer_id, message.producer_epoch)
        case EndTxnResponse():
            yield from (message.error, message.producer_id, message.producer_epoch)
        case ProduceResponse():
            yield from (message.error, message.base)
        case AddPartitionsToTxnResponse():
            yield [name, message.results[0][1]]
        case WriteTxnMarkersResponse():
            yield [name, message.results[0][2]]
