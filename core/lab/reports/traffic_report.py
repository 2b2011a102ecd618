"""The traffic of a cluster at one moment: the messages that are under way between nodes, the fetches between brokers, and the batches that
no broker has answered.

`Cluster.traffic_report` makes the report, which reads the nodes and changes nothing. The time to make it grows with the number of scheduled
messages and of pairs of brokers, not with the number of partitions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import attrs

from core.kafka.clients.producer.producer import Producer
from core.kafka.ids import broker_at
from core.sim.kernel_messages import inner
from core.sim.long_polling import Stage

if TYPE_CHECKING:
    from core.lab.cluster_nodes import ClusterNodes
    from core.sim.network import Direction

NONE: Final = -1
"""The value of a time that does not exist."""

FETCH, FETCH_ANSWER = "Fetch", "Fetch answer"


@attrs.frozen
class LinkTraffic:
    """The messages from one node to another that have left their sender but have not been handled.

    Attributes:
        src, dst: the addresses of the sender and the receiver.
        moving: the messages on their way, as (name, number) in the order of their names.
        stuck: the messages that wait because the link is cut or held, or because the receiver is paused, as (name, number).
    """

    src: str
    dst: str
    moving: tuple[tuple[str, int], ...] = ()
    stuck: tuple[tuple[str, int], ...] = ()

    @property
    def moving_count(self) -> int:
        """The number of messages on their way."""
        return sum(count for _, count in self.moving)

    @property
    def stuck_count(self) -> int:
        """The number of messages that cannot proceed."""
        return sum(count for _, count in self.stuck)


@attrs.frozen
class ReplicaFetch:
    """The fetches of one broker from another.

    Attributes:
        follower, leader: the IDs of the two brokers.
        partitions: the number of partitions that the follower fetches from the leader.
        waits_us: the time since the oldest unanswered request was sent, in µs; -1 if no request is unanswered.
    """

    follower: int
    leader: int
    partitions: int
    waits_us: int


@attrs.frozen
class UnansweredBatches:
    """The batches that a producer has sent to one broker and that have not been answered.

    Attributes:
        producer: the name of the producer.
        broker: the ID of the broker.
        batches: the number of batches.
        oldest_us: the time since the oldest batch was created, in µs.
    """

    producer: str
    broker: int
    batches: int
    oldest_us: int


@attrs.frozen
class TrafficReport:
    """The traffic of a cluster.

    Attributes:
        now: the virtual time, in µs.
        links: the directions between two nodes in which messages are under way, sorted by sender and receiver.
        fetches: the fetches between brokers, sorted by follower and leader.
        unanswered: the unanswered batches by producer and broker, in the order of the producers.
        paused: the addresses of the paused nodes, sorted.
    """

    now: int
    links: tuple[LinkTraffic, ...] = ()
    fetches: tuple[ReplicaFetch, ...] = ()
    unanswered: tuple[UnansweredBatches, ...] = ()
    paused: tuple[str, ...] = ()


def message_name(kind: str) -> str:
    """Return the name of a message by its class, for example `Produce` for a `ProduceRequest` and `Produce answer` for its response."""
    if kind.startswith("Consumer") and kind.endswith(("FetchRequest", "FetchResponse")):
        kind = kind.removeprefix("Consumer")  # the request of a consumer and that of a follower have the same name in Kafka
    if kind.endswith("Response"):
        return kind.removesuffix("Response") + " answer"
    return {"Disconnected": "end of the connection", "Opening": "new connection", "Opened": "new connection answer"}.get(
        kind, kind.removesuffix("Request")
    )


def _name(message: object) -> str:
    return message_name(type(inner(message)).__name__)


def traffic_report(cluster: ClusterNodes) -> TrafficReport:
    """Return the traffic of the cluster at this moment."""
    moving: dict[Direction, Counter[str]] = {}
    stuck: dict[Direction, Counter[str]] = {}
    for entry in cluster.agenda.entries:
        if entry.sender != entry.node:
            moving.setdefault((entry.sender, entry.node), Counter())[_name(entry.message)] += 1
    for node, (_, entries) in cluster.paused.items():
        for entry in entries:
            if entry.sender != node:
                stuck.setdefault((entry.sender, node), Counter())[_name(entry.message)] += 1
    for direction, link in cluster.network.links.items():
        for _, message, _ in link.waiting:
            stuck.setdefault(direction, Counter())[_name(message)] += 1
    fetches = tuple(_fetches(cluster, moving))
    return TrafficReport(
        now=cluster.now,
        links=tuple(
            LinkTraffic(*direction, _counts(moving.get(direction)), _counts(stuck.get(direction)))
            for direction in sorted(moving.keys() | stuck.keys())
        ),
        fetches=fetches,
        unanswered=tuple(_unanswered(cluster)),
        paused=tuple(sorted(cluster.paused)),
    )


def _counts(found: Counter[str] | None) -> tuple[tuple[str, int], ...]:
    return () if found is None else tuple(sorted(found.items()))


def _fetches(cluster: ClusterNodes, moving: dict[Direction, Counter[str]]) -> Iterator[ReplicaFetch]:
    """Yield the fetches between brokers. The one message of an elided long poll is added to `moving` while it is on its way."""
    for follower, broker in sorted(cluster.brokers.items()):
        fetchers = broker.fetcher_manager.fetchers
        for leader in sorted({leader for leader, _ in fetchers}):
            partitions, waits = 0, NONE
            for fetcher in (each for (led_by, _), each in fetchers.items() if led_by == leader):
                partitions += len(fetcher.states)
                stage, _ = fetcher.poll.stage()
                if stage is Stage.REQUEST:
                    moving.setdefault((broker.address, fetcher.address), Counter())[FETCH] += 1
                elif stage is Stage.ANSWER:
                    moving.setdefault((fetcher.address, broker.address), Counter())[FETCH_ANSWER] += 1
                sent = fetcher.poll.sent_at() if stage is not None else fetcher.sent_at if fetcher.in_flight else NONE
                waits = max(waits, cluster.now - sent if sent >= 0 else NONE)
            yield ReplicaFetch(follower, leader, partitions, waits)


def _unanswered(cluster: ClusterNodes) -> Iterator[UnansweredBatches]:
    for client in cluster.clients.values():
        if not isinstance(client, Producer):
            continue
        oldest: dict[int, list[int]] = {}
        for batch in client.sender.in_flight.batches.values():
            broker = broker_at(batch.sent_to)
            if broker is not None:
                oldest.setdefault(broker, []).append(batch.created)
        for broker, created in sorted(oldest.items()):
            yield UnansweredBatches(client.name, broker, len(created), cluster.now - min(created))
