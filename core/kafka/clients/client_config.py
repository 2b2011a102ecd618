"""The configuration of producers and consumers, with Kafka's names and each release's defaults.

A client has the same release as the brokers. A client ignores the settings that its release does not have. Kafka's clients also log a
warning.

Kafka: `ProducerConfig`, `ConsumerConfig`.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import attrs

from core.kafka.clients.client_settings import BATCHING, CLIENT_SETTINGS, PRODUCER, client_setting_named
from core.kafka.release import CURRENT, Release
from core.kafka.settings.setting import MAX_INT
from core.sim.repr_mixin import ReprMixin
from core.sim.units import US_PER_MS

NO_DELIVERY_TIMEOUT: Final = -1
"""The value of the delivery timeout in releases before 2.1, which have no such timeout.

Before 2.1, a batch fails when it has no retries left or has waited for request.timeout.ms (KIP-91).
"""


def bootstrap_servers(text: str) -> tuple[str, ...]:
    """Return the addresses in the value of bootstrap.servers, such as `b1, b2:9092`. Ports have no meaning.

    Raises:
        ValueError: an address is not the address of a broker.
    """
    found = [each.strip().partition(":")[0] for each in text.split(",") if each.strip()]
    for address in found:
        if address[:1] != "b" or not address[1:].isdecimal():
            raise ValueError(f"bootstrap.servers takes addresses of brokers, such as b1 or b1:9092, not '{address[:40]}'")
    return tuple(found)


ACKS: Final = {"0": 0, "1": 1, "all": -1, "-1": -1}
"""The acknowledgments that a leader waits for, by the value of acks."""

ACKS_ALL: Final = -1
"""The acknowledgments of the whole ISR."""


class Idempotence(enum.Enum):
    """Whether a producer is idempotent."""

    OFF = enum.auto()
    """The producer is not idempotent."""
    WITH_ACKS_ALL = enum.auto()
    """The producer is idempotent by default, but only as long as it has acks=all."""
    REQUIRED = enum.auto()
    """The producer is idempotent because its configuration says so, or because it has a transactional.id. It requires acks=all."""


@attrs.frozen(repr=False)
class ClientConfig(ReprMixin):
    """The configuration of a client. All times are in µs.

    Attributes:
        request_timeout: request.timeout.ms.
        metadata_max_age: metadata.max.age.ms.
        delivery_timeout: delivery.timeout.ms of a producer, or `NO_DELIVERY_TIMEOUT`.
        retries: the maximum number of retries of a producer.
        max_in_flight: max.in.flight.requests.per.connection of a producer, applied per partition.
        transaction_timeout: transaction.timeout.ms of a producer.
        session_timeout: session.timeout.ms of a consumer.
        heartbeat_interval: heartbeat.interval.ms of a consumer.
        max_poll_interval: max.poll.interval.ms of a consumer.
        max_poll_records: max.poll.records of a consumer.
        auto_commit_interval: auto.commit.interval.ms of a consumer.
        default_api_timeout: default.api.timeout.ms of a consumer.
        batches: whether a producer collects records in batches, which it does if linger.ms, batch.size, or buffer.memory was given.
        linger: linger.ms of a producer.
        batch_size: batch.size of a producer, in bytes.
        buffer_memory: buffer.memory of a producer, in bytes.
        max_block: max.block.ms of a producer.
        acks: the acknowledgments that a producer waits for (`ACKS`).
        idempotence: whether a producer is idempotent.
        retry_backoff: retry.backoff.ms.
        retry_backoff_max: retry.backoff.max.ms.
        reconnect_backoff: reconnect.backoff.ms.
        reconnect_backoff_max: reconnect.backoff.max.ms.
        fetch_max_wait: fetch.max.wait.ms of a consumer.
        fetch_min_bytes: fetch.min.bytes of a consumer.
        max_partition_fetch_bytes: max.partition.fetch.bytes of a consumer.
        adapts_partitions: partitioner.adaptive.partitioning.enable of a producer.
        ignores_keys: partitioner.ignore.keys of a producer.
        bootstrap: the addresses of bootstrap.servers; empty for all brokers.
        rebootstraps: whether metadata.recovery.strategy is rebootstrap.
        rebootstrap_trigger: metadata.recovery.rebootstrap.trigger.ms; -1 in releases that have no such setting.
        retries_with_new_leader: whether the backoff of a retry ends early when a new leader is known (KAFKA-15415; `Release.newer_clients`).
        ignores_older_epochs: whether the client ignores metadata with an older leader epoch (`Release.reliable_leader_epochs`).
        knows_topic_ids: whether the client notices that a topic was created again (`Release.metadata_topic_ids`).
    """

    request_timeout: int
    metadata_max_age: int
    delivery_timeout: int
    retries: int
    max_in_flight: int
    transaction_timeout: int
    session_timeout: int
    heartbeat_interval: int
    max_poll_interval: int
    max_poll_records: int
    auto_commit_interval: int
    default_api_timeout: int
    batches: bool
    linger: int
    batch_size: int
    buffer_memory: int
    max_block: int
    acks: int
    idempotence: Idempotence
    retry_backoff: int
    retry_backoff_max: int
    reconnect_backoff: int
    reconnect_backoff_max: int
    fetch_max_wait: int
    fetch_min_bytes: int
    max_partition_fetch_bytes: int
    adapts_partitions: bool
    ignores_keys: bool
    bootstrap: tuple[str, ...]
    rebootstraps: bool
    rebootstrap_trigger: int
    retries_with_new_leader: bool
    ignores_older_epochs: bool
    knows_topic_ids: bool

    @property
    def idempotent(self) -> bool:
        """Whether a producer with this configuration is idempotent."""
        return self.idempotence is not Idempotence.OFF and self.acks == ACKS_ALL


def default_acks(clients: Iterable[tuple[str, str]], release: Release) -> str:
    """Return the acks of producers that do not set it, in a cluster with the given settings for all clients."""
    return dict(clients).get("acks", str(CLIENT_SETTINGS["acks"].default_in(release, PRODUCER)))


ACKS_CONFLICT: Final = "Must set acks to all in order to use the idempotent producer. Otherwise we cannot guarantee idempotence."
"""Kafka's error for an idempotent producer with acks=0 or acks=1."""


class _Idempotence(NamedTuple):
    """The settings of a producer that depend on each other (`ProducerConfig#postProcessAndValidateIdempotenceConfigs`)."""

    idempotence: Idempotence
    acks: int
    retries: int
    in_flight: int


def _idempotence(values: Mapping[str, int | str], release: Release, *, transactional: bool) -> _Idempotence:
    """Return whether a producer is idempotent, and the settings that follow from it.

    Before 3.0, a producer is idempotent only if it must be, and then other settings have other defaults. Since 3.0, it is idempotent by
    default (KIP-679), and explicit settings that contradict idempotence switch it off. In 3.0.0 and 3.1.0, which no release of the
    laboratory stands for, a mistake kept idempotence off by default (KAFKA-13598).

    Raises:
        ValueError: settings contradict each other. The error message is the same as in Kafka.
    """
    by_default = CLIENT_SETTINGS["enable.idempotence"].default_in(release, PRODUCER) == "true"
    given = values.get("enable.idempotence")
    required = given == "true" or (transactional and given is None and not by_default)
    on = required or (by_default and given is None)
    acks = ACKS[str(values.get("acks", "all" if on else CLIENT_SETTINGS["acks"].default_in(release, PRODUCER)))]
    retries = int(values.get("retries", MAX_INT if on else CLIENT_SETTINGS["retries"].default_in(release, PRODUCER)))
    in_flight = int(values.get("max.in.flight.requests.per.connection", min(5, release.idempotent_in_flight) if on else 5))
    if on:
        conflicts = [
            (retries == 0, "Must set retries to non-zero when using the idempotent producer."),
            (acks != ACKS_ALL, ACKS_CONFLICT),
            (
                in_flight > release.idempotent_in_flight,
                f"Must set max.in.flight.requests.per.connection to {'at most 5' if release.idempotent_in_flight > 1 else '1'} to use the "
                "idempotent producer.",
            ),
        ]
        for number, (conflict, error) in enumerate(conflicts):
            if conflict and (required or (number == 2 and release.refuses_more_in_flight)):
                raise ValueError(error)
        on = not conflicts[0][0] and not conflicts[2][0]
    if transactional and not (on and acks == ACKS_ALL):
        raise ValueError("Cannot set a transactional.id without also enabling idempotence.")
    kind = Idempotence.OFF if not on else Idempotence.REQUIRED if required or transactional else Idempotence.WITH_ACKS_ALL
    return _Idempotence(kind, acks, retries, in_flight)


def client_config(kind: str, given: Iterable[tuple[str, str]], release: Release, *, transactional: bool = False) -> ClientConfig:
    """Return the configuration for a kind of client in a release. Settings in `given` that apply only to other kinds of client are ignored.

    A producer with a transactional.id is `transactional`.

    Raises:
        ValueError: a name or value is wrong, or the values contradict each other. The error message is the same as in Kafka.
    """
    values: dict[str, int | str] = {}
    for name, text in given:
        setting = client_setting_named(name)
        value = setting.parse(text)
        if kind in setting.kinds and setting.is_in(release):
            values[name] = value

    def value_of(name: str) -> int:
        return int(values[name] if name in values else CLIENT_SETTINGS[name].default_in(release, kind))

    def word_of(name: str) -> str:
        return str(values[name] if name in values else CLIENT_SETTINGS[name].default_in(release, kind))

    idempotence = _idempotence(values, release, transactional=transactional)
    request_timeout, delivery_timeout = value_of("request.timeout.ms"), value_of("delivery.timeout.ms")
    batches = not values.keys().isdisjoint(BATCHING)
    linger = value_of("linger.ms") if batches else 0
    if kind == PRODUCER and delivery_timeout < linger + request_timeout:
        if "delivery.timeout.ms" in values:
            raise ValueError("delivery.timeout.ms should be equal to or larger than linger.ms + request.timeout.ms")
        delivery_timeout = linger + request_timeout
    has_delivery_timeout = CLIENT_SETTINGS["delivery.timeout.ms"].is_in(release)
    retry_backoff, reconnect_backoff = value_of("retry.backoff.ms") * US_PER_MS, value_of("reconnect.backoff.ms") * US_PER_MS
    retry_backoff_max, reconnect_backoff_max = (  # without a maximum, the backoff does not grow (`ExponentialBackoff`)
        value_of(name) * US_PER_MS if CLIENT_SETTINGS[name].is_in(release) else backoff
        for name, backoff in (("retry.backoff.max.ms", retry_backoff), ("reconnect.backoff.max.ms", reconnect_backoff))
    )
    has_poll_limit = CLIENT_SETTINGS["max.poll.records"].is_in(release)
    return ClientConfig(
        request_timeout=request_timeout * US_PER_MS,
        metadata_max_age=value_of("metadata.max.age.ms") * US_PER_MS,
        delivery_timeout=delivery_timeout * US_PER_MS if has_delivery_timeout else NO_DELIVERY_TIMEOUT,
        retries=idempotence.retries,
        max_in_flight=idempotence.in_flight,
        transaction_timeout=value_of("transaction.timeout.ms") * US_PER_MS,
        session_timeout=value_of("session.timeout.ms") * US_PER_MS,
        heartbeat_interval=value_of("heartbeat.interval.ms") * US_PER_MS,
        max_poll_interval=value_of("max.poll.interval.ms") * US_PER_MS,
        max_poll_records=value_of("max.poll.records") if has_poll_limit else MAX_INT,
        auto_commit_interval=value_of("auto.commit.interval.ms") * US_PER_MS,
        default_api_timeout=value_of("default.api.timeout.ms") * US_PER_MS,
        batches=batches,
        linger=linger * US_PER_MS,
        batch_size=value_of("batch.size"),
        buffer_memory=value_of("buffer.memory"),
        max_block=value_of("max.block.ms") * US_PER_MS,
        acks=idempotence.acks,
        idempotence=idempotence.idempotence,
        retry_backoff=min(retry_backoff, retry_backoff_max),
        retry_backoff_max=retry_backoff_max,
        reconnect_backoff=min(reconnect_backoff, reconnect_backoff_max),
        reconnect_backoff_max=reconnect_backoff_max,
        fetch_max_wait=value_of("fetch.max.wait.ms") * US_PER_MS,
        fetch_min_bytes=value_of("fetch.min.bytes"),
        max_partition_fetch_bytes=value_of("max.partition.fetch.bytes"),
        adapts_partitions=word_of("partitioner.adaptive.partitioning.enable") == "true",
        ignores_keys=word_of("partitioner.ignore.keys") == "true",
        bootstrap=bootstrap_servers(word_of("bootstrap.servers")),
        rebootstraps=word_of("metadata.recovery.strategy") == "rebootstrap",
        rebootstrap_trigger=value_of("metadata.recovery.rebootstrap.trigger.ms") * US_PER_MS
        if CLIENT_SETTINGS["metadata.recovery.rebootstrap.trigger.ms"].is_in(release)
        else -1,
        retries_with_new_leader=release.newer_clients,
        ignores_older_epochs=release.reliable_leader_epochs,
        knows_topic_ids=release.metadata_topic_ids,
    )


DEFAULT: Final = client_config(PRODUCER, (), CURRENT)
"""The default configuration of a producer in the newest release."""
