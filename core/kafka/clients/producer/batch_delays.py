"""Why a producer's batches take long: the events that delayed their attempts or made them fail."""

from __future__ import annotations

from typing import Final

from core.kafka.clients.accumulator.producer_batch import ProducerBatch
from core.kafka.clients.client import Client
from core.kafka.clients.producer.in_flight_batches import InFlightBatches
from core.kafka.health import STALL_BOUND
from core.kafka.ids import NO_LEADER, TopicPartition, broker_address, is_broker
from core.sim.disturbances import Hindrance


class BatchDelays:
    """The reasons why the batches of one producer take long.

    Attributes:
        client: the producer as a client, which knows the leaders.
        in_flight: the batches that are waiting for a response.
    """

    __slots__ = ("_last_failures", "client", "in_flight")

    client: Final[Client]
    in_flight: Final[InFlightBatches]
    _last_failures: Final[dict[TopicPartition, tuple[int, int]]]

    def __init__(self, client: Client, in_flight: InFlightBatches) -> None:
        self.client = client
        self.in_flight = in_flight
        self._last_failures = {}

    def why_waiting(self, incomplete: list[ProducerBatch], since: int) -> tuple[int, ...]:
        """Return the events because of which the application has waited to send records since a virtual time. `incomplete` are the batches
        that are neither acknowledged nor abandoned."""
        if incomplete:
            return self.why_overdue(incomplete[0], incomplete)
        client = self.client
        return client.network.disturbances.anywhere(since, client.journal.now, (client.address,), is_broker) or client.why_slow(since)

    def why_overdue(self, batch: ProducerBatch, incomplete: list[ProducerBatch]) -> tuple[int, ...]:
        """Return the events because of which a batch has had no response: what made its attempts fail or take long, what keeps its leader
        silent, and what its leader waits for.

        What happened first comes first: without it, the first attempt would have succeeded, and nothing later would have mattered. A batch
        that was never sent waits for the first batch of its partition among the `incomplete` ones. What delayed that one most comes first,
        because the beginning of its delays can be over.
        """
        queued = not batch.attempt
        if queued:
            batch = min((each for each in incomplete if each.tp == batch.tp), key=lambda each: each.id, default=batch)
        delays: dict[int, int] = {}
        waits = batch.correlation in self.in_flight.batches
        if queued_by := self._queued_by(batch):
            delays[queued_by] = batch.sent_at - batch.created
        for event, weight in batch.delays.items():
            delays[event] = delays.get(event, 0) + weight
        if waits or not batch.attempt or (not delays and batch.cause == batch.created_by):
            for weight, _, event in self._hindrances(batch, batch.sent_at if waits else batch.created):
                delays[event] = delays.get(event, 0) + weight
        if queued:
            return tuple(sorted(delays, key=lambda event: (-delays[event], event))) or (batch.cause,)
        return tuple(delays) or (batch.cause,)

    def attempt_failed(self, batch: ProducerBatch, reason: int, backoff: int) -> None:
        """Record how long an attempt took that failed for a reason. If something explains at least a third of that time, it is what delayed
        the batch. `reason` is the event that made the attempt fail, and `backoff` the delay before the next attempt, in µs.
        """
        now = self.client.journal.now
        if queued_by := self._queued_by(batch):
            batch.delays[queued_by] = batch.sent_at - batch.created
        took = now - batch.sent_at
        found = self._hindrances(batch, batch.sent_at) if took > STALL_BOUND // 10 else []
        if found and 3 * found[0][0] >= took:
            reason = found[0][-1]
        reason = reason or batch.cause
        batch.delays[reason] = batch.delays.get(reason, 0) + took + backoff
        self._last_failures[batch.tp] = (now, max(batch.delays, key=lambda event: (batch.delays[event], -event)))

    def _queued_by(self, batch: ProducerBatch) -> int:
        """Return the event that delayed the batches before a batch that is in its first attempt; 0 if it did not have to wait for them."""
        failed_at, reason = self._last_failures.get(batch.tp, (-1, 0))
        return reason if batch.attempt == 1 and batch.created <= failed_at < batch.sent_at else 0

    def _hindrances(self, batch: ProducerBatch, since: int) -> list[Hindrance]:
        """Return what, since a virtual time, kept the broker to which a batch was sent, or the leader of its partition, from responding. If
        nothing did, the broker waited for others, such as a coordinator. In by-hand mode, a leader waits because no follower was told to
        fetch.
        """
        client = self.client
        leader = client.current_leader(batch.tp)
        node = batch.sent_to or (broker_address(leader) if leader != NO_LEADER else client.address)
        behind = () if client.by_hand else tuple(map(broker_address, client.account.holding_back(batch.tp)))
        replicas = () if client.by_hand else tuple(map(broker_address, client.account.replicas_of(batch.tp)))
        now, disturbances = client.journal.now, client.network.disturbances
        found = disturbances.around(node, (client.address, *behind), replicas, since, now)
        return found if found or client.by_hand else disturbances.everywhere(since, now)
