"""Settings of producers and consumers: Kafka's names and defaults by release, combinations that are not allowed, and the effect of each
setting.
"""

from __future__ import annotations

import attrs
import pytest

from core.kafka import events
from core.kafka.clients.client import POLL_DELAY
from core.kafka.clients.client_config import NO_DELIVERY_TIMEOUT, Idempotence, client_config
from core.kafka.clients.client_settings import CLIENT_SETTINGS, CONSUMER, PRODUCER
from core.kafka.messages import MetadataRequest
from core.kafka.release import RELEASES
from core.kafka.settings.setting import MAX_INT
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.errors import ActRefused
from core.sim.units import SECOND


@pytest.mark.parametrize(
    ("release", "delivery", "retries", "consumer_request"),
    [
        ("0.9", NO_DELIVERY_TIMEOUT, 0, 40),
        ("0.10.2", NO_DELIVERY_TIMEOUT, 0, 305),
        ("2.0", NO_DELIVERY_TIMEOUT, 0, 30),
        ("2.1", 120 * SECOND, MAX_INT, 30),
        ("4.3", 120 * SECOND, MAX_INT, 30),
    ],
)
def test_defaults_by_release(release: str, delivery: int, retries: int, consumer_request: int) -> None:
    producer = client_config(PRODUCER, (), RELEASES[release])
    assert (producer.delivery_timeout, producer.retries, producer.request_timeout) == (delivery, retries, 30 * SECOND)
    assert (producer.max_in_flight, producer.metadata_max_age) == (5, 300 * SECOND)
    assert client_config(CONSUMER, (), RELEASES[release]).request_timeout == consumer_request * SECOND


MS = 1_000

NEWEST = {
    "request_timeout": 30_000 * MS, "metadata_max_age": 300_000 * MS, "delivery_timeout": 120_000 * MS, "retries": 2**31 - 1, "max_in_flight": 5,
    "transaction_timeout": 60_000 * MS, "session_timeout": 45_000 * MS, "heartbeat_interval": 3_000 * MS, "max_poll_interval": 300_000 * MS,
    "max_poll_records": 500, "auto_commit_interval": 5_000 * MS, "default_api_timeout": 60_000 * MS, "batches": False, "linger": 0,
    "batch_size": 16_384, "buffer_memory": 33_554_432, "max_block": 60_000 * MS, "acks": -1, "idempotence": Idempotence.WITH_ACKS_ALL,
    "retry_backoff": 100 * MS, "retry_backoff_max": 1_000 * MS, "reconnect_backoff": 50 * MS, "reconnect_backoff_max": 1_000 * MS,
    "fetch_max_wait": 500 * MS, "fetch_min_bytes": 1, "max_partition_fetch_bytes": 1_048_576, "adapts_partitions": True,
    "ignores_keys": False, "bootstrap": (), "rebootstraps": True, "rebootstrap_trigger": 300_000 * MS, "retries_with_new_leader": True,
    "ignores_older_epochs": True, "knows_topic_ids": True,
}  # fmt: skip
"""The documented defaults of Kafka 4.3 (`ProducerConfig`, `ConsumerConfig`), with times in µs."""

OLDER = {
    "2.8": {
        "acks": 1, "idempotence": Idempotence.OFF, "session_timeout": 10_000 * MS, "retry_backoff_max": 100 * MS, "rebootstraps": False,
        "rebootstrap_trigger": -1, "retries_with_new_leader": False,
    },
    "0.9": {
        "acks": 1, "idempotence": Idempotence.OFF, "delivery_timeout": NO_DELIVERY_TIMEOUT, "retries": 0, "session_timeout": 30_000 * MS,
        "max_poll_records": 2**31 - 1, "retry_backoff_max": 100 * MS, "reconnect_backoff_max": 50 * MS, "rebootstraps": False,
        "rebootstrap_trigger": -1, "retries_with_new_leader": False, "ignores_older_epochs": False, "knows_topic_ids": False,
    },
}  # fmt: skip
"""What differs in older releases: KIP-679, KIP-735, KIP-580, KIP-899, KIP-1102, KIP-91, KIP-41, KIP-144."""


@pytest.mark.parametrize("release", ["4.3", *OLDER])
def test_every_default_is_the_documented_one(release: str) -> None:
    producer, consumer = (attrs.asdict(client_config(kind, (), RELEASES[release])) for kind in (PRODUCER, CONSUMER))
    of_consumers = {
        name: consumer[name] for name in consumer if name.startswith(("session", "heartbeat", "max_poll", "auto", "default", "fetch"))
    }
    assert producer | of_consumers == NEWEST | OLDER.get(release, {})


def test_an_idempotent_producer_of_an_old_release_retries() -> None:
    assert client_config(PRODUCER, (("enable.idempotence", "true"),), RELEASES["0.11"]).retries == MAX_INT
    assert client_config(PRODUCER, (), RELEASES["0.11"], transactional=True).retries == MAX_INT


@pytest.mark.parametrize(("release", "acks", "idempotent"), [("0.10.2", 1, False), ("2.8", 1, False), ("3.3", -1, True), ("4.3", -1, True)])
def test_idempotence_and_acks_all_are_the_default_since_3_0(release: str, acks: int, idempotent: bool) -> None:
    """KIP-679."""
    config = client_config(PRODUCER, (), RELEASES[release])
    assert (config.acks, config.idempotent) == (acks, idempotent)


@pytest.mark.parametrize(
    ("given", "release", "idempotent"),
    [
        ({"enable.idempotence": "false"}, "4.3", False),
        ({"acks": "1"}, "4.3", False),
        ({"acks": "0"}, "3.9", False),
        ({"acks": "-1"}, "3.9", True),
        ({"retries": "0"}, "4.3", False),
        ({"retries": "3"}, "4.3", True),
        ({"max.in.flight.requests.per.connection": "6"}, "3.9", False),
        ({"max.in.flight.requests.per.connection": "6", "acks": "1"}, "3.9", False),
        ({"enable.idempotence": "true"}, "2.8", True),
        ({"enable.idempotence": "true"}, "0.10.2", False),
    ],
)
def test_explicit_settings_switch_the_default_idempotence_off(given: dict[str, str], release: str, idempotent: bool) -> None:
    """`ProducerConfig#postProcessAndValidateIdempotenceConfigs`, KAFKA-13598. The setting is unknown before 0.11."""
    assert client_config(PRODUCER, given.items(), RELEASES[release]).idempotent is idempotent


def test_an_idempotent_producer_of_an_old_release_waits_for_the_whole_isr() -> None:
    assert client_config(PRODUCER, (("enable.idempotence", "true"),), RELEASES["2.8"]).acks == -1


@pytest.mark.parametrize(
    ("given", "release", "words"),
    [
        ({"enable.idempotence": "false"}, "4.3", "Cannot set a transactional.id without also enabling idempotence"),
        ({"acks": "1"}, "4.3", "Cannot set a transactional.id without also enabling idempotence"),
        ({"acks": "1"}, "2.8", "Must set acks to all"),
    ],
)
def test_a_transactional_producer_is_idempotent(given: dict[str, str], release: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        client_config(PRODUCER, given.items(), RELEASES[release], transactional=True)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"delivery.timeout.ms": "1000"}, "delivery.timeout.ms should be equal to or larger than linger.ms"),
        ({"enable.idempotence": "true", "retries": "0"}, "Must set retries to non-zero"),
        ({"enable.idempotence": "true", "acks": "1"}, "Must set acks to all"),
        ({"max.in.flight.requests.per.connection": "6"}, "at most 5"),
        ({"delivery.timout.ms": "1"}, "did you mean 'delivery.timeout.ms'"),
        ({"retries": "often"}, "takes a whole number, not 'often'"),
        ({"retries": "-1"}, "takes a number from 0 to 2147483647, not -1"),
        ({"max.in.flight.requests.per.connection": "0"}, "from 1 to"),
        ({"acks": "2"}, "acks takes 0, 1, all, or -1, not '2'"),
        ({"enable.idempotence": "yes"}, "enable.idempotence takes true or false, not 'yes'"),
    ],
)
def test_what_kafka_refuses(given: dict[str, str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        client_config(PRODUCER, given.items(), RELEASES["4.3"])


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("delivery.timeout.ms", 0),
        ("request.timeout.ms", 1),
        ("metadata.max.age.ms", 1),
        ("retries", 0),
        ("max.in.flight.requests.per.connection", 1),
    ],
)
def test_bounds(name: str, least: int) -> None:
    """The bounds are Kafka's, except for `metadata.max.age.ms`: virtual time would not advance if a client requested metadata without a
    pause.
    """
    setting = CLIENT_SETTINGS[name]
    assert [setting.parse(str(value)) for value in (least, MAX_INT)] == [least, MAX_INT]
    for value in (least - 1, MAX_INT + 1):
        with pytest.raises(ValueError, match=f"{name} takes a number from {least} to {MAX_INT}, not {value}"):
            setting.parse(str(value))


def test_a_request_timeout_above_it_raises_a_delivery_timeout_that_nobody_set() -> None:
    assert client_config(PRODUCER, (("request.timeout.ms", "200000"),), RELEASES["4.3"]).delivery_timeout == 200 * SECOND


def test_a_name_that_the_release_does_not_have_is_ignored() -> None:
    assert client_config(PRODUCER, (("delivery.timeout.ms", "40000"),), RELEASES["1.1"]).delivery_timeout == NO_DELIVERY_TIMEOUT


class Drill:
    """A partition with two replicas on two of three brokers, led by broker 1."""

    def __init__(self, release: str = "4.3", **changes: object) -> None:
        self.told: list[tuple] = []
        spec = ClusterSpec(
            tuple(BrokerSpec(broker) for broker in (1, 2, 3)),
            (TopicSpec("t", assignment=(PartitionSpec((1, 2)),), config=(("min.insync.replicas", "2"),)),),
            **changes,  # type: ignore[arg-type]
        )
        self.cluster = Cluster(spec, RELEASES[release], sink=self.told.append)
        self.cluster.run_until(SECOND)

    def produce(self, *config: tuple[str, str], acks: str = "all", producer: str = "p", idempotence: bool = False) -> int:
        """Produce one record, and return the time."""
        self.cluster.do(acts.Produce("t", 1, acks=acks, producer=producer, config=config, idempotence=idempotence or None))
        return self.cluster.now

    def times(self, kind: type) -> list[int]:
        """Return the times of the events of a kind, in µs."""
        return [event[1] for event in self.told if event[3] == kind.kind]  # type: ignore[attr-defined]


DRILL = (("delivery.timeout.ms", "8000"), ("request.timeout.ms", "3000"))
"""The configuration of the producers in the recorded drills."""


def test_delivery_timeout_ends_retries_to_the_moment() -> None:
    """One of two replicas is left, and min.insync.replicas is 2: each attempt fails until the producer gives the batch up."""
    drill = Drill()
    drill.produce(*DRILL)
    drill.cluster.run_until(5 * SECOND)
    drill.cluster.do(acts.Kill(2))
    drill.cluster.run_until(20 * SECOND)
    made = drill.produce()
    drill.cluster.run_until(60 * SECOND)
    assert drill.times(events.ProduceGivenUp) == [made + 8 * SECOND]


def test_delivery_timeout_holds_for_a_batch_that_is_on_its_way_too() -> None:
    """The follower is paused. The leader holds each attempt for the request's timeout of three seconds."""
    drill = Drill(settings=(("replica.lag.time.max.ms", 300_000), ("broker.session.timeout.ms", 300_000)))
    drill.produce(*DRILL)
    drill.cluster.run_until(3 * SECOND)
    drill.cluster.do(acts.Pause(2))
    made = drill.produce()
    drill.cluster.run_until(60 * SECOND)
    assert drill.times(events.ProduceGivenUp) == [made + 8 * SECOND]


def test_request_timeout_finds_a_silent_broker() -> None:
    """The broker's messages are held: nothing shows that the broker is gone until the request times out."""
    drill = Drill()
    drill.produce(*DRILL)
    drill.cluster.run_until(5 * SECOND)
    drill.cluster.do(acts.Cut(("p", "b1")))
    sent = drill.produce()
    drill.cluster.run_until(sent + 4 * SECOND)
    assert drill.times(events.ProduceFailed)[0] == sent + 3 * SECOND + POLL_DELAY


@pytest.mark.parametrize(
    ("release", "config", "attempts"), [("4.3", (("retries", "3"),), 4), ("4.3", (("retries", "0"),), 1), ("2.0", (), 1)]
)
def test_retries_are_counted(release: str, config: tuple[tuple[str, str], ...], attempts: int) -> None:
    drill = Drill(release)
    drill.cluster.do(acts.Kill(2))
    drill.cluster.run_until(40 * SECOND)
    drill.produce(*config)
    drill.cluster.run_until(60 * SECOND)
    assert len(drill.times(events.ProduceFailed)) == attempts
    assert len(drill.times(events.ProduceGivenUp)) == 1


def test_before_2_1_a_batch_that_cannot_be_sent_waits_for_request_timeout() -> None:
    drill = Drill("2.0")
    drill.produce(("request.timeout.ms", "4000"))
    drill.cluster.run_until(5 * SECOND)
    drill.cluster.do(acts.Kill(2))
    drill.cluster.run_until(40 * SECOND)
    drill.cluster.do(acts.Kill(1))
    drill.cluster.run_until(80 * SECOND)
    made = drill.produce()
    drill.cluster.run_until(120 * SECOND)
    assert drill.times(events.ProduceGivenUp) == [made + 4 * SECOND]


@pytest.mark.parametrize(("limit", "highest"), [("1", 1), ("2", 2), ("5", 5)])
def test_max_in_flight_limits_what_is_on_its_way(limit: str, highest: int) -> None:
    drill = Drill(settings=(("replica.lag.time.max.ms", 300_000), ("broker.session.timeout.ms", 300_000)))
    drill.produce(("max.in.flight.requests.per.connection", limit))
    drill.cluster.run_until(3 * SECOND)
    drill.cluster.do(acts.Pause(2))
    for _ in range(9):
        drill.produce()
    drill.cluster.run_until(4 * SECOND)
    producer = drill.cluster.clients.producer("p")
    assert producer is not None
    assert len(producer.sender.in_flight.batches) == highest


@pytest.mark.parametrize("client", ["p", "c"])
def test_metadata_max_age(client: str) -> None:
    drill = Drill()
    config = (("metadata.max.age.ms", "5000"),)
    if client == "p":
        drill.produce(*config)
    else:
        drill.cluster.do(acts.Consume("t", consumer="c", config=config))
    drill.cluster.run_until(2 * SECOND)
    asked = 0
    while (due := drill.cluster.next_time()) is not None and due <= 22 * SECOND:
        asked += sum(entry[5].__class__ is MetadataRequest and entry[3] == client for entry in drill.cluster.agenda.entries[:1])
        drill.cluster.step()
    assert asked == 4


def test_settings_of_all_clients_and_of_one() -> None:
    drill = Drill(clients=(*DRILL, ("metadata.max.age.ms", "5000")))
    drill.produce(("delivery.timeout.ms", "9000"))
    drill.cluster.do(acts.Consume("t", consumer="c"))
    producer, consumer = drill.cluster.clients.producer("p"), drill.cluster.clients.consumer("c")
    assert producer is not None
    assert consumer is not None
    assert (producer.config.delivery_timeout, producer.config.request_timeout) == (9 * SECOND, 3 * SECOND)
    assert (consumer.config.request_timeout, consumer.config.metadata_max_age) == (3 * SECOND, 5 * SECOND)


def test_a_producer_keeps_its_settings() -> None:
    drill = Drill()
    drill.produce(*DRILL)
    drill.produce(*DRILL)
    drill.produce()
    with pytest.raises(ActRefused, match="producer p already exists with other settings"):
        drill.produce(("retries", "1"))
    with pytest.raises(ActRefused, match="retries is a setting of producers, not of consumers"):
        drill.cluster.do(acts.Consume("t", config=(("retries", "1"),)))
    with pytest.raises(ActRefused, match="Must set retries to non-zero"):
        drill.produce(("retries", "0"), producer="q", idempotence=True)


def test_wrong_settings_of_all_clients_are_refused_before_anything_runs() -> None:
    with pytest.raises(ValueError, match="should be equal to or larger"):
        Drill(clients=(("delivery.timeout.ms", "1"),))
