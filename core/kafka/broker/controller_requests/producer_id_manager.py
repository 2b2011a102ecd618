"""A broker's supply of producer IDs, which the controller allocates in blocks (Kafka: `RPCProducerIdManager`,
`ProducerIdControlManager`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from core.kafka import events
from core.kafka.broker.context import BrokerContext
from core.kafka.messages import AllocateProducerIdsResponse, InitProducerIdRequest, InitProducerIdResponse
from core.sim.units import SECOND, US_PER_MS

RETRY: Final = SECOND
"""The delay before the broker repeats a request for a block of producer IDs that got no response, in µs."""

BACKOFF: Final = 50 * US_PER_MS
"""The delay before the broker requests a block again if the response contains no valid block, in µs
(`RPCProducerIdManager.RETRY_BACKOFF_MS`).
"""

PREFETCH_PERCENT: Final = 90
"""The percentage of a block that the broker uses before it requests the next block (`RPCProducerIdManager.PID_PREFETCH_THRESHOLD`)."""

MAX_PRODUCER_ID: Final = 2**63 - 1
"""The largest possible producer ID."""


class ProducerIdManager:
    """The producer IDs that one broker can assign.

    Attributes:
        next_id: the next producer ID to assign.
        end: the end of the current block of producer IDs.
        request_block: asks the controller, or ZooKeeper, for a block of producer IDs.
        following: the (start, end) pair of the next block, if the broker already has this block.
    """

    __slots__ = ("_not_before", "_prefetch_at", "_waiting", "broker", "end", "following", "next_id", "request_block")

    broker: Final[BrokerContext]
    request_block: Final[Callable[[], None]]
    _waiting: Final[list[tuple[str, InitProducerIdRequest]]]

    def __init__(self, broker: BrokerContext, request_block: Callable[[], None]) -> None:
        self.broker = broker
        self.request_block = request_block
        self.next_id = 0
        self.end = 0
        self.following: tuple[int, int] | None = None
        self._prefetch_at = 0
        self._not_before = 0
        self._waiting = []
        broker.node.handlers[InitProducerIdRequest] = self._init_producer_id
        broker.node.handlers[AllocateProducerIdsResponse] = self._handle_block
        broker.node.timers.update({"producer-ids": self._request_block})

    def reset(self) -> None:
        """Forget the blocks, because the process has ended. The remaining producer IDs in the broker's blocks are never assigned."""
        self.next_id = self.end = self._prefetch_at = self._not_before = 0
        self.following = None
        self._waiting.clear()

    def _init_producer_id(self, request: InitProducerIdRequest, sender: str) -> None:
        """Assign a new ID, in epoch 0, to a producer without transactions (`TransactionCoordinator#handleInitProducerId`)."""
        self._waiting.append((sender, request))
        if self.next_id < self.end:
            self._assign_ids()
        elif len(self._waiting) == 1:
            self._request_block(None)

    def generate_producer_id(self) -> int:
        """Return a new ID; -1 if no ID is left (`ProducerIdManager#generateProducerId`).

        If most of the current block is used, request the next block, at most once per `RETRY` µs.
        """
        taken = self._take() if self.next_id < self.end else -1
        now = self.broker.journal.now
        if self.following is None and self.next_id >= self._prefetch_at and now >= self._not_before:
            self._not_before = now + RETRY
            self.request_block()
        return taken

    def _take(self) -> int:
        """Take the next ID. After the last ID of the current block, switch to the next block."""
        taken = self.next_id
        self.next_id += 1
        if self.next_id == self.end and self.following is not None:
            self._use(*self.following)
            self.following = None
        return taken

    def _use(self, start: int, end: int) -> None:
        self.next_id, self.end = start, end
        self._prefetch_at = start + (end - start) * PREFETCH_PERCENT // 100

    def _request_block(self, _: object) -> None:
        if self._waiting:
            self.request_block()
            if not self.broker.by_hand:
                self.broker.node.timer(RETRY, "producer-ids")

    def _handle_block(self, response: AllocateProducerIdsResponse, _: str) -> None:
        """Adopt a block if it is valid (`RPCProducerIdManager#handleAllocateProducerIdsResponse`)."""
        start, end = response.start, response.start + response.size
        if not 0 <= start < end <= MAX_PRODUCER_ID:
            self._not_before = self.broker.journal.now + BACKOFF
            return
        self._not_before = 0
        if self.next_id == self.end:
            self._use(start, end)
        elif self.following is None:
            self.following = (start, end)
        self._assign_ids()

    def _assign_ids(self) -> None:
        broker = self.broker
        while self._waiting and self.next_id < self.end:
            sender, request = self._waiting.pop(0)
            producer_id = self._take()
            broker.journal.emit(events.ProducerIdGiven.kind, broker.id, request.producer, producer_id)
            broker.node.reply(sender, InitProducerIdResponse(request.correlation, producer_id))
        if self._waiting:
            self._request_block(None)
