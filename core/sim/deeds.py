"""Carries acts out on a cluster: for each act first whether it is possible, then the `act` event, then the doing.

An act that is impossible is refused before anything changes, with a message that says what would be right.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import attrs

from core import acts
from core.broker.broker import Broker
from core.broker.disk import DRAWN, KEPT, LOST, LogDir
from core.broker.fetcher import FOREVER, Fetcher
from core.clients.consumer import Consumer
from core.clients.producer import Producer
from core.controller.partition_change import ElectionMode
from core.controller.quorum import ControllerNode
from core.errors import ActRefused, KafkaError
from core.ids import CONTROLLER, ZOOKEEPER, TopicPartition
from core.journal import events
from core.settings import setting_named
from core.spec import PartitionSpec, TopicSpec
from core.units import SECOND, format_duration
from core.view import BrokerState

if TYPE_CHECKING:
    from core.sim.cluster import Cluster

ACKS: Final = {"0": 0, "1": 1, "all": -1, "-1": -1}
"""Kafka's acks as people write them."""

Doing = Callable[[], None]
"""What is left to do once an act is found possible."""


def carry_out(cluster: Cluster, act: acts.Act) -> int:
    """Check an act, record it, do it; returns the seq of its event.

    Whatever else is due at this very moment comes first: so an act's time alone says where in a run it stands.

    Raises:
        ActRefused: it is impossible as things stand.
    """
    if act.by_hand and not cluster.by_hand:
        raise ActRefused(f"{act.word} needs a cluster with pace: by-hand")
    cluster.settle()
    prepare = _DEEDS[type(act)]
    doing = prepare(cluster, act)
    journal = cluster.journal
    journal.cause = 0
    journal.cause = seq = journal.emit(events.Acted.kind, act.word, arguments(act))
    doing()
    cluster.controller.publish()
    if cluster.by_hand:
        cluster.settle()
    journal.cause = 0
    return seq


def arguments(act: acts.Act) -> str:
    """An act's fields that differ from their defaults, as compact JSON with the script's words."""
    fields: dict[str, Any] = {}
    for field in attrs.fields(type(act)):
        value = getattr(act, field.name)
        if field.default is attrs.NOTHING or value != field.default:
            fields[field.name.replace("_", "-")] = _plain(value)
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, TopicPartition):
        return str(value)
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value


# --- finding what an act is about ----------------------------------------------------------------------------------


def _broker(cluster: Cluster, broker: int) -> Broker:
    found = cluster.brokers.get(broker)
    if found is None:
        raise ActRefused(f"there is no broker {broker}; there are {', '.join(map(str, cluster.brokers))}")
    return found


def _running(cluster: Cluster, broker: int) -> Broker:
    found = _broker(cluster, broker)
    if found.state is BrokerState.STOPPED:
        raise ActRefused(f"broker {broker} is not running; start it first")
    return found


def _node(cluster: Cluster, name: str) -> str:
    """A node's name; in a quorum `controller` is whoever is the active one now."""
    if name == CONTROLLER and cluster.quorum is not None:
        _need_controller(cluster)
        active = cluster.quorum.active()
        assert active is not None
        return active.name
    if name == CONTROLLER and name not in cluster.nodes:
        name = cluster.controller_address
        if not name:
            raise ActRefused("no broker is controller just now")
    if name not in cluster.nodes:
        raise ActRefused(f"there is no node {name}; there are {', '.join(cluster.nodes)}")
    return name


def _pair(cluster: Cluster, between: tuple[str, str]) -> tuple[str, str]:
    a, b = (_node(cluster, name) for name in between)
    if a == b:
        raise ActRefused(f"a link joins two different nodes, not {a} with itself")
    return a, b


def _topic(cluster: Cluster, topic: str) -> str:
    topics = cluster.controller.replication.topics
    if topic not in topics:
        raise ActRefused(f"there is no topic {topic}; there are {', '.join(topics) or 'none'}")
    return topic


def _acks(acks_text: str) -> int:
    if acks_text not in ACKS:
        raise ActRefused(f"acks is 0, 1 or all, not {acks_text}")
    return ACKS[acks_text]


# --- brokers -------------------------------------------------------------------------------------------------------


def _kill(cluster: Cluster, act: acts.Kill) -> Doing:
    broker = _running(cluster, act.broker)

    def doing() -> None:
        cluster.paused.pop(broker.address, None)
        broker.stop("killed")

    return doing


def _power_loss(cluster: Cluster, act: acts.PowerLoss) -> Doing:
    broker = _running(cluster, act.broker)
    _check_keep(broker, act.keep)
    if act.unflushed not in (DRAWN, LOST, KEPT):
        raise ActRefused(f"the unflushed tail is {DRAWN}, {LOST} or {KEPT}, not {act.unflushed}")

    def doing() -> None:
        cluster.paused.pop(broker.address, None)
        broker.stop("power-loss")
        broker.lose_unflushed(act.keep, act.unflushed, cluster.page_cache)

    return doing


def _check_keep(broker: Broker, keep: tuple[tuple[TopicPartition, int], ...]) -> None:
    for tp, offset in keep:
        if tp not in broker.disk.logs:
            raise ActRefused(f"broker {broker.id} has no replica of {tp}")
        if offset < 0:
            raise ActRefused(f"{tp} cannot keep up to offset {offset}; offsets begin with 0")


def _shutdown(cluster: Cluster, act: acts.Shutdown) -> Doing:
    broker = _running(cluster, act.broker)
    if broker.state is BrokerState.STOPPING:
        raise ActRefused(f"broker {act.broker} is shutting down already")
    if broker.address in cluster.paused:
        raise ActRefused(f"broker {act.broker} is paused and hears no signal; resume it, or kill it")
    if broker.state is BrokerState.STARTING:
        raise ActRefused(f"broker {act.broker} is still starting; wait, or kill it")
    if cluster.by_hand:

        def by_hand() -> None:
            broker.stop("shutdown")

        return by_hand
    return broker.begin_shutdown


def _start(cluster: Cluster, act: acts.Start) -> Doing:
    broker = _broker(cluster, act.broker)
    if broker.state is not BrokerState.STOPPED:
        raise ActRefused(f"broker {act.broker} is running; kill it or shut it down first")
    if not any(each.online or each.repaired for each in broker.disk.dirs):
        raise ActRefused(f"every log directory of broker {act.broker} has failed; repair one first")
    spec = cluster.spec
    startup, recovery, speed = (0, 0, 0) if cluster.by_hand else (spec.startup, spec.recovery, spec.disk_speed)
    return lambda: broker.start(startup, recovery, speed)


def _pause(cluster: Cluster, act: acts.Pause) -> Doing:
    broker = _running(cluster, act.broker)
    if broker.address in cluster.paused:
        raise ActRefused(f"broker {act.broker} is paused already; resume it")

    def doing() -> None:
        cluster.paused[broker.address] = (cluster.now, [])
        cluster.journal.emit(events.BrokerPaused.kind, broker.id)

    return doing


def _resume(cluster: Cluster, act: acts.Resume) -> Doing:
    broker = _broker(cluster, act.broker)
    if broker.address not in cluster.paused:
        raise ActRefused(f"broker {act.broker} is not paused")

    def doing() -> None:
        since, waiting = cluster.paused.pop(broker.address)
        cluster.journal.cause = cluster.journal.emit(events.BrokerResumed.kind, broker.id, cluster.now - since)
        for entry in waiting:
            cluster.scheduler.add(cluster.now, entry.node, entry.sender, entry.connection, entry.message, entry.cause)

    return doing


# --- disks ---------------------------------------------------------------------------------------------------------


def _dir(broker: Broker, number: int) -> LogDir:
    count = len(broker.disk.dirs)
    if not 1 <= number <= count:
        raise ActRefused(f"broker {broker.id} has log director{'y 1' if count == 1 else f'ies 1 to {count}'}, not {number}")
    return broker.disk.dirs[number - 1]


def _fail_dir(cluster: Cluster, act: acts.FailDir) -> Doing:
    broker = _running(cluster, act.broker)
    if not _dir(broker, act.dir).online:
        raise ActRefused(f"log directory {act.dir} of broker {act.broker} has failed already")
    if broker.state is BrokerState.STARTING:
        raise ActRefused(f"broker {act.broker} is still starting; wait")
    return lambda: broker.directories.fail(act.dir)


def _repair_dir(cluster: Cluster, act: acts.RepairDir) -> Doing:
    broker = _broker(cluster, act.broker)
    directory = _dir(broker, act.dir)
    if directory.online:
        raise ActRefused(f"log directory {act.dir} of broker {act.broker} works")

    def doing() -> None:
        directory.repaired = "empty" if act.empty else "kept"
        cluster.journal.emit(events.LogDirRepaired.kind, broker.id, act.dir, act.empty)

    return doing


def _move_replica(cluster: Cluster, act: acts.MoveReplica) -> Doing:
    broker = _running(cluster, act.broker)
    if not _dir(broker, act.dir).online:
        raise ActRefused(f"log directory {act.dir} of broker {act.broker} has failed")
    if act.partition not in broker.partitions:
        raise ActRefused(f"broker {act.broker} has no replica of {act.partition} that works")
    if broker.disk.dir_of(act.partition) == act.dir:
        raise ActRefused(f"{act.partition} is in log directory {act.dir} of broker {act.broker} already")
    if act.partition in broker.disk.futures:
        raise ActRefused(f"{act.partition} is moving on broker {act.broker} already")
    return lambda: broker.directories.move(act.partition, act.dir)


MOST_DISK_DELAY: Final = 10 * SECOND
"""Longest a slow disk takes for a write, µs: a third of replica.socket.timeout.ms."""


def _slow_disk(cluster: Cluster, act: acts.SlowDisk) -> Doing:
    broker = _broker(cluster, act.broker)
    if not 0 <= act.delay <= MOST_DISK_DELAY:
        raise ActRefused(f"a write takes 0 to {format_duration(MOST_DISK_DELAY)}")
    return lambda: broker.directories.slow_down(act.delay)


def _delete_records(cluster: Cluster, act: acts.DeleteRecords) -> Doing:
    registration = cluster.controller.replication.partitions.get(act.partition)
    if registration is None:
        raise ActRefused(f"there is no partition {act.partition}")
    leader = cluster.brokers.get(registration.leader)
    partition = None if leader is None or leader.state is BrokerState.STOPPED else leader.partitions.get(act.partition)
    if partition is None or not partition.is_leader:
        raise ActRefused(f"nobody leads {act.partition} now")
    offset = -1 if act.offset is None else act.offset

    def doing() -> None:
        partition.delete_records(offset)

    return doing


# --- network -------------------------------------------------------------------------------------------------------


def _cut(cluster: Cluster, act: acts.Cut) -> Doing:
    a, b = _pair(cluster, act.between)
    return lambda: _cut_all(cluster, [(a, b)] if act.one_way else [(a, b), (b, a)])


def _cut_all(cluster: Cluster, directions: list[tuple[str, str]]) -> None:
    for direction in directions:
        if cluster.network.cut(direction):
            cluster.journal.emit(events.LinkCut.kind, *direction)


def _isolate(cluster: Cluster, act: acts.Isolate) -> Doing:
    node = _node(cluster, act.node)
    others = [other for other in cluster.nodes if other != node]
    return lambda: _cut_all(cluster, [d for other in others for d in ((node, other), (other, node))])


def _heal(cluster: Cluster, act: acts.Heal) -> Doing:
    network = cluster.network
    if act.between is not None:
        a, b = _pair(cluster, act.between)
        directions = [(a, b), (b, a)]
        if not any(d in network.links and network.links[d].cut for d in directions):
            raise ActRefused(f"the link between {a} and {b} is not cut")
    else:
        directions = [direction for direction, link in network.links.items() if link.cut]
        if not directions:
            raise ActRefused("no link is cut")

    def doing() -> None:
        for direction in directions:
            if network.heal(direction, cluster.now):
                cluster.journal.emit(events.LinkHealed.kind, *direction)

    return doing


def _link(cluster: Cluster, act: acts.Link) -> Doing:
    a, b = _pair(cluster, act.between)

    def doing() -> None:
        for direction in ((a, b), (b, a)):
            link = cluster.network.link(direction)
            link.latency = link.latency if act.latency is None else act.latency
            link.jitter = link.jitter if act.jitter is None else act.jitter
            link.loss_ppm = link.loss_ppm if act.loss_ppm is None else act.loss_ppm
            cluster.journal.emit(events.LinkChanged.kind, *direction, link.latency, link.jitter, link.loss_ppm)

    return doing


def _hold(cluster: Cluster, act: acts.Hold) -> Doing:
    direction = _pair(cluster, act.between)
    link = cluster.network.links.get(direction)
    if link is not None and link.held:
        raise ActRefused(f"messages {direction[0]} → {direction[1]} are held already; release them")

    def doing() -> None:
        cluster.network.hold(direction)
        cluster.journal.emit(events.LinkHeld.kind, *direction)

    return doing


def _release(cluster: Cluster, act: acts.Release) -> Doing:
    direction = _pair(cluster, act.between)
    link = cluster.network.links.get(direction)
    if link is None or not link.held:
        raise ActRefused(f"messages {direction[0]} → {direction[1]} are not held")
    if act.messages is not None and not 1 <= act.messages <= len(link.waiting):
        raise ActRefused(
            f"{len(link.waiting)} messages {direction[0]} → {direction[1]} are held; release 1 to so many, or leave 'messages' out"
        )
    if act.messages is not None and link.cut:
        raise ActRefused(f"the link {direction[0]} → {direction[1]} is cut, too; heal it first")

    def doing() -> None:
        count = cluster.network.release(direction, cluster.now, act.messages)
        cluster.journal.emit(events.LinkReleased.kind, *direction, count)

    return doing


# --- controllers ---------------------------------------------------------------------------------------------------


def _controller(cluster: Cluster, name: str) -> ControllerNode:
    if cluster.quorum is not None and name == CONTROLLER:
        name = _node(cluster, name)
    found = cluster.controllers.get(name)
    if found is None:
        if cluster.quorum is not None and name in cluster.quorum.voters:
            raise ActRefused(f"controller {name} runs in the process of broker {name[1:]}; do it to the broker")
        names = ", ".join(cluster.controllers) or "none of their own process; write 'controllers: 3' in the cluster"
        raise ActRefused(f"there is no controller {name}; there are {names}")
    return found


def _running_controller(cluster: Cluster, name: str) -> ControllerNode:
    found = _controller(cluster, name)
    if not found.running:
        raise ActRefused(f"controller {name} is not running; start it first")
    return found


def _kill_controller(cluster: Cluster, act: acts.KillController) -> Doing:
    controller = _running_controller(cluster, act.node)

    def doing() -> None:
        cluster.paused.pop(controller.address, None)
        controller.stop()

    return doing


def _start_controller(cluster: Cluster, act: acts.StartController) -> Doing:
    controller = _controller(cluster, act.node)
    if controller.running or controller.starting:
        raise ActRefused(f"controller {act.node} is running; kill it first")
    return lambda: controller.start(cluster.spec.startup)


def _pause_controller(cluster: Cluster, act: acts.PauseController) -> Doing:
    controller = _running_controller(cluster, act.node)
    if controller.address in cluster.paused:
        raise ActRefused(f"controller {act.node} is paused already; resume it")

    def doing() -> None:
        cluster.paused[controller.address] = (cluster.now, [])
        cluster.journal.emit(events.ControllerPaused.kind, controller.address)

    return doing


def _resume_controller(cluster: Cluster, act: acts.ResumeController) -> Doing:
    controller = _controller(cluster, act.node)
    if controller.address not in cluster.paused:
        raise ActRefused(f"controller {act.node} is not paused")

    def doing() -> None:
        since, waiting = cluster.paused.pop(controller.address)
        cluster.journal.cause = cluster.journal.emit(events.ControllerResumed.kind, controller.address, cluster.now - since)
        for entry in waiting:
            cluster.scheduler.add(cluster.now, entry.node, entry.sender, entry.connection, entry.message, entry.cause)

    return doing


def _need_controller(cluster: Cluster) -> None:
    """Refuse what only an active controller can do when there is none."""
    if cluster.quorum is not None and cluster.quorum.active() is None:
        raise ActRefused("there is no active controller: no majority of the controllers has elected one")


# --- administration ------------------------------------------------------------------------------------------------


def _set(cluster: Cluster, act: acts.Set) -> Doing:
    try:
        setting = setting_named(act.name)
        setting.parse(act.value)
    except ValueError as wrong:
        raise ActRefused(str(wrong)) from None
    if not setting.dynamic and not act.force:
        raise ActRefused(
            f"Cannot update these configs dynamically: Set({act.name}); Kafka reads it when a broker starts. "
            "Set it in the cluster's settings, or write force: true to have it at once"
        )
    if act.topic is not None and act.broker is not None:
        raise ActRefused(f"set {act.name} for a topic or for a broker, not for both")
    if act.topic is not None:
        _topic(cluster, act.topic)
        if setting.scope != "topic":
            raise ActRefused(f"{act.name} is no topic setting; set it for a broker or for the whole cluster")
    if act.broker is not None:
        _broker(cluster, act.broker)
        if setting.scope == "controller":
            raise ActRefused(f"{act.name} is a setting of the controller; set it for the whole cluster")
    _need_controller(cluster)

    def doing() -> None:
        cluster.controller.set_config(act.name, act.value, topic=act.topic, broker=act.broker)

    return lambda: cluster.administer(doing)


def _create_topic(cluster: Cluster, act: acts.CreateTopic) -> Doing:
    spec = TopicSpec(
        act.topic, act.partitions, act.replication_factor, tuple(PartitionSpec(replicas) for replicas in act.replicas), act.config
    )

    _need_controller(cluster)

    def doing() -> None:
        try:
            cluster.controller.replication.create_topic(spec)
        except KafkaError as refusal:
            cluster.journal.emit(events.TopicRefused.kind, act.topic, refusal.code, refusal.message)
        except ValueError as wrong:
            cluster.journal.emit(events.TopicRefused.kind, act.topic, "INVALID_CONFIG", str(wrong))

    return lambda: cluster.administer(doing)


def _elect(cluster: Cluster, act: acts.Elect) -> Doing:
    if act.election not in ("preferred", "unclean"):
        raise ActRefused(f"an election is preferred or unclean, not {act.election}")
    replication = cluster.controller.replication
    if act.partition is not None and act.partition not in replication.partitions:
        raise ActRefused(f"there is no partition {act.partition}")
    mode = ElectionMode.PREFERRED if act.election == "preferred" else ElectionMode.UNCLEAN

    _need_controller(cluster)

    def doing() -> None:
        replication.elect_leaders(act.partition, mode)

    return lambda: cluster.administer(doing)


def _reassign(cluster: Cluster, act: acts.Reassign) -> Doing:
    _check_reassignment(cluster, act.partition, act.replicas)

    def doing() -> None:
        if _reassignment_holds(cluster, act.partition, act.replicas):
            cluster.controller.replication.reassign(act.partition, act.replicas)

    return lambda: cluster.administer(doing)


def _cancel_reassignment(cluster: Cluster, act: acts.CancelReassignment) -> Doing:
    _check_reassignment(cluster, act.partition, None)

    def doing() -> None:
        if _reassignment_holds(cluster, act.partition, None):
            cluster.controller.replication.cancel_reassignment(act.partition)

    return lambda: cluster.administer(doing)


def _reassignment_holds(cluster: Cluster, tp: TopicPartition, replicas: tuple[int, ...] | None) -> bool:
    """Whether a reassignment is still possible by the time it is committed."""
    try:
        cluster.controller.replication.check_reassignment(tp, replicas)
    except KafkaError:
        return False
    return True


def _check_reassignment(cluster: Cluster, tp: TopicPartition, replicas: tuple[int, ...] | None) -> None:
    _need_controller(cluster)
    try:
        cluster.controller.replication.check_reassignment(tp, replicas)
    except KafkaError as refusal:
        raise ActRefused(str(refusal)) from None


# --- clients -------------------------------------------------------------------------------------------------------


def _check_idempotence(cluster: Cluster, act: acts.Produce | acts.Load, acks_value: int) -> None:
    """Kafka's rule (`ProducerConfig#postProcessAndValidateIdempotenceConfigs`), and that a producer is one or the other for life."""
    known = cluster.producer(act.producer)
    idempotent = act.idempotence if known is None else known.idempotent
    if idempotent and acks_value != -1:
        raise ActRefused("Must set acks to all in order to use the idempotent producer. Otherwise we cannot guarantee idempotence.")
    if known is not None and act.idempotence and not known.idempotent:
        raise ActRefused(f"producer {act.producer} is there already, without idempotence; give the idempotent one another name")


def _producer(cluster: Cluster, name: str, topic: str, acks_value: int, *, idempotent: bool = False) -> Producer:
    """The producer of that name on that topic, made if there is none.

    Raises:
        ActRefused: the name is another node's, or that producer writes to another topic.
    """
    known = cluster.nodes.get(name)
    if known is None:
        producer = Producer(name, topic, acks_value, tuple(cluster.brokers), cluster.network, cluster.journal, cluster.account)
        producer.idempotent = idempotent
        cluster.add_client(producer)
        return producer
    assert isinstance(known, Producer)
    return known


def _check_client(cluster: Cluster, name: str, topic: str, kind: type, what: str) -> None:
    _topic(cluster, topic)
    known = cluster.nodes.get(name)
    if known is None:
        if name in (CONTROLLER, ZOOKEEPER) or (name[:1] in "bc" and name[1:].isdecimal()):
            raise ActRefused(f"{name} is a broker's or the controller's name; give the {what} another")
        return
    if not isinstance(known, kind):
        raise ActRefused(f"{name} is no {what}; give it another name")
    if known.topic != topic:  # type: ignore[attr-defined]
        raise ActRefused(f"{what} {name} works on topic {known.topic}; give the new one another name")  # type: ignore[attr-defined]


def _produce(cluster: Cluster, act: acts.Produce) -> Doing:
    acks_value = _acks(act.acks)
    _check_client(cluster, act.producer, act.topic, Producer, "producer")
    _check_idempotence(cluster, act, acks_value)
    if act.records < 1:
        raise ActRefused(f"produce at least 1 record, not {act.records}")
    if act.bytes < 1:
        raise ActRefused(f"a record has at least 1 byte, not {act.bytes}")
    partitions = cluster.controller.replication.topics[act.topic].partitions
    if act.partition is not None and not 0 <= act.partition < len(partitions):
        raise ActRefused(f"{act.topic} has partitions 0 to {len(partitions) - 1}, not {act.partition}")

    if act.to is not None:
        if not cluster.by_hand:
            raise ActRefused("produce to a named broker needs a cluster with pace: by-hand; elsewhere producers find the leader themselves")
        _running(cluster, act.to)

    def doing() -> None:
        producer = _producer(cluster, act.producer, act.topic, acks_value, idempotent=act.idempotence)
        producer.acks = acks_value
        if cluster.by_hand:
            producer.leaders = list(cluster.controller.leaders(act.topic))
        if act.to is not None:
            producer.leaders = [(act.to, epoch) for _, epoch in producer.leaders]
        producer.produce(act.records, act.bytes, act.partition)

    return doing


def _load(cluster: Cluster, act: acts.Load) -> Doing:
    acks_value = _acks(act.acks)
    _check_client(cluster, act.producer, act.topic, Producer, "producer")
    _check_idempotence(cluster, act, acks_value)
    if act.rate < 1 or act.every < 1 or act.bytes < 1:
        raise ActRefused("a load needs a rate, an interval and a record size of at least 1")

    def doing() -> None:
        producer = _producer(cluster, act.producer, act.topic, acks_value, idempotent=act.idempotence)
        producer.acks = acks_value
        producer.start_load(act.rate, act.every, act.bytes)

    return doing


def _existing_producer(cluster: Cluster, name: str) -> Producer:
    producer = cluster.producer(name)
    if producer is None:
        known = [client.name for client in cluster.clients.values() if isinstance(client, Producer)]
        raise ActRefused(f"there is no producer {name}; there are {', '.join(known) or 'none'}")
    return producer


def _stop_load(cluster: Cluster, act: acts.StopLoad) -> Doing:
    return _existing_producer(cluster, act.producer).stop_load


def _change_acks(cluster: Cluster, act: acts.Acks) -> Doing:
    producer, value = _existing_producer(cluster, act.producer), _acks(act.acks)
    if producer.idempotent and value != -1:
        raise ActRefused("Must set acks to all in order to use the idempotent producer. Otherwise we cannot guarantee idempotence.")

    def doing() -> None:
        producer.acks = value

    return doing


def _consume(cluster: Cluster, act: acts.Consume) -> Doing:
    _check_client(cluster, act.consumer, act.topic, Consumer, "consumer")
    if act.reset not in ("earliest", "latest"):
        raise ActRefused(f"reset is earliest or latest, not {act.reset}")
    if act.consumer in cluster.nodes:
        raise ActRefused(f"consumer {act.consumer} is there already")

    def doing() -> None:
        consumer = Consumer(act.consumer, act.topic, act.reset, tuple(cluster.brokers), cluster.network, cluster.journal, cluster.account)
        cluster.add_client(consumer)
        consumer.start()

    return doing


def _stop_consume(cluster: Cluster, act: acts.StopConsume) -> Doing:
    consumer = cluster.consumer(act.consumer)
    if consumer is None or consumer.stopped:
        raise ActRefused(f"there is no consumer {act.consumer}")
    return consumer.stop


# --- by hand -------------------------------------------------------------------------------------------------------


def _fetchers(cluster: Cluster, follower: int, leader: int | None) -> list[Fetcher]:
    broker = _running(cluster, follower)
    found = [fetcher for fetcher in broker.replicas.fetchers.values() if fetcher.states and leader in (None, fetcher.leader)]
    if not found:
        raise ActRefused(f"broker {follower} follows nothing" + (f" that broker {leader} leads" if leader is not None else ""))
    return found


def _fetch(cluster: Cluster, act: acts.Fetch) -> Doing:
    fetchers = _fetchers(cluster, act.follower, act.leader)

    def doing() -> None:
        for fetcher in fetchers:
            _turn(cluster, fetcher, 0, 1, act.records or 0)

    return doing


def _turn(cluster: Cluster, fetcher: Fetcher, max_wait: int, min_bytes: int, max_records: int) -> None:
    """One turn of a fetcher: what it must ask before it may fetch, then the fetch."""
    if fetcher.in_flight:
        fetcher.abandon()
    fetcher.end_back_offs()
    for _ in range(64):
        preparing = bool(fetcher.preparing)
        fetcher.send_next(max_wait, min_bytes, max_records)
        cluster.settle()
        if not preparing:
            break


def _arrive(cluster: Cluster, act: acts.Arrive) -> Doing:
    fetchers = _fetchers(cluster, act.follower, act.leader)

    def doing() -> None:
        for fetcher in fetchers:
            _turn(cluster, fetcher, FOREVER, FOREVER, 0)

    return doing


def _answer(cluster: Cluster, act: acts.Answer) -> Doing:
    follower = _running(cluster, act.follower)
    waiting = [
        (leader, session)
        for leader in cluster.brokers.values()
        for session in leader.replicas.sessions.values()
        if session.follower == act.follower and session.parked is not None and act.leader in (None, leader.id)
    ]
    if not waiting:
        raise ActRefused(f"no fetch of broker {act.follower} is waiting; let it arrive first")

    def doing() -> None:
        for leader, session in waiting:
            if act.lost:
                cluster.network.lose_next.add((leader.address, follower.address))
            leader.complete_fetch(session, act.records or 0)

    return doing


def _fence(cluster: Cluster, act: acts.Fence) -> Doing:
    _broker(cluster, act.broker)
    if cluster.controller.brokers[act.broker].fenced:
        raise ActRefused(f"broker {act.broker} is fenced already")
    return lambda: cluster.controller.fence(act.broker, by_session=False)


def _bounce(cluster: Cluster, act: acts.Bounce) -> Doing:
    broker = _running(cluster, act.broker)
    _check_keep(broker, act.keep)

    def doing() -> None:
        broker.bounce(act.keep, clean=act.clean)
        cluster.controller.bounced(broker.id)

    return doing


def _checkpoint(cluster: Cluster, act: acts.Checkpoint) -> Doing:
    return _running(cluster, act.broker).checkpoint


def _check_isr(cluster: Cluster, act: acts.CheckIsr) -> Doing:
    return _running(cluster, act.broker).check_isr


_DEEDS: Final[dict[type[acts.Act], Callable[[Any, Any], Doing]]] = {
    acts.Kill: _kill,
    acts.PowerLoss: _power_loss,
    acts.Shutdown: _shutdown,
    acts.Start: _start,
    acts.Pause: _pause,
    acts.Resume: _resume,
    acts.FailDir: _fail_dir,
    acts.RepairDir: _repair_dir,
    acts.MoveReplica: _move_replica,
    acts.SlowDisk: _slow_disk,
    acts.DeleteRecords: _delete_records,
    acts.KillController: _kill_controller,
    acts.StartController: _start_controller,
    acts.PauseController: _pause_controller,
    acts.ResumeController: _resume_controller,
    acts.Cut: _cut,
    acts.Heal: _heal,
    acts.Isolate: _isolate,
    acts.Link: _link,
    acts.Hold: _hold,
    acts.Release: _release,
    acts.Set: _set,
    acts.CreateTopic: _create_topic,
    acts.Elect: _elect,
    acts.Reassign: _reassign,
    acts.CancelReassignment: _cancel_reassignment,
    acts.Produce: _produce,
    acts.Load: _load,
    acts.StopLoad: _stop_load,
    acts.Acks: _change_acks,
    acts.Consume: _consume,
    acts.StopConsume: _stop_consume,
    acts.Fetch: _fetch,
    acts.Arrive: _arrive,
    acts.Answer: _answer,
    acts.Fence: _fence,
    acts.Bounce: _bounce,
    acts.Checkpoint: _checkpoint,
    acts.CheckIsr: _check_isr,
}
