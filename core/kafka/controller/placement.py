"""Replica placement for new partitions: KRaft's `StripedReplicaPlacer`, and the older algorithm in `AdminUtils`.

Both algorithms spread leaders and replicas evenly over brokers and racks, and draw their starting points from the given random source.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Protocol, TypeVar

import attrs

from core.kafka.errors import INVALID_PARTITIONS, INVALID_REPLICATION_FACTOR, UNKNOWN_SERVER_ERROR, KafkaError
from core.sim.repr_mixin import ReprMixin

T = TypeVar("T")

Assignment = tuple[int, ...]
"""The replicas of one partition in order, with the preferred leader first."""


class RandomSource(Protocol):
    """The methods of `random.Random` that placement uses."""

    def randrange(self, stop: int, /) -> int:
        """Return a number from 0 to `stop` - 1."""
        ...

    def shuffle(self, x: list[T], /) -> None:
        """Shuffle a list in place."""
        ...


@attrs.frozen(repr=False)
class UsableBroker(ReprMixin):
    """A broker that can be assigned replicas, because it is registered and not in controlled shutdown (Kafka: `UsableBroker`).

    Attributes:
        broker: the broker's ID.
        rack: the broker's `broker.rack`; None if it has none.
        fenced: whether the broker is fenced. A fenced broker never becomes leader. A fenced broker becomes a follower only if its rack has
            no unfenced broker left.
    """

    broker: int
    rack: str | None = None
    fenced: bool = False


@attrs.define(repr=False)
class BrokerList(ReprMixin):
    """A circular list of brokers (Kafka: `BrokerList`).

    Each placement epoch is one pass through the broker list, and starts one broker later than the previous epoch.
    """

    brokers: list[int] = attrs.field(factory=list)
    _index: int = attrs.field(default=0, init=False)
    _offset: int = attrs.field(default=0, init=False)
    _epoch: int = attrs.field(default=0, init=False)

    def initialize(self, random: RandomSource) -> None:
        """Sort the brokers, and choose a random starting position."""
        if self.brokers:
            self.brokers.sort()
            self._offset = random.randrange(len(self.brokers))

    def next(self, epoch: int) -> int | None:
        """Return the next broker in a placement epoch; None if all brokers have already been returned in this epoch."""
        size = len(self.brokers)
        if not size:
            return None
        if self._epoch != epoch:
            self._epoch, self._index, self._offset = epoch, 0, (self._offset + 1) % size
        if self._index >= size:
            return None
        broker = self.brokers[(self._index + self._offset) % size]
        self._index += 1
        return broker


@attrs.define(repr=False)
class _Rack(ReprMixin):
    fenced: BrokerList = attrs.field(factory=BrokerList)
    unfenced: BrokerList = attrs.field(factory=BrokerList)

    def next(self, epoch: int) -> int | None:
        broker = self.unfenced.next(epoch)
        return self.fenced.next(epoch) if broker is None else broker


class RackList:
    """The racks of a cluster. For each partition, placement starts at the next rack (Kafka: `StripedReplicaPlacer.RackList`)."""

    __slots__ = ("_epoch", "_offset", "_racks", "_random", "rack_names", "total_brokers", "unfenced_brokers")

    rack_names: Final[list[str | None]]

    def __init__(self, random: RandomSource, brokers: Iterable[UsableBroker]) -> None:
        self._random = random
        racks: dict[str | None, _Rack] = {}
        for broker in brokers:
            rack = racks.setdefault(broker.rack, _Rack())
            (rack.fenced if broker.fenced else rack.unfenced).brokers.append(broker.broker)
        self.rack_names = sorted(racks, key=lambda name: (name is not None, name or ""))
        self._racks: Final = {name: racks[name] for name in self.rack_names}
        self.unfenced_brokers: Final = sum(len(rack.unfenced.brokers) for rack in racks.values())
        self.total_brokers: Final = self.unfenced_brokers + sum(len(rack.fenced.brokers) for rack in racks.values())
        for rack in self._racks.values():
            rack.fenced.initialize(random)
            rack.unfenced.initialize(random)
        self._epoch = 0
        self._offset = random.randrange(len(self.rack_names)) if self.rack_names else 0

    def place(self, replication_factor: int) -> Assignment:
        """Return the replicas of the next partition.

        Raises:
            KafkaError: INVALID_REPLICATION_FACTOR, if the factor is not positive or exceeds the number of brokers, or if all brokers are
                fenced.
        """
        _require_positive(replication_factor)
        _require_enough(replication_factor, self.total_brokers)
        _require_unfenced(self.unfenced_brokers)
        if self._epoch == self.unfenced_brokers > 1:
            self._shuffle()
            self._epoch = 0
        racks = len(self.rack_names)
        if self._offset == racks:
            self._offset = 0
        leader_rack, leader = self._offset, self._rack(self._offset).unfenced.next(self._epoch)
        while leader is None:
            leader_rack = (leader_rack + 1) % racks
            leader = self._rack(leader_rack).unfenced.next(self._epoch)
        replicas = [leader]
        at, skip = self._offset, leader_rack
        while len(replicas) < replication_factor:
            # In the first lap, the leader's rack has already placed the leader.
            if at == skip:
                skip = -1
            else:
                follower = self._rack(at).next(self._epoch)
                if follower is not None:
                    replicas.append(follower)
            at = (at + 1) % racks
        self._epoch += 1
        self._offset += 1
        return tuple(replicas)

    def _rack(self, index: int) -> _Rack:
        return self._racks[self.rack_names[index]]

    def _shuffle(self) -> None:
        self._random.shuffle(self.rack_names)
        for rack in self._racks.values():
            self._random.shuffle(rack.fenced.brokers)
            self._random.shuffle(rack.unfenced.brokers)


class StripedReplicaPlacer:
    """KRaft's placement in stripes over racks and brokers, with no leader on a fenced broker (Kafka: `StripedReplicaPlacer`)."""

    __slots__ = ("_random",)

    _random: Final[RandomSource]

    def __init__(self, random: RandomSource) -> None:
        self._random = random

    def place(self, partitions: int, replication_factor: int, brokers: Iterable[UsableBroker]) -> tuple[Assignment, ...]:
        """Return the replicas for each of `partitions` new partitions of a topic.

        Raises:
            KafkaError: INVALID_REPLICATION_FACTOR, if the factor is not positive or exceeds the number of brokers, or if all brokers are
                fenced.
        """
        racks = RackList(self._random, brokers)
        _require_positive(replication_factor)
        _require_unfenced(racks.unfenced_brokers)
        _require_enough(replication_factor, racks.total_brokers)
        return tuple(racks.place(replication_factor) for _ in range(partitions))


def assign_replicas_to_brokers(
    brokers: Sequence[UsableBroker],
    partitions: int,
    replication_factor: int,
    random: RandomSource,
    *,
    fixed_start_index: int = -1,
    start_partition: int = 0,
) -> tuple[Assignment, ...]:
    """Place replicas as in ZooKeeper clusters, rack-aware if brokers have racks (Kafka: `AdminUtils#assignReplicasToBrokers`).

    Args:
        brokers: the live brokers.
        partitions: the number of new partitions.
        replication_factor: the number of replicas of each partition.
        random: the source of random numbers that determines the first broker and the first shift of the followers. The random source is not
            used if `fixed_start_index` determines the start.
        fixed_start_index: the position of the first leader in the broker list, which is also the first shift. If `fixed_start_index` is
            negative, the position of the first leader and the first shift are drawn at random.
        start_partition: the number of the first new partition if the topic already has partitions.

    Raises:
        KafkaError: INVALID_PARTITIONS or INVALID_REPLICATION_FACTOR. The error is UNKNOWN_SERVER_ERROR
            (an `AdminOperationException`) if some brokers have a rack and others have none.
    """
    if partitions <= 0:
        raise KafkaError(INVALID_PARTITIONS, "Number of partitions must be larger than 0.")
    if replication_factor <= 0:
        raise KafkaError(INVALID_REPLICATION_FACTOR, "Replication factor must be larger than 0.")
    if replication_factor > len(brokers):
        raise KafkaError(
            INVALID_REPLICATION_FACTOR,
            f"Replication factor: {replication_factor} larger than available brokers: {len(brokers)}.",
        )
    rack_of = {broker.broker: broker.rack for broker in sorted(brokers, key=lambda each: each.broker)}
    racks = {rack for rack in rack_of.values() if rack is not None}
    if racks and None in rack_of.values():
        raise KafkaError(UNKNOWN_SERVER_ERROR, "Not all brokers have rack information for replica rack aware assignment.")
    ring = rack_alternated_brokers(rack_of) if racks else tuple(rack_of)
    start = fixed_start_index if fixed_start_index >= 0 else random.randrange(len(ring))
    shift = fixed_start_index if fixed_start_index >= 0 else random.randrange(len(ring))
    assignments = []
    for partition in range(max(0, start_partition), max(0, start_partition) + partitions):
        if partition > 0 and partition % len(ring) == 0:
            shift += 1
        first = (partition + start) % len(ring)
        if racks:
            assignments.append(_rack_aware(ring, rack_of, len(racks), first, shift, replication_factor))
        else:
            followers = (ring[replica_index(first, shift, follower, len(ring))] for follower in range(replication_factor - 1))
            assignments.append((ring[first], *followers))
    return tuple(assignments)


def rack_alternated_brokers(rack_of: dict[int, str | None]) -> tuple[int, ...]:
    """Return the brokers in an order that alternates between racks (Kafka: `#getRackAlternatedBrokerList`).

    Racks, and brokers in a rack, are in ascending order.
    """
    by_rack: dict[str | None, list[int]] = {}
    for broker in sorted(rack_of):
        by_rack.setdefault(rack_of[broker], []).append(broker)
    lists = [by_rack[rack] for rack in sorted(by_rack, key=lambda name: (name is not None, name or ""))]
    longest = max(map(len, lists), default=0)
    return tuple(brokers[turn] for turn in range(longest) for brokers in lists if turn < len(brokers))


def replica_index(first: int, shift: int, follower: int, brokers: int) -> int:
    """Return the position of a partition's `follower`-th follower in the broker list (Kafka: `AdminUtils#replicaIndex`)."""
    return (first + 1 + (shift + follower) % (brokers - 1)) % brokers


def _rack_aware(
    ring: tuple[int, ...], rack_of: dict[int, str | None], racks: int, first: int, shift: int, replication_factor: int
) -> Assignment:
    replicas = [ring[first]]
    used_racks = {rack_of[ring[first]]}
    turn = 0
    while len(replicas) < replication_factor:
        broker = ring[replica_index(first, shift * racks, turn, len(ring))]
        turn += 1
        if broker not in replicas and (rack_of[broker] not in used_racks or len(used_racks) == racks):
            replicas.append(broker)
            used_racks.add(rack_of[broker])
    return tuple(replicas)


def _require_positive(replication_factor: int) -> None:
    if replication_factor <= 0:
        message = f"Invalid replication factor {replication_factor}: the replication factor must be positive."
        raise KafkaError(INVALID_REPLICATION_FACTOR, message)


def _require_unfenced(unfenced: int) -> None:
    if not unfenced:
        raise KafkaError(INVALID_REPLICATION_FACTOR, "All brokers are currently fenced.")


def _require_enough(replication_factor: int, brokers: int) -> None:
    if replication_factor > brokers:
        message = (
            f"The target replication factor of {replication_factor} cannot be reached because only {brokers} broker(s) are registered."
        )
        raise KafkaError(INVALID_REPLICATION_FACTOR, message)
