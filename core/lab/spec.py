"""What a cluster is made of before it runs: brokers, topics with their placement, settings, the network.

A spec is data: the script loader and the describe importer produce it, the event log's header carries it, and
`core.lab.cluster.Cluster` builds from it. It is checked by `ClusterSpec.check`, which names what is wrong.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Container
from typing import Final

import attrs

from core.kafka.clients.client_config import client_setting_named
from core.kafka.features import check_feature
from core.kafka.ids import NO_LEADER, broker_at
from core.kafka.settings import Value
from core.sim.spelled_out import SpelledOut
from core.sim.units import SECOND, US_PER_MS

MAX_BROKER_ID: Final = 2**31 - 1
"""Largest broker id Kafka takes."""

MAX_BROKERS: Final = 1_000
"""Most brokers of one cluster: the largest that people run have some hundred."""

MAX_PARTITIONS: Final = 200_000
"""Most partitions of one cluster, of all topics together: what Kafka's people recommended as the most with ZooKeeper, and have measured."""

MAX_REPLICAS: Final = 1_000_000
"""Most replicas of one cluster: each of `MAX_PARTITIONS` five times."""

MAX_LOSS_PPM: Final = 990_000
"""Most of a link's messages that may be lost, parts per million: TCP repeats each until it arrives; what loses all is a cut link."""

MAX_OFFSET: Final = 10**12
"""Largest offset that a log starts with."""

MAX_LEADER_EPOCH: Final = 10**9
"""Largest leader epoch that a partition starts in."""

MAX_LOG_DIRS: Final = 100
"""Most log directories of a broker."""


class Pace(enum.StrEnum):
    """How a cluster moves."""

    TIMELINE = "timeline"
    """Virtual time runs; fetchers, heartbeats and checks go by themselves."""
    BY_HAND = "by-hand"
    """Each fetch, answer, fencing and check is a step; all other messages arrive at once; time moves only by `wait`."""


class ControlPlane(enum.StrEnum):
    """Which kind of controller a cluster has."""

    BY_RELEASE = "by-release"
    """As the release had it: a broker elected through ZooKeeper before 3.3, KRaft from then on."""
    KRAFT = "kraft"
    """The KRaft controller under the data plane of whatever release, for what needs a controller that is no broker."""


@attrs.frozen(repr=False)
class BrokerSpec(SpelledOut):
    """A broker: id, rack if known, whether its process runs at the start, its own settings, how many log directories it has."""

    id: int
    rack: str | None = None
    up: bool = True
    settings: tuple[tuple[str, Value], ...] = ()
    log_dirs: int = 1


@attrs.frozen(repr=False)
class LogSpec(SpelledOut):
    """What stands in a replica's log at the start.

    Attributes:
        broker: whose replica.
        leo, hw, log_start: its offsets.
        epochs: (leader epoch, start offset), ascending, as in `leader-epoch-checkpoint`; the last may start at the LEO, without a record.
    """

    broker: int
    leo: int
    hw: int
    log_start: int = 0
    epochs: tuple[tuple[int, int], ...] = ()

    def stretches(self) -> list[tuple[int, int, int]]:
        """(start, end, leader epoch) of the records, in offset order."""
        ends = [*(start for _, start in self.epochs), self.leo][1:]
        found = [(max(start, self.log_start), end, epoch) for (epoch, start), end in zip(self.epochs, ends, strict=True)]
        return [stretch for stretch in found if stretch[0] < stretch[1]]

    def check(self, name: str, leader_epoch: int) -> None:
        """Refuse what no log can be.

        Raises:
            ValueError: the message begins with the partition's name.
        """
        where = f"{name} on broker {self.broker}"
        if not 0 <= self.log_start <= self.hw <= self.leo <= MAX_OFFSET:
            raise ValueError(f"{where}: log start {self.log_start}, HW {self.hw} and LEO {self.leo} must not fall, from 0 to {MAX_OFFSET}")
        for (epoch, start), (next_epoch, next_start) in itertools.pairwise(self.epochs):
            if epoch >= next_epoch or start >= next_start:
                raise ValueError(f"{where}: leader epoch {next_epoch} from {next_start} after {epoch} from {start}; both must rise")
        if self.epochs and not (self.epochs[0][0] >= 0 and self.epochs[-1][0] <= leader_epoch):
            raise ValueError(f"{where}: its leader epochs must lie from 0 to {leader_epoch}, which the partition is in")
        if self.epochs and self.epochs[-1][1] > self.leo:
            raise ValueError(f"{where}: leader epoch {self.epochs[-1][0]} starts at {self.epochs[-1][1]}, past the LEO {self.leo}")
        if self.leo > self.log_start and not (self.epochs and self.epochs[0][1] <= self.log_start):
            raise ValueError(f"{where}: no leader epoch covers its records from {self.log_start} on")


@attrs.frozen(repr=False)
class PartitionSpec(SpelledOut):
    """A placed partition: assigned replicas in order (the first is preferred), and optionally what it starts with.

    `isr=None` means: all replicas whose brokers are up. `leader=None`: the first ISR member that is up. Replicas that are
    not in `logs` are empty.
    """

    replicas: tuple[int, ...]
    isr: tuple[int, ...] | None = None
    leader: int | None = None
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    leader_epoch: int = 0
    logs: tuple[LogSpec, ...] = ()

    def check_start(self, name: str) -> None:
        """Refuse a leader epoch and logs that cannot be.

        Raises:
            ValueError: the message begins with the partition's name.
        """
        if not 0 <= self.leader_epoch <= MAX_LEADER_EPOCH:
            raise ValueError(f"{name} is in leader epoch {self.leader_epoch}; use 0 to {MAX_LEADER_EPOCH}")
        _refuse_twice(f"log of {name} on broker", [log.broker for log in self.logs])
        for log in self.logs:
            if log.broker not in self.replicas:
                raise ValueError(f"{name} has a log on broker {log.broker}, which is not among its replicas")
            log.check(name, self.leader_epoch)
        written = {
            log.broker: max((end for _, end, epoch in log.stretches() if epoch == self.leader_epoch), default=-1) for log in self.logs
        }
        if self.leader in written and max(written.values()) > written[self.leader]:
            raise ValueError(
                f"{name}: a follower has more records of leader epoch {self.leader_epoch} than its leader, broker {self.leader}"
            )

    def check_registration(self, name: str, up: Container[int]) -> None:
        """Refuse a leader, ISR and ELR that no controller registers together.

        `check` leaves them alone, so that a log of a session that started from such a partition still opens and replays.

        Args:
            name: what messages call the partition.
            up: the brokers that run at the start.

        Raises:
            ValueError: the message begins with the partition's name.
        """
        isr = tuple(broker for broker in self.replicas if broker in up) if self.isr is None else self.isr
        if self.leader is not None and self.leader != NO_LEADER and self.leader not in isr:
            why = "is not in its ISR" if self.isr is not None else "is down and so is not in its ISR"
            raise ValueError(f"{name} is led by broker {self.leader}, which {why}; a leader is always in its own ISR")
        for word, brokers in (("ELR", self.elr), ("last known ELR", self.last_known_elr)):
            for broker in brokers:
                if broker not in self.replicas:
                    raise ValueError(f"{name} has broker {broker} in its {word} but not among its replicas")
        for broker in self.elr:
            if broker in isr:
                raise ValueError(f"{name} has broker {broker} in both its ISR and its ELR; the ELR lists replicas outside the ISR")


@attrs.frozen(repr=False)
class TopicSpec(SpelledOut):
    """A topic: either a number of partitions and a replication factor, placed by the controller, or an assignment."""

    name: str
    partitions: int = 1
    replication_factor: int = 3
    assignment: tuple[PartitionSpec, ...] = ()
    config: tuple[tuple[str, str], ...] = ()
    """Overrides as written, in order; names the laboratory does not model are kept for describe."""
    topic_id: str = ""

    @property
    def count(self) -> int:
        """How many partitions it has."""
        return len(self.assignment) or self.partitions

    @property
    def replicas(self) -> int:
        """How many replicas all its partitions have."""
        if self.assignment:
            return sum(len(partition.replicas) for partition in self.assignment)
        return self.partitions * self.replication_factor


@attrs.frozen(repr=False)
class NetworkSpec(SpelledOut):
    """Every link at the start.

    One-way latency and jitter are in µs, the others parts per million: of messages lost (and repeated by TCP), and of clients'
    requests that a proxy delivers twice or lets others overtake.
    """

    latency: int = 500
    jitter: int = 0
    loss_ppm: int = 0
    duplicate_ppm: int = 0
    reorder_ppm: int = 0


@attrs.frozen(repr=False)
class ClusterSpec(SpelledOut):
    """A whole cluster.

    Attributes:
        brokers, topics, network: the parts.
        settings: cluster-wide Kafka settings by name.
        pace: timeline or by hand.
        startup: µs from a broker's start to its registration.
        recovery: µs more when it finds no clean-shutdown file and must recover its logs.
        disk_speed: bytes per second that one thread reads from a disk: a recovery thread, or a move to another log directory.
        controllers: the voters of the metadata quorum: `c1` is a dedicated controller, `b1` one in broker 1's process (combined);
            empty for one controller, named `controller`, that does not fail.
        control_plane: the release's own, or KRaft.
        controller: address of the controller that is active at the start, `b2` or `c2`; empty: the first that runs.
        clients: settings of all producers and consumers that say nothing else, by their Kafka names (`core.kafka.clients.client_config`).
        features: levels of features that are not those of a new cluster (`core.kafka.features`).
    """

    brokers: tuple[BrokerSpec, ...]
    topics: tuple[TopicSpec, ...] = ()
    settings: tuple[tuple[str, Value], ...] = ()
    network: NetworkSpec = NetworkSpec()
    pace: Pace = Pace.TIMELINE
    startup: int = 2 * SECOND
    recovery: int = 1_500 * US_PER_MS
    disk_speed: int = 200_000_000
    controllers: tuple[str, ...] = ()
    control_plane: ControlPlane = ControlPlane.BY_RELEASE
    features: tuple[tuple[str, int], ...] = ()
    clients: tuple[tuple[str, str], ...] = ()
    controller: str = ""

    def with_features(self, features: tuple[tuple[str, int], ...]) -> ClusterSpec:
        """The same cluster with those feature levels beside, or instead of, its own."""
        return attrs.evolve(self, features=tuple({**dict(self.features), **dict(features)}.items())) if features else self

    def racks(self) -> dict[int, str | None]:
        """The rack of each broker, None where it has none."""
        return {broker.id: broker.rack for broker in self.brokers}

    def check(self) -> None:
        """Refuse what cannot be a cluster.

        Raises:
            ValueError: the message names the broker, topic or partition.
        """
        ids = [broker.id for broker in self.brokers]
        if not ids:
            raise ValueError("a cluster needs at least one broker")
        for broker in ids:
            if not 0 <= broker <= MAX_BROKER_ID:
                raise ValueError(f"broker id {broker} is out of range; use 0 to {MAX_BROKER_ID}")
        _refuse_twice("broker", ids)
        for each in self.brokers:
            if not 1 <= each.log_dirs <= MAX_LOG_DIRS:
                raise ValueError(f"broker {each.id} has {each.log_dirs} log directories; use 1 to {MAX_LOG_DIRS}")
        if len(ids) > MAX_BROKERS:
            raise ValueError(f"{len(ids):,} brokers; at most {MAX_BROKERS:,}")
        if self.disk_speed < 1:
            raise ValueError("a disk reads at least 1 byte per second")
        _refuse_twice("topic", [topic.name for topic in self.topics])
        _refuse_twice("feature", [name for name, _ in self.features])
        for name, level in self.features:
            check_feature(name, level)
        _refuse_twice("client setting", [name for name, _ in self.clients])
        for name, value in self.clients:
            client_setting_named(name).parse(value)
        self._check_controllers(ids)
        if self.network.loss_ppm > MAX_LOSS_PPM:
            raise ValueError(f"the network loses {self.network.loss_ppm:,} messages of a million; at most {MAX_LOSS_PPM:,}")
        refuse_more(sum(topic.count for topic in self.topics), sum(topic.replicas for topic in self.topics))
        known = frozenset(ids)
        for topic in self.topics:
            for number, partition in enumerate(topic.assignment):
                name = f"{topic.name}-{number}"
                if not partition.replicas:
                    raise ValueError(f"{name} has no replicas")
                _refuse_twice(f"replica of {name}:", list(partition.replicas))
                for replica in partition.replicas:
                    if replica not in known:
                        raise ValueError(f"{name} has a replica on broker {replica}, which the cluster does not have")
                for member in partition.isr or ():
                    if member not in partition.replicas:
                        raise ValueError(f"{name} has broker {member} in its ISR but not among its replicas")
                partition.check_start(name)
                leader = partition.leader
                if leader is not None and leader != NO_LEADER and leader not in partition.replicas:
                    raise ValueError(f"{name} is led by broker {leader}, which is not among its replicas")

    def _check_controllers(self, brokers: list[int]) -> None:
        _refuse_twice("controller", list(self.controllers))
        if self.controllers and self.pace is Pace.BY_HAND:
            raise ValueError("pace: by-hand has its one controller; leave 'controllers' out")
        if self.controller and self.controllers and self.controller not in self.controllers:
            raise ValueError(f"controller {self.controller} is none of the voters, {', '.join(self.controllers)}")
        if self.controller and not self.controllers and broker_at(self.controller) not in brokers:
            raise ValueError(
                f"controller {self.controller} is no broker of the cluster; before KRaft a broker is controller, for example b2"
            )
        for name in self.controllers:
            kind, number = name[:1], name[1:]
            if kind not in ("b", "c") or not (number.isascii() and number.isdecimal()) or number != str(int(number)):
                raise ValueError(
                    f"controller {name} is no name for one; write c1 for a dedicated controller, b1 for one in broker 1's process"
                )
            if kind == "b" and int(number) not in brokers:
                raise ValueError(f"controller {name} runs in the process of broker {number}, which the cluster does not have")


def refuse_more(partitions: int, replicas: int) -> None:
    """Refuse a cluster of more partitions or replicas than one can have.

    Raises:
        ValueError: how many there are, and how many may be.
    """
    if partitions > MAX_PARTITIONS:
        raise ValueError(f"{partitions:,} partitions in the cluster; at most {MAX_PARTITIONS:,}")
    if replicas > MAX_REPLICAS:
        raise ValueError(f"{replicas:,} replicas in the cluster; at most {MAX_REPLICAS:,}")


def _refuse_twice(what: str, names: list[int] | list[str]) -> None:
    seen: set[int | str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"{what} {name} stands twice")
        seen.add(name)
