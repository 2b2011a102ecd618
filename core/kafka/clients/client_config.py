"""The configuration of producers and consumers, with Kafka's names and each release's defaults.

A client has the same release as the brokers. A client ignores the settings that its release does not have. Kafka's clients also log a
warning.

Kafka: `ProducerConfig`, `ConsumerConfig`.
"""

from __future__ import annotations

import difflib
import enum
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import attrs

from core.kafka.release import CURRENT, Release
from core.kafka.settings.setting import MAX_INT, number_within
from core.sim.repr_mixin import ReprMixin
from core.sim.units import US_PER_MS

PRODUCER: Final = "producer"
"""The name of the kind of client that writes records."""

CONSUMER: Final = "consumer"
"""The name of the kind of client that reads records."""

NO_DELIVERY_TIMEOUT: Final = -1
"""The value of the delivery timeout in releases before 2.1, which have no such timeout.

Before 2.1, a batch fails when it has no retries left or has waited for request.timeout.ms (KIP-91).
"""


@attrs.frozen(repr=False)
class ClientSetting(ReprMixin):
    """A client setting.

    Attributes:
        name: Kafka's name for the setting.
        default: the default in the newest release; a number, or one of `words`.
        kinds: the kinds of client that have the setting.
        meaning: a description for help texts.
        least: the lowest allowed value.
        most: the highest allowed value.
        older_defaults: tuples (kind of client, release, default). Each default applies to the given release and to earlier releases.
        since: the first release that has the setting; empty if all releases have it.
        words: the allowed values of a setting that is not a number.
    """

    name: str
    default: int | str
    kinds: tuple[str, ...]
    meaning: str
    least: int = 0
    most: int = MAX_INT
    older_defaults: tuple[tuple[str, str, int | str], ...] = ()
    since: str = ""
    words: tuple[str, ...] = ()

    def default_in(self, release: Release, kind: str) -> int | str:
        """Return the setting's default for a kind of client in a release."""
        for client, upto, value in self.older_defaults:
            if client == kind and release.order <= Release.named(upto).order:
                return value
        return self.default

    def is_in(self, release: Release) -> bool:
        """Return whether a release has the setting."""
        return not self.since or release.order >= Release.named(self.since).order

    def parse(self, text: str) -> int | str:
        """Parse a value of the setting.

        Raises:
            ValueError: the value is not a number, is out of bounds, or is not one of the allowed words.
        """
        if not self.words:
            return number_within(self.name, text, self.least, self.most)
        word = text.strip().lower()
        if word not in self.words:
            raise ValueError(f"{self.name} takes {one_of(self.words)}, not '{text[:80]}'")
        return word


def one_of(words: Sequence[str]) -> str:
    """Return a phrase that lists the allowed words."""
    return f"{words[0]} or {words[1]}" if len(words) == 2 else f"{', '.join(words[:-1])}, or {words[-1]}"


_BOTH: Final = (PRODUCER, CONSUMER)

_BOOLEAN: Final = ("true", "false")

_ALL: Final = (
    ClientSetting(
        "acks", "all", (PRODUCER,),
        "The acknowledgment that the producer waits for: none (0), the leader's (1), or that of the whole ISR (all, or -1).",
        older_defaults=((PRODUCER, "2.8", "1"),), words=("0", "1", "all", "-1"),
    ),
    ClientSetting(
        "enable.idempotence", "true", (PRODUCER,),
        "Whether leaders recognize a retry of the producer, and append no record twice. It needs acks=all. If it is true only by default, "
        "then acks=0, acks=1, or retries=0 switches it off.",
        older_defaults=((PRODUCER, "2.8", "false"),), since="0.11", words=_BOOLEAN,
    ),
    ClientSetting(
        "delivery.timeout.ms", 120_000, (PRODUCER,),
        "The time after which the producer gives up on a batch that has not been acknowledged. The value must be at least linger.ms + request.timeout.ms.", since="2.1",
    ),
    ClientSetting(
        "request.timeout.ms", 30_000, _BOTH, "The time after which a request fails if there is no response. The client then closes the connection.",
        least=1, older_defaults=((CONSUMER, "0.8.2", 30_000), (CONSUMER, "0.9", 40_000), (CONSUMER, "1.1", 305_000)),
    ),
    ClientSetting("metadata.max.age.ms", 300_000, _BOTH, "The maximum time between two requests for metadata, such as partition leaders.", least=1),
    ClientSetting(
        "retries", MAX_INT, (PRODUCER,), "The maximum number of times that the producer retries a batch after a retriable error.",
        older_defaults=((PRODUCER, "2.0", 0),),
    ),
    ClientSetting(
        "max.in.flight.requests.per.connection", 5, (PRODUCER,),
        "The maximum number of unacknowledged batches per partition. If the value is above 1, retries without idempotence can reorder batches.",
        least=1,
    ),
    ClientSetting(
        "linger.ms", 5, (PRODUCER,),
        "How long the producer waits for more records before it sends a batch that is not full. If this setting, batch.size, or buffer.memory is set, "
        "the producer collects records in batches.", older_defaults=((PRODUCER, "3.9", 0),),
    ),
    ClientSetting(
        "batch.size", 16_384, (PRODUCER,), "The maximum size of a batch, in bytes. A larger record is sent in its own batch.",
    ),
    ClientSetting(
        "buffer.memory", 33_554_432, (PRODUCER,), "The memory for batches that have not been acknowledged, in bytes. If it is full, send() blocks.", least=1,
    ),
    ClientSetting(
        "max.block.ms", 60_000, (PRODUCER,), "How long send() can block before it fails. It blocks if the memory is full or a leader is not known.",
    ),
    ClientSetting(
        "transaction.timeout.ms", 60_000, (PRODUCER,),
        "How long a transaction can be open before the transaction coordinator aborts it.", least=1, since="0.11",
    ),
    ClientSetting(
        "session.timeout.ms", 45_000, (CONSUMER,), "The time after which the coordinator removes a member of a group if it does not hear from the member.",
        least=1, older_defaults=((CONSUMER, "0.9", 30_000), (CONSUMER, "2.8", 10_000)), since="0.9",
    ),
    ClientSetting(
        "heartbeat.interval.ms", 3_000, (CONSUMER,), "The interval at which a member of a group sends heartbeats to the coordinator.",
        least=1, since="0.9",
    ),
    ClientSetting(
        "max.poll.interval.ms", 300_000, (CONSUMER,),
        "The maximum time between two calls to poll(). If the application takes longer, the member leaves its group. In a rebalance, the member must rejoin within this time.",
        least=1, since="0.10.2",
    ),
    ClientSetting("max.poll.records", 500, (CONSUMER,), "The maximum number of records that a call to poll() returns.", least=1, since="0.10.2"),
    ClientSetting("auto.commit.interval.ms", 5_000, (CONSUMER,), "The interval at which a consumer commits offsets automatically.", least=1, since="0.9"),
    ClientSetting("default.api.timeout.ms", 60_000, (CONSUMER,), "The time after which a synchronous commit fails.", least=1, since="2.0"),
)  # fmt: skip

BATCHING: Final = frozenset({"linger.ms", "batch.size", "buffer.memory"})
"""The settings that make a producer collect records in batches."""

CLIENT_SETTINGS: Final[Mapping[str, ClientSetting]] = {setting.name: setting for setting in _ALL}
"""All known client settings, by Kafka's names."""


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
    """

    request_timeout: int
    metadata_max_age: int
    delivery_timeout: int
    retries: int
    max_in_flight: int
    transaction_timeout: int = 60_000 * US_PER_MS
    session_timeout: int = 45_000 * US_PER_MS
    heartbeat_interval: int = 3_000 * US_PER_MS
    max_poll_interval: int = 300_000 * US_PER_MS
    max_poll_records: int = 500
    auto_commit_interval: int = 5_000 * US_PER_MS
    default_api_timeout: int = 60_000 * US_PER_MS
    batches: bool = False
    linger: int = 0
    batch_size: int = 16_384
    buffer_memory: int = 33_554_432
    max_block: int = 60_000 * US_PER_MS
    acks: int = ACKS_ALL
    idempotence: Idempotence = Idempotence.OFF

    @property
    def idempotent(self) -> bool:
        """Whether a producer with this configuration is idempotent."""
        return self.idempotence is not Idempotence.OFF and self.acks == ACKS_ALL


def client_setting_named(name: str, kind: str = "") -> ClientSetting:
    """Return the setting with the given name for one kind of client, or for any kind if `kind` is empty.

    Raises:
        ValueError: there is no such setting. The message names a similar setting.
    """
    known = [setting.name for setting in _ALL if not kind or kind in setting.kinds]
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f"did you mean '{near[0]}'?" if near else f"use one of {', '.join(known)}"
        raise ValueError(f"unknown {kind or 'client'} setting '{name[:80]}'; {hint}")
    return CLIENT_SETTINGS[name]


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

    idempotence = _idempotence(values, release, transactional=transactional)
    request_timeout, delivery_timeout = value_of("request.timeout.ms"), value_of("delivery.timeout.ms")
    batches = not values.keys().isdisjoint(BATCHING)
    linger = value_of("linger.ms") if batches else 0
    if kind == PRODUCER and delivery_timeout < linger + request_timeout:
        if "delivery.timeout.ms" in values:
            raise ValueError("delivery.timeout.ms should be equal to or larger than linger.ms + request.timeout.ms")
        delivery_timeout = linger + request_timeout
    has_delivery_timeout = CLIENT_SETTINGS["delivery.timeout.ms"].is_in(release)
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
    )


DEFAULT: Final = client_config(PRODUCER, (), CURRENT)
"""The default configuration of a producer in the newest release."""
