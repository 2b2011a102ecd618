"""The producer ids of a broker, which come in blocks from the controller (Kafka: `RPCProducerIdManager`, `ProducerIdControlManager`)."""

from __future__ import annotations

from typing import Final

from core.kafka import events
from core.kafka.broker.context import BrokerContext
from core.kafka.messages import AllocateProducerIdsResponse, InitProducerIdRequest, InitProducerIdResponse
from core.sim.units import SECOND

RETRY: Final = SECOND
"""The delay before the broker resends a request for a block that got no response, µs."""


class ProducerIdManager:
    """One broker's producer ids: the next id, the end of its block, and the producers that wait for a block."""

    __slots__ = ("_waiting", "broker", "end", "next_id")

    broker: Final[BrokerContext]
    _waiting: Final[list[tuple[str, InitProducerIdRequest]]]

    def __init__(self, broker: BrokerContext) -> None:
        self.broker = broker
        self.next_id = 0
        self.end = 0
        self._waiting = []
        broker.handlers[InitProducerIdRequest] = self._init_producer_id
        broker.handlers[AllocateProducerIdsResponse] = self._handle_block
        broker.timers.update({"producer-ids": self._request_block})

    def reset(self) -> None:
        """Forget the block, because the process ended. The remaining ids of the block are never assigned."""
        self.next_id = self.end = 0
        self._waiting.clear()

    def _init_producer_id(self, request: InitProducerIdRequest, sender: str) -> None:
        """Assign a new id, in epoch 0, to a producer without transactions (`TransactionCoordinator#handleInitProducerId`)."""
        self._waiting.append((sender, request))
        if self.next_id < self.end:
            self._assign_ids()
        elif len(self._waiting) == 1:
            self._request_block(None)

    def generate_producer_id(self) -> int:
        """Return a new ID; if no ID is left, request a block and return -1 (`ProducerIdManager#generateProducerId`)."""
        if self.next_id < self.end:
            self.next_id += 1
            return self.next_id - 1
        self.broker.request_producer_ids()
        return -1

    def _request_block(self, _: object) -> None:
        if self._waiting:
            self.broker.request_producer_ids()
            if not self.broker.by_hand:
                self.broker.timer(RETRY, "producer-ids")

    def _handle_block(self, response: AllocateProducerIdsResponse, _: str) -> None:
        if self.next_id == self.end:
            self.next_id, self.end = response.start, response.start + response.size
        self._assign_ids()

    def _assign_ids(self) -> None:
        broker = self.broker
        while self._waiting and self.next_id < self.end:
            sender, request = self._waiting.pop(0)
            broker.journal.emit(events.ProducerIdGiven.kind, broker.id, request.producer, self.next_id)
            broker.reply(sender, InitProducerIdResponse(request.correlation, self.next_id))
            self.next_id += 1
        if self._waiting:
            self._request_block(None)
