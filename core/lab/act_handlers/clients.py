"""Acts on producers and consumers."""

from __future__ import annotations

from typing import Final

import attrs

from core.kafka.applications.processes.consuming_process import ConsumingProcess
from core.kafka.clients.client_config import ACKS_ALL, ACKS_CONFLICT, ClientConfig, Idempotence, client_config
from core.kafka.clients.client_settings import CONSUMER, PRODUCER, client_setting_named
from core.kafka.clients.consumer.consumer import Consumer
from core.kafka.clients.producer.keyed_records import KeyedRecords, keys_of
from core.kafka.clients.producer.producer import Producer
from core.kafka.clients.producer.producer_transaction_state import SEND
from core.kafka.clients.producer.transactional_load import TransactionalLoad
from core.kafka.ids import CONTROLLER, ZOOKEEPER
from core.lab import acts
from core.lab.act_handlers import find
from core.lab.act_handlers.internal_topics import check_transaction_state_topic
from core.lab.act_settings import Settings, settings_of
from core.lab.cluster_nodes import ClusterNodes
from core.sim.errors import ActRefused
from core.sim.units import SECOND

MAX_KEYED: Final = 1_000_000
"""The maximum number of records with keys that one act can produce. The laboratory keeps every record with a key in memory."""


def config_of(cluster: ClusterNodes, kind: str, config: Settings, *, transactional: bool = False, any_kind: bool = False) -> ClientConfig:
    """Return the configuration of a client. The settings in the act override the settings for all clients of the cluster.

    If `any_kind` is set, the act configures clients of several kinds, so settings for the other kinds are accepted but ignored.

    Raises:
        ActRefused: a setting is unknown or wrong, or settings contradict each other.
    """
    try:
        for name, _ in config:
            client_setting_named(name, "" if any_kind else kind)
        found = client_config(kind, (*cluster.spec.clients, *config), cluster.release, transactional=transactional)
    except ValueError as wrong:
        raise ActRefused(str(wrong)) from None
    for address in found.bootstrap:
        find.broker(cluster, int(address[1:]))
    return found


def _producer_config(cluster: ClusterNodes, act: acts.Produce | acts.Load, *, transactional: bool = False) -> ClientConfig:
    """Return the configuration of the act's producer, with the acks that it has from now on. The producer need not exist yet.

    Raises:
        ActRefused: the producer already exists with a different configuration.
    """
    if act.acks is not None:
        find.acks(act.acks)
    given = settings_of(act)
    known = cluster.clients.producer(act.producer)
    if known is None:
        return config_of(cluster, PRODUCER, given, transactional=transactional)
    if not given:
        return attrs.evolve(known.config, acks=known.accumulator.acks)
    acks = () if "acks" in dict(given) else (("acks", "all" if known.accumulator.acks < 0 else str(known.accumulator.acks)),)
    config = config_of(cluster, PRODUCER, (*given, *acks), transactional=transactional or known.transactions is not None)
    if act.config and attrs.evolve(config, acks=known.config.acks, idempotence=known.config.idempotence) != known.config:
        raise ActRefused(f"producer {act.producer} already exists with other settings; give the new producer another name")
    wanted = dict(given).get("enable.idempotence")
    if wanted is not None and (wanted == "true") != known.sender.idempotent:
        others, needed = ("without", "idempotent producer") if wanted == "true" else ("with", "producer without idempotence")
        raise ActRefused(f"producer {act.producer} already exists {others} idempotence; give the {needed} another name")
    check_acks(known, config.acks)
    return attrs.evolve(known.config, acks=config.acks)


def check_acks(producer: Producer, acks: int) -> None:
    """Check that a producer can have the given acks.

    Raises:
        ActRefused: the producer must be idempotent, and acks is not `all`.
    """
    if producer.config.idempotence is Idempotence.REQUIRED and acks != ACKS_ALL:
        raise ActRefused(ACKS_CONFLICT)


def producer_named(
    cluster: ClusterNodes, name: str, topic: str, config: ClientConfig, *, compression_percent: int = 100, transactional_id: str = ""
) -> Producer:
    """Return the producer with the given name. If the producer does not exist, create it, with a transactional.id if one is given."""
    known = cluster.nodes.get(name)
    if known is None:
        producer = Producer(name, topic, config.acks, cluster.clients.context())
        producer.configure(config, cluster.release)
        if config.batches:
            producer.enable_batching(cluster.release, f"{cluster.seed}:partitioner:{name}", compression_percent / 100)
        if transactional_id:
            producer.enable_transactions(cluster.release, transactional_id, config.transaction_timeout)
        cluster.clients.add(producer, by_hand=cluster.by_hand)
        producer.sender.start()
        return producer
    assert isinstance(known, Producer)
    known.change_acks(config.acks, cluster.release)
    return known


def check_client(cluster: ClusterNodes, name: str, topic: str, kind: type, what: str, *, several: bool = False) -> None:
    """Check that a name is free, or that it belongs to a client of this kind and topic.

    If `several` is set, the client can also use other topics.

    Raises:
        ActRefused: the name belongs to another node, or to a client of another kind or topic.
    """
    find.topic(cluster, topic)
    known = cluster.nodes.get(name)
    if known is None:
        if name in (CONTROLLER, ZOOKEEPER) or (name[:1] in "bc" and name[1:].isdecimal()):
            raise ActRefused(f"{name} is the name of a broker or of the controller; give the {what} another name")
        return
    if not isinstance(known, kind) or (isinstance(known, ConsumingProcess) and not issubclass(kind, ConsumingProcess)):
        raise ActRefused(f"{name} is not a {what}; use another name")
    if known.topic != topic and not several:  # type: ignore[attr-defined]
        raise ActRefused(f"{what} {name} already uses topic {known.topic}; give the new {what} another name")  # type: ignore[attr-defined]


def _keyed(keys: str, value: str = "") -> KeyedRecords | None:
    """Return the keys and values of an act's records; None if the records have no keys.

    Raises:
        ActRefused: the keys are not valid, or there is a value without a key.
    """
    if not keys:
        if value:
            raise ActRefused("only records with keys have a value; add 'keys'")
        return None
    try:
        return KeyedRecords(keys_of(keys), value)
    except ValueError as wrong:
        raise ActRefused(str(wrong)) from None


def _check_compression(act: acts.Produce | acts.Load, config: ClientConfig) -> None:
    """Check the compression that an act specifies.

    Raises:
        ActRefused: the value is out of range, or the producer does not collect records in batches.
    """
    if not 1 <= act.compression <= 100:
        raise ActRefused(f"compression must be from 1 to 100 percent of the uncompressed size, not {act.compression}")
    if act.compression != 100 and not config.batches:
        raise ActRefused("compression needs a producer that collects records in batches; add linger.ms or batch.size to its config")


def _produce(cluster: ClusterNodes, act: acts.Produce) -> find.CheckThenDo:
    known = cluster.clients.producer(act.producer)
    check_client(cluster, act.producer, act.topic, Producer, "producer", several=type(known) is Producer)
    if "transactional.id" in dict(act.config):
        raise ActRefused("start a producer with a transactional.id with init-transactions; 'produce' then uses it")
    config = _producer_config(cluster, act)
    if act.records < 1:
        raise ActRefused(f"produce at least 1 record, not {act.records}")
    if act.bytes < 1:
        raise ActRefused(f"a record must have at least 1 byte, not {act.bytes}")
    keyed = _keyed(act.keys, act.value)
    if keyed is not None and act.records > MAX_KEYED:
        raise ActRefused(f"produce at most {MAX_KEYED:,} records with keys at once, not {act.records:,}")
    partitions = cluster.controller.registry.topics[act.topic].partitions
    if act.partition is not None and not 0 <= act.partition < len(partitions):
        raise ActRefused(f"{act.topic} has partitions 0 to {len(partitions) - 1}, not {act.partition}")

    _check_compression(act, config)
    if known is not None and known.transactions is not None and (refusal := known.transactions.refusal(SEND)):
        raise ActRefused(refusal)

    if act.to is not None:
        if not cluster.by_hand:
            raise ActRefused(
                "producing to a specific broker needs a cluster with 'pace: by-hand'; otherwise, producers find the leader on their own"
            )
        find.running_broker(cluster, act.to)
    yield
    producer = producer_named(cluster, act.producer, act.topic, config, compression_percent=act.compression)
    producer.write_topic(act.topic)
    batching = producer.accumulator.batching
    if batching is not None and act.topic not in batching.partitioners:
        seed = f"{cluster.seed}:partitioner:{act.producer}:{act.topic}"
        batching.add_topic(act.topic, cluster.release, seed, adapts=producer.config.adapts_partitions)
    leaders = producer.leaders_of(act.topic)
    if cluster.by_hand:
        leaders[:] = cluster.controller.leaders(act.topic)
    if act.to is not None:
        leaders[:] = [(act.to, epoch) for _, epoch in leaders]
    producer.produce(act.records, act.bytes, act.partition, keyed, act.topic)


def _load(cluster: ClusterNodes, act: acts.Load) -> find.CheckThenDo:
    check_client(cluster, act.producer, act.topic, Producer, "producer")
    config = _producer_config(cluster, act, transactional=bool(act.transactional_id))
    known = cluster.clients.producer(act.producer)
    _check_transactions(cluster, act, known)
    if act.rate < 1 or act.every < 1 or act.bytes < 1:
        raise ActRefused("a load needs a rate, an interval, and a record size of at least 1")
    keyed = _keyed(act.keys)
    _check_compression(act, config)
    yield
    producer = producer_named(
        cluster, act.producer, act.topic, config, compression_percent=act.compression, transactional_id=act.transactional_id
    )
    producer.load_keys = keyed
    if act.transactional_id and producer.transactions is not None:
        producer.transactions.repeats_calls = True
        limited = act.commit_records or act.commit_every
        producer.transactional_load = TransactionalLoad(act.commit_records, act.commit_every if limited else SECOND)
    if cluster.switched_to_by_hand:
        producer.set_load(act.rate, act.every, act.bytes)
    else:
        producer.start_load(act.rate, act.every, act.bytes)


def _check_transactions(cluster: ClusterNodes, act: acts.Load, known: Producer | None) -> None:
    """Check the fields of a load that concern transactions. Return the topic `__transaction_state` if the load needs this topic and the
    topic does not exist.

    Raises:
        ActRefused: the producer or the release does not allow this load.
    """
    if not act.transactional_id:
        if known is not None and known.transactions is not None:
            raise ActRefused(
                f"producer {act.producer} has a transactional.id; give the load a producer of its own, or add "
                f"'transactional-id: {known.transactions.transactional_id}'"
            )
        if act.commit_records or act.commit_every:
            raise ActRefused("'commit-records' and 'commit-every' need a load with transactions; add 'transactional-id'")
        return
    if not cluster.release.transactions:
        raise ActRefused(f"release {cluster.release.name} has no transactions; use 0.11 or later (KIP-98)")
    if known is not None and (known.transactions is None or known.transactions.transactional_id != act.transactional_id):
        raise ActRefused(
            f"producer {act.producer} already exists without transactional.id {act.transactional_id}; give the transactional producer another name"
        )
    check_transaction_state_topic(cluster)


def existing_producer(cluster: ClusterNodes, name: str) -> Producer:
    """Return the producer with the given name.

    Raises:
        ActRefused: there is no producer with this name. The error message names the existing producers.
    """
    producer = cluster.clients.producer(name)
    if producer is None or isinstance(producer, ConsumingProcess):
        known = [client.name for client in cluster.clients.values() if isinstance(client, Producer)]
        raise ActRefused(f"there is no producer {name}; {find.existing('producers', known)}")
    return producer


def _stop_load(cluster: ClusterNodes, act: acts.StopLoad) -> find.CheckThenDo:
    producer = existing_producer(cluster, act.producer)
    yield
    producer.stop_load()


def _change_acks(cluster: ClusterNodes, act: acts.Acks) -> find.CheckThenDo:
    producer, value = existing_producer(cluster, act.producer), find.acks(act.acks)
    check_acks(producer, value)
    yield
    producer.change_acks(value, cluster.release)


def _consume(cluster: ClusterNodes, act: acts.Consume) -> find.CheckThenDo:
    check_client(cluster, act.consumer, act.topic, Consumer, "consumer")
    if act.reset not in ("earliest", "latest"):
        raise ActRefused(f"reset must be earliest or latest, not {act.reset}")
    if act.consumer in cluster.nodes:
        raise ActRefused(f"consumer {act.consumer} already exists")
    release, config = cluster.release, config_of(cluster, CONSUMER, act.config)
    if act.isolation not in ("read_uncommitted", "read_committed"):
        raise ActRefused(f"isolation must be read_uncommitted or read_committed, not {act.isolation}")
    if act.isolation == "read_committed" and not release.transactions:
        raise ActRefused(f"release {release.name} has no transactions; omit 'isolation', or use 0.11 or later (KIP-98)")
    if act.since is not None and not release.finds_by_time:
        raise ActRefused(f"release {release.name} cannot find records by time; omit 'since', or use 0.10.2 or later")
    yield
    consumer = Consumer(act.consumer, act.topic, act.reset, cluster.clients.context())
    consumer.config = config
    consumer.read_committed = act.isolation == "read_committed"
    consumer.validates = release.validates_positions
    consumer.client_rack = find.rack(cluster, act.consumer, act.rack) if release.reads_from_followers else None
    if act.since is not None:
        consumer.start_time = act.since
    cluster.clients.add(consumer, by_hand=cluster.by_hand)
    consumer.start()


def _stop_consume(cluster: ClusterNodes, act: acts.StopConsume) -> find.CheckThenDo:
    consumer = cluster.clients.consumer(act.consumer)
    if consumer is None or consumer.stopped:
        raise ActRefused(f"there is no consumer {act.consumer}")
    yield
    consumer.stop()


HANDLERS: Final[find.Handlers] = {
    acts.Produce: _produce,
    acts.Load: _load,
    acts.StopLoad: _stop_load,
    acts.Acks: _change_acks,
    acts.Consume: _consume,
    acts.StopConsume: _stop_consume,
}
