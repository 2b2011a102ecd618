"""The nodes of a cluster and the links between them: where each node is, what it waits for, and the messages that are under way.

All data comes from frozen views and from the traffic report. `tui.maps.topology` draws it.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import attrs

from core.kafka.broker.broker_state import BrokerState
from core.kafka.health import STALL_BOUND, PartitionStatus
from core.kafka.ids import CONTROLLER, NO_LEADER, ZOOKEEPER, TopicPartition, broker_address, broker_at
from core.kafka.settings.settings import Settings
from core.lab.reports.traffic_report import LinkTraffic, TrafficReport
from core.lab.views.broker_view import BrokerView
from core.lab.views.client_view import ConsumerView, ProducerView
from core.lab.views.cluster_view import ClusterView
from core.lab.views.group_view import MemberView
from core.sim.repr_mixin import ReprMixin
from core.sim.units import SECOND, format_duration
from tui.analysis.faults import Fault, all_faults
from tui.analysis.per_state_cache import cached_per_state
from tui.rendering.states import broker_look

HEARD: Final = 3 * SECOND
"""The time without a heartbeat, in µs, after which the picture says that the controller waits for a broker."""

MOST_NAMED: Final = 6
"""The maximum number of partitions that a sentence names."""

Pair = tuple[str, str]
"""The addresses of two nodes, in order."""


class Band(enum.Enum):
    """The part of the picture in which a node appears."""

    CONTROL = "control"
    BROKERS = "brokers"
    CLIENTS = "clients"


@attrs.frozen
class Wait:
    """What a node waits for.

    Attributes:
        brief: a few words for the node's box.
        full: a sentence.
        urgent: whether something is wrong, rather than the usual wait for the next answer.
    """

    brief: str
    full: str
    urgent: bool = True


@attrs.frozen(repr=False)
class PictureNode(ReprMixin):
    """A node of the picture.

    Attributes:
        name: the address of the node.
        band: the part of the picture in which the node appears.
        kind: the kind of node, such as `broker` or `producer`.
        glyph, word: the state of the node.
        role: the name of the palette's style for the state.
        does: what the node does, in a few words.
        also: more about what the node does; empty if there is nothing to add.
        waits: what the node waits for, the worst first.
        zone: the rack of a broker; empty if there is none.
        broker: the ID of a broker; -1 for another node.
        topic: the topic that a client writes or reads; empty for another node.
    """

    name: str
    band: Band
    kind: str
    glyph: str
    word: str
    role: str
    does: str
    waits: tuple[Wait, ...] = ()
    also: str = ""
    zone: str = ""
    broker: int = NO_LEADER
    topic: str = ""


@attrs.frozen(repr=False)
class Tie(ReprMixin):
    """The link between two nodes, in both directions.

    Attributes:
        one, other: the addresses of the two nodes, in the order of their names.
        faults: the faults of the link, the worst first, as seen from `one`.
        out, back: the messages from `one` to `other`, and those from `other` to `one`; None if there are none.
        fetched: the numbers of partitions that `one` fetches from `other`, and that `other` fetches from `one`.
        waits_us: how long a request on this link has been unanswered, in µs; -1 if none is.
    """

    one: str
    other: str
    faults: tuple[Fault, ...] = ()
    out: LinkTraffic | None = None
    back: LinkTraffic | None = None
    fetched: tuple[int, int] = (0, 0)
    waits_us: int = -1

    @property
    def stuck(self) -> int:
        """The number of messages that cannot proceed."""
        return sum(each.stuck_count for each in (self.out, self.back) if each is not None)

    @property
    def moving(self) -> int:
        """The number of messages on their way."""
        return sum(each.moving_count for each in (self.out, self.back) if each is not None)

    def far_end(self, node: str) -> str:
        """Return the address of the other end of the link."""
        return self.other if node == self.one else self.one

    def counts_from(self, node: str) -> tuple[int, int, int, int]:
        """Return the numbers of messages that move from a node, are stuck from it, move to it, and are stuck to it."""
        ends = (self.out, self.back) if node == self.one else (self.back, self.out)
        out, back = ((0, 0) if each is None else (each.moving_count, each.stuck_count) for each in ends)
        return *out, *back

    def fault_from(self, node: str) -> tuple[str, str, str]:
        """Return the worst fault as seen from a node: its word, its direction, and its size. All are empty if there is no fault."""
        if not self.faults:
            return "", "", ""
        fault = self.faults[0]
        way = fault.way if fault.node == node else {"→": "←", "←": "→"}.get(fault.way, fault.way)
        return fault.word, way, fault.much


@attrs.frozen(repr=False)
class Topology(ReprMixin):
    """The picture of a cluster.

    Attributes:
        nodes: all nodes: controllers, brokers by zone, and clients.
        ties: the links on which something is wrong or under way, or over which a broker fetches, by pair of addresses.
        zones: the racks of the brokers, sorted; empty if no broker has a rack.
    """

    nodes: tuple[PictureNode, ...]
    ties: Mapping[Pair, Tie]
    zones: tuple[str, ...]

    def in_band(self, band: Band) -> list[PictureNode]:
        """Return the nodes in a part of the picture."""
        return [node for node in self.nodes if node.band is band]

    def node(self, name: str) -> PictureNode | None:
        """Return the node with an address, or None."""
        return next((node for node in self.nodes if node.name == name), None)

    def tie(self, one: str, other: str) -> Tie | None:
        """Return the link between two nodes, or None if nothing is known about it."""
        return self.ties.get(pair_of(one, other))

    def ties_of(self, name: str) -> list[Tie]:
        """Return the links of a node: those with a fault first, then those with stuck messages, then the others."""
        found = [tie for tie in self.ties.values() if name in (tie.one, tie.other)]
        place = {node.name: at for at, node in enumerate(self.nodes)}
        return sorted(found, key=lambda tie: (not tie.faults, not tie.stuck, not tie.moving, place.get(tie.far_end(name), len(place))))

    @property
    def moving(self) -> int:
        """The number of messages on their way."""
        return sum(tie.moving for tie in self.ties.values())

    @property
    def stuck(self) -> int:
        """The number of messages that cannot proceed."""
        return sum(tie.stuck for tie in self.ties.values())


def pair_of(one: str, other: str) -> Pair:
    """Return two addresses in order. Brokers are ordered by number."""
    ends = sorted((one, other), key=lambda name: (broker_at(name) is None, broker_at(name) or 0, name))
    return ends[0], ends[1]


def age(us: int) -> str:
    """Return a duration in tenths of seconds from 1 s on, and in milliseconds below 1 s."""
    return format_duration(us // 100_000 * 100_000 if us >= SECOND else us // 1_000 * 1_000)


def _names(partitions: Sequence[TopicPartition]) -> str:
    """Return the names of partitions, for example `orders-0 orders-1 and 3 more`."""
    named = " ".join(map(str, partitions[:MOST_NAMED]))
    return named + (f" and {len(partitions) - MOST_NAMED:,} more" if len(partitions) > MOST_NAMED else "")


def _count(number: int, noun: str, plural: str = "") -> str:
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


@attrs.frozen
class _PartitionWaits:
    """For each broker, the partitions it waits for or holds up.

    Attributes:
        stalled: by leader, and by the replica that does not fetch, the partitions that cannot commit.
        copying: by broker, the partitions that a reassignment adds to it.
        outside: by broker, the partitions whose ISR lacks the broker, without those that it copies.
        offline, moving: the partitions that have no leader, and those that a reassignment moves.
    """

    stalled: dict[int, dict[int, list[TopicPartition]]]
    copying: dict[int, list[TopicPartition]]
    outside: dict[int, list[TopicPartition]]
    offline: list[TopicPartition]
    moving: list[TopicPartition]


def _partition_waits(view: ClusterView) -> _PartitionWaits:
    found = _PartitionWaits({}, {}, {}, [], [])
    for p in view.partitions:
        if p.status is PartitionStatus.HEALTHY and not p.adding and not p.removing:
            continue
        if p.offline:
            found.offline.append(p.tp)
        if p.adding or p.removing:
            found.moving.append(p.tp)
        if p.status is PartitionStatus.STALLED:
            for broker in p.not_fetching or [each for each in p.slowest_replicas if each != p.leader]:
                found.stalled.setdefault(p.leader, {}).setdefault(broker, []).append(p.tp)
        for broker in p.replicas:
            if broker not in p.isr:
                (found.copying if broker in p.adding else found.outside).setdefault(broker, []).append(p.tp)
    return found


def zookeeper_mode(view: ClusterView) -> bool:
    """Return whether brokers register in ZooKeeper rather than with a KRaft controller."""
    return view.controller != CONTROLLER and not view.voters


def session_timeout_us(view: ClusterView, settings: Settings) -> int:
    """Return the time without a heartbeat after which a broker counts as dead, in µs."""
    return settings.us("zookeeper.session.timeout.ms" if zookeeper_mode(view) else "broker.session.timeout.ms")


def _end_of_session(view: ClusterView, broker: BrokerView, session_us: int) -> tuple[str, str]:
    """Say when a silent broker counts as dead, in a few words for its box and as the end of a sentence."""
    left = age(max(0, session_us - broker.silent_us))
    if not view.majority:
        return "silent", "; without a majority, nobody fences it"
    if zookeeper_mode(view):
        return f"expires in {left}", f", and its session expires in {left}"
    return f"fenced in {left}", f", and fences it in {left}"


def topology_of(view: ClusterView, traffic: TrafficReport, session_us: int, *, exact: bool = True) -> Topology:
    """Return the picture of a cluster.

    Args:
        view: the frozen state of the cluster.
        traffic: the messages that are under way at the same moment.
        session_us: the time without a heartbeat after which a broker is fenced, in µs.
        exact: whether the offsets of all partitions are up to date, so that lags can be shown.
    """
    partitions = cached_per_state(view, "partition waits", lambda: _partition_waits(view))
    zones = tuple(sorted({broker.rack or "" for broker in view.brokers}))
    brokers = sorted(view.brokers, key=lambda broker: (broker.rack or "", broker.id))
    ties = _ties(view, traffic)
    nodes = (
        *_control(view, traffic, partitions, session_us),
        *(_broker(view, broker, traffic, partitions, session_us) for broker in brokers),
        *_clients(view, traffic, exact),
    )
    return Topology(nodes, ties, zones if zones != ("",) else ())


def _ties(view: ClusterView, traffic: TrafficReport) -> dict[Pair, Tie]:
    faults: dict[Pair, list[Fault]] = {}
    for fault in all_faults(view):
        if fault.other:
            faults.setdefault(pair_of(fault.node, fault.other), []).append(fault)
    links = {(link.src, link.dst): link for link in traffic.links}
    fetched: dict[Pair, list[int]] = {}
    waits: dict[Pair, int] = {}
    for fetch in traffic.fetches:
        follower, leader = broker_address(fetch.follower), broker_address(fetch.leader)
        pair = pair_of(follower, leader)
        fetched.setdefault(pair, [0, 0])[0 if follower == pair[0] else 1] = fetch.partitions
        waits[pair] = max(waits.get(pair, -1), fetch.waits_us)
    for batches in traffic.unanswered:
        pair = pair_of(batches.producer, broker_address(batches.broker))
        waits[pair] = max(waits.get(pair, -1), batches.oldest_us)
    pairs = dict.fromkeys([*faults, *(pair_of(*direction) for direction in links), *waits])
    return {
        pair: Tie(
            *pair,
            tuple(faults.get(pair, ())),
            links.get(pair),
            links.get((pair[1], pair[0])),
            (one, other),
            waits.get(pair, -1),
        )
        for pair in pairs
        for one, other in [fetched.get(pair, (0, 0))]
    }


# --- the control plane ---------------------------------------------------------------------------------------------


def _control(view: ClusterView, traffic: TrafficReport, partitions: _PartitionWaits, session_us: int) -> Iterable[PictureNode]:
    waits = [*_controller_waits(view, partitions, session_us)]
    if not view.voters:
        if view.controller == CONTROLLER:
            yield PictureNode(CONTROLLER, Band.CONTROL, "controller", "★", "active", "good", "elects leaders, stores ISRs", tuple(waits))
            return
        of = f"controller {view.controller}" if view.controller else "no controller"
        yield PictureNode(
            ZOOKEEPER, Band.CONTROL, "ZooKeeper", "●", of, "good" if view.controller else "bad", "keeps the brokers' sessions", tuple(waits)
        )
        return
    for voter in view.voters:
        if broker_at(voter.name) is not None:
            continue  # the controller is in the process of a broker, whose box shows it
        if voter.name in traffic.paused:
            yield PictureNode(voter.name, Band.CONTROL, "controller", "‖", "paused", "warn", f"epoch {voter.epoch}")
        elif voter.active:
            yield PictureNode(voter.name, Band.CONTROL, "controller", "★", "active", "good", f"epoch {voter.epoch}", tuple(waits))
        elif voter.role == "stopped":
            yield PictureNode(voter.name, Band.CONTROL, "controller", "✕", "stopped", "bad", "")
        else:
            glyph, role = ("●", "good") if voter.role == "follower" else ("○", "warn")
            yield PictureNode(voter.name, Band.CONTROL, "controller", glyph, voter.role, role, f"epoch {voter.epoch}")


def _controller_waits(view: ClusterView, partitions: _PartitionWaits, session_us: int) -> Iterable[Wait]:
    if not view.majority:
        yield Wait("no majority", "It waits for a majority of the voters, without which nothing is committed.")
    for broker in view.brokers:
        if not broker.fenced and broker.silent_us >= HEARD:
            _, end = _end_of_session(view, broker, session_us)
            yield Wait(
                f"b{broker.id} silent {age(broker.silent_us)}", f"It has not heard from b{broker.id} for {age(broker.silent_us)}{end}."
            )
    if partitions.offline:
        yield Wait(
            f"{_count(len(partitions.offline), 'offline')}",
            f"It cannot elect a leader for {_count(len(partitions.offline), 'partition')}: {_names(partitions.offline)}.",
        )
    if partitions.moving:
        yield Wait(
            _count(len(partitions.moving), "move"),
            f"It waits until the new replicas of {_count(len(partitions.moving), 'partition')} are in the ISR: {_names(partitions.moving)}.",
            urgent=False,
        )


# --- brokers ---------------------------------------------------------------------------------------------------------


def _broker(view: ClusterView, broker: BrokerView, traffic: TrafficReport, partitions: _PartitionWaits, session_us: int) -> PictureNode:
    name = broker_address(broker.id)
    glyph, word, role = broker_look(broker)
    voter = next((each for each in view.voters if each.name == name), None)
    active = voter.active if voter is not None else not view.voters and view.controller == name
    does = f"leads {broker.leaders} of {broker.replicas}" + (", controller" if active else ", voter" if voter is not None else "")
    waits = [*_broker_waits(view, broker, traffic, partitions, session_us)]
    if active:
        waits += _controller_waits(view, partitions, session_us)
    waits.sort(key=lambda wait: not wait.urgent)
    leaders = [f"b{fetch.leader}" for fetch in traffic.fetches if fetch.follower == broker.id]
    also = f"fetches {' '.join(leaders)}" if leaders else ""
    return PictureNode(name, Band.BROKERS, "broker", glyph, word, role, does, tuple(waits), also, broker.rack or "", broker.id)


def _broker_waits(
    view: ClusterView, broker: BrokerView, traffic: TrafficReport, partitions: _PartitionWaits, session_us: int
) -> Iterable[Wait]:
    name = broker_address(broker.id)
    alone = broker.state is BrokerState.STOPPED
    stuck = sum(link.stuck_count for link in traffic.links if link.dst == name and name in traffic.paused)
    if name in traffic.paused:
        yield Wait(f"{stuck} queued", f"Its process is paused. {_count(stuck, 'message')} wait for it.")
    if not broker.fenced and (alone or broker.silent_us >= HEARD):
        brief, end = _end_of_session(view, broker, session_us)
        who = "ZooKeeper" if zookeeper_mode(view) else "The controller"
        yield Wait(brief, f"{who} last heard from it {age(broker.silent_us)} ago{end}.")
    if broker.state is BrokerState.STARTING:
        yield Wait("registration", "It waits until the controller unfences it.")
    for held_by, tps in sorted(partitions.stalled.get(broker.id, {}).items()):
        yield Wait(
            f"acks wait b{held_by}",
            f"Writes with acks=all wait in {_count(len(tps), 'partition')} until b{held_by} fetches or leaves the ISR: {_names(tps)}.",
        )
    if not alone and broker.state is not BrokerState.PAUSED:
        for fetch in traffic.fetches:
            if fetch.follower == broker.id and fetch.waits_us > STALL_BOUND:
                yield Wait(
                    f"fetch b{fetch.leader} {age(fetch.waits_us)}",
                    f"b{fetch.leader} has not answered its fetch of {_count(fetch.partitions, 'partition')} for {age(fetch.waits_us)}.",
                )
    newest = max((each.metadata_offset for each in view.brokers), default=0)
    if not alone and broker.metadata_offset < newest and broker.state is not BrokerState.RUNNING:
        behind = newest - broker.metadata_offset
        yield Wait(f"metadata −{behind}", f"It has not read the last {_count(behind, 'record')} of the metadata log.")
    if tps := partitions.outside.get(broker.id, []):
        yield Wait(
            f"{len(tps)} not in ISR",
            f"It is outside the ISR of {_count(len(tps), 'partition')} until it has caught up: {_names(tps)}.",
        )
    if tps := partitions.copying.get(broker.id, []):
        yield Wait(
            f"copies {len(tps)}", f"It copies {_count(len(tps), 'partition')} that a reassignment adds: {_names(tps)}.", urgent=False
        )
    for number in broker.failed_dirs:
        yield Wait(f"dir {number} failed", f"Log directory {number} of {broker.log_dirs} has failed.")
    if broker.disk_delay_us:
        yield Wait(f"disk +{age(broker.disk_delay_us)}", f"Its disk takes {age(broker.disk_delay_us)} longer for each write.")


# --- clients ---------------------------------------------------------------------------------------------------------


def _clients(view: ClusterView, traffic: TrafficReport, exact: bool) -> Iterable[PictureNode]:
    processes = {process.name: process for process in view.processes}
    for producer in view.producers:
        yield _producer(producer, traffic, processes[producer.name].step if producer.name in processes else "")
    for consumer in view.consumers:
        yield _consumer(consumer, _lag(view, consumer.positions) if exact else 0)
    for member in view.members:
        yield _member(member, _lag(view, [(tp, at) for tp, at in member.positions if tp in member.owned]) if exact else 0)


def _producer(producer: ProducerView, traffic: TrafficReport, step: str) -> PictureNode:
    waits = []
    for batches in (each for each in traffic.unanswered if each.producer == producer.name):
        if batches.oldest_us > STALL_BOUND:
            waits.append(
                Wait(
                    f"b{batches.broker} {age(batches.oldest_us)}",
                    f"b{batches.broker} has not answered {_count(batches.batches, 'batch', 'batches')}. "
                    f"The oldest has waited for {age(batches.oldest_us)}.",
                )
            )
    if waits:
        glyph, word, role = "◔", "waits", "warn"
    elif producer.rate or step:
        glyph, word, role = "●", step or "writes", "good"
    else:
        glyph, word, role = "○", "idle", "muted"
    rate = f"{producer.rate}/s" if producer.rate else f"{producer.sent:,}"
    acks = "all" if producer.acks == -1 else str(producer.acks)
    kind = "process" if step else "producer"
    does = f"{rate} → {producer.topic} acks={acks}"
    return PictureNode(producer.name, Band.CLIENTS, kind, glyph, word, role, does, tuple(waits), topic=producer.topic)


def _lag(view: ClusterView, positions: Iterable[tuple[TopicPartition, int]]) -> int:
    """Return the number of committed records that a consumer has not read, over the given partitions."""
    at = {tp: position for tp, position in positions if position >= 0}
    if not at:
        return 0
    ends = cached_places(view)
    return sum(max(0, view.partitions[ends[tp]].committed - position) for tp, position in at.items() if tp in ends)


def cached_places(view: ClusterView) -> dict[TopicPartition, int]:
    """Return the index of each partition in the view."""
    return cached_per_state(view, "places", lambda: {p.tp: at for at, p in enumerate(view.partitions)})


def _consumer(consumer: ConsumerView, lag: int) -> PictureNode:
    waits = (Wait(f"lag {lag:,}", f"{_count(lag, 'committed record')} are still to be read.", urgent=False),) if lag else ()
    does = f"{consumer.topic} → {consumer.read:,} read"
    return PictureNode(consumer.name, Band.CLIENTS, "consumer", "●", "reads", "good", does, waits, topic=consumer.topic)


def _member(member: MemberView, lag: int) -> PictureNode:
    waits = []
    if not member.running:
        glyph, word, role = "✕", "dead", "bad"
    elif member.frozen:
        glyph, word, role = "‖", "frozen", "warn"
    elif member.state in ("Stable", "stable"):
        glyph, word, role = "●", member.phase, "good"
    else:
        glyph, word, role = "◌", member.state, "warn"
        at = "no coordinator yet" if member.coordinator < 0 else f"its coordinator b{member.coordinator}"
        waits.append(Wait(member.state, f"Its membership is {member.state}; it waits for {at}."))
    if lag:
        waits.append(Wait(f"lag {lag:,}", f"{_count(lag, 'committed record')} of its partitions are still to be read.", urgent=False))
    does = f"{member.group}: {_count(len(member.owned), 'partition')}"
    topic = member.topics[0] if member.topics else ""
    return PictureNode(member.name, Band.CLIENTS, "member", glyph, word, role, does, tuple(waits), topic=topic)
