"""The settings of clients that the laboratory models, and those that it does not model, by Kafka's names.

Kafka: `ProducerConfig`, `ConsumerConfig`, `AdminClientConfig`.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from core.kafka.release import Release
from core.kafka.settings.not_modeled import not_modeled
from core.kafka.settings.setting import MAX_INT, number_within
from core.sim.repr_mixin import ReprMixin

PRODUCER: Final = "producer"
"""The name of the kind of client that writes records."""

CONSUMER: Final = "consumer"
"""The name of the kind of client that reads records."""


def one_of(words: Sequence[str]) -> str:
    """Return a phrase that lists the allowed words."""
    return f"{words[0]} or {words[1]}" if len(words) == 2 else f"{', '.join(words[:-1])}, or {words[-1]}"


@attrs.frozen(repr=False)
class ClientSetting(ReprMixin):
    """A client setting.

    Attributes:
        name: Kafka's name for the setting.
        default: the default in the newest release; a number, or one of `words`.
        kinds: the kinds of client that have the setting.
        meaning: a description for help texts.
        least: the lowest allowed value, which is Kafka's, or 1 if virtual time would not advance with 0.
        most: the highest allowed value.
        older_defaults: tuples (kind of client, release, default). Each default applies to the given release and to earlier releases.
        since: the first release that has the setting; empty if all releases have it.
        words: the allowed values of a setting that is not a number; `ANY_TEXT` if the act that starts the client checks the value.
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
        if self.words == ANY_TEXT:
            return text.strip()
        if not self.words:
            return number_within(self.name, text, self.least, self.most)
        word = text.strip().lower()
        if word not in self.words:
            raise ValueError(f"{self.name} takes {one_of(self.words)}, not '{text[:80]}'")
        return word


ANY_TEXT: Final = ("",)
"""The `words` of a setting whose value is any text."""

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
    ClientSetting(
        "bootstrap.servers", "", _BOTH, "The brokers that a client knows at its start, such as `b1, b2`; by default, all brokers.",
        words=ANY_TEXT,
    ),
    ClientSetting(
        "metadata.recovery.strategy", "rebootstrap", _BOTH,
        "What a client does if no broker of its last metadata can be asked: `rebootstrap` asks the bootstrap servers again; with `none`, the "
        "client finds no broker (KIP-899).",
        older_defaults=((PRODUCER, "3.9", "none"), (CONSUMER, "3.9", "none")), since="3.9", words=("none", "rebootstrap"),
    ),
    ClientSetting(
        "metadata.recovery.rebootstrap.trigger.ms", 300_000, _BOTH,
        "The time after which a client that gets no metadata asks the bootstrap servers again (KIP-1102).", since="4.0",
    ),
    ClientSetting(
        "retry.backoff.ms", 100, _BOTH,
        "The time that a client waits after a failed request. Since 3.7, a producer waits twice as long after each further failure of a batch.",
        least=1,
    ),
    ClientSetting(
        "retry.backoff.max.ms", 1_000, _BOTH,
        "The longest time that a producer waits after repeated failures of a batch (KIP-580).", least=1, since="3.7",
    ),
    ClientSetting(
        "reconnect.backoff.ms", 50, _BOTH,
        "The time that a client waits before it connects to a broker again. The time doubles with each consecutive failure.",
        least=1,
    ),
    ClientSetting("reconnect.backoff.max.ms", 1_000, _BOTH, "The longest time that a client waits before it connects to a broker again.", least=1, since="0.11"),
    ClientSetting(
        "transactional.id", "", (PRODUCER,), "The transactional.id of the producer of a load. Other acts have the field `transactional-id`.",
        since="0.11", words=ANY_TEXT,
    ),
    ClientSetting(
        "partitioner.adaptive.partitioning.enable", "true", (PRODUCER,),
        "Whether the producer chooses partitions with long queues less often for records without a key (KIP-794).", since="3.3", words=_BOOLEAN,
    ),
    ClientSetting(
        "partitioner.ignore.keys", "false", (PRODUCER,),
        "Whether the producer chooses partitions for records with a key in the same way as for records without a key (KIP-794).", since="3.3",
        words=_BOOLEAN,
    ),
    ClientSetting(
        "isolation.level", "read_uncommitted", (CONSUMER,),
        "Whether the consumer skips the records of aborted transactions, and waits for open ones (`read_committed`).", since="0.11",
        words=("read_uncommitted", "read_committed"),
    ),
    ClientSetting(
        "auto.offset.reset", "latest", (CONSUMER,),
        "Where a consumer without a valid position starts. isrlab's own default is `earliest`.", words=ANY_TEXT,
    ),
    ClientSetting("client.rack", "", (CONSUMER,), "The consumer's rack (KIP-392).", since="2.4", words=ANY_TEXT),
    ClientSetting(
        "enable.auto.commit", "true", (CONSUMER,),
        "Whether a member of a group commits offsets every auto.commit.interval.ms. With `false`, the field `commit` says when it commits.",
        since="0.9", words=_BOOLEAN,
    ),
    ClientSetting("group.id", "group", (CONSUMER,), "The group of a consumer.", since="0.9", words=ANY_TEXT),
    ClientSetting("group.instance.id", "", (CONSUMER,), "The ID of a static member of a group (KIP-345).", since="2.4", words=ANY_TEXT),
    ClientSetting(
        "group.protocol", "classic", (CONSUMER,), "The protocol of a member of a group (KIP-848).", since="4.0", words=("classic", "consumer"),
    ),
    ClientSetting(
        "group.remote.assignor", "", (CONSUMER,), "The server-side assignor that a member of a group prefers (KIP-848).", since="4.0",
        words=ANY_TEXT,
    ),
    ClientSetting(
        "partition.assignment.strategy", "", (CONSUMER,),
        "The assignors of a member of a group, separated by commas: range, roundrobin, sticky, cooperative-sticky.", since="0.9", words=ANY_TEXT,
    ),
    ClientSetting("fetch.max.wait.ms", 500, (CONSUMER,), "The maximum time that a broker waits for fetch.min.bytes before it responds to a fetch.", least=1),
    ClientSetting("fetch.min.bytes", 1, (CONSUMER,), "The minimum number of bytes for which a broker responds to a fetch at once.", least=1),
    ClientSetting(
        "max.partition.fetch.bytes", 1_048_576, (CONSUMER,), "The maximum number of bytes from one partition in a response to a fetch.", since="0.9",
    ),
)  # fmt: skip

BATCHING: Final = frozenset({"linger.ms", "batch.size", "buffer.memory"})
"""The settings that make a producer collect records in batches."""

OF_MEMBERS: Final = frozenset(
    {
        "auto.commit.interval.ms", "enable.auto.commit", "group.id", "group.instance.id", "group.protocol", "group.remote.assignor",
        "heartbeat.interval.ms", "max.poll.interval.ms", "partition.assignment.strategy", "session.timeout.ms",
    }
)  # fmt: skip
"""The settings that have an effect only on a consumer that is a member of a group."""

CLIENT_SETTINGS: Final[Mapping[str, ClientSetting]] = {setting.name: setting for setting in _ALL}
"""All client settings that the laboratory models, by Kafka's names."""

CLIENT_NOT_MODELED: Final = frozenset(
    [
        "allow.auto.create.topics",
        "auto.include.jmx.reporter",
        "block.on.buffer.full",
        "bootstrap.controllers",
        "check.crcs",
        "client.dns.lookup",
        "client.id",
        "compression.gzip.level",
        "compression.lz4.level",
        "compression.type",
        "compression.zstd.level",
        "config.providers",
        "connections.max.idle.ms",
        "enable.metrics.push",
        "exclude.internal.topics",
        "fetch.max.bytes",
        "interceptor.classes",
        "internal.leave.group.on.close",
        "internal.throw.on.fetch.stable.offset.unsupported",
        "key.deserializer",
        "key.serializer",
        "max.request.size",
        "metadata.fetch.timeout.ms",
        "metadata.max.idle.ms",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "partitioner.availability.timeout.ms",
        "partitioner.class",
        "receive.buffer.bytes",
        "sasl.client.callback.handler.class",
        "sasl.jaas.config",
        "sasl.kerberos.kinit.cmd",
        "sasl.kerberos.min.time.before.relogin",
        "sasl.kerberos.service.name",
        "sasl.kerberos.ticket.renew.jitter",
        "sasl.kerberos.ticket.renew.window.factor",
        "sasl.login.callback.handler.class",
        "sasl.login.class",
        "sasl.login.connect.timeout.ms",
        "sasl.login.read.timeout.ms",
        "sasl.login.refresh.buffer.seconds",
        "sasl.login.refresh.min.period.seconds",
        "sasl.login.refresh.window.factor",
        "sasl.login.refresh.window.jitter",
        "sasl.login.retry.backoff.max.ms",
        "sasl.login.retry.backoff.ms",
        "sasl.mechanism",
        "sasl.oauthbearer.clock.skew.seconds",
        "sasl.oauthbearer.expected.audience",
        "sasl.oauthbearer.expected.issuer",
        "sasl.oauthbearer.header.urlencode",
        "sasl.oauthbearer.jwks.endpoint.refresh.ms",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
        "sasl.oauthbearer.jwks.endpoint.url",
        "sasl.oauthbearer.scope.claim.name",
        "sasl.oauthbearer.sub.claim.name",
        "sasl.oauthbearer.token.endpoint.url",
        "security.protocol",
        "security.providers",
        "send.buffer.bytes",
        "share.acknowledgement.mode",
        "share.acquire.mode",
        "socket.connection.setup.timeout.max.ms",
        "socket.connection.setup.timeout.ms",
        "ssl.cipher.suites",
        "ssl.enabled.protocols",
        "ssl.endpoint.identification.algorithm",
        "ssl.engine.factory.class",
        "ssl.key.password",
        "ssl.keymanager.algorithm",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.protocol",
        "ssl.provider",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
        "timeout.ms",
        "value.deserializer",
        "value.serializer",
    ]
)
"""Settings of producers, consumers, and admin clients, by Kafka's names. They have no effect in the laboratory."""

REFUSED: Final = {
    "transaction.two.phase.commit.enable": "isrlab does not model two-phase commit (KIP-939), and without it transactions would time out",
}
"""Settings of Kafka that the laboratory refuses, because a run without them would be wrong, and the reason."""


def client_setting_named(name: str, kind: str = "") -> ClientSetting:
    """Return the setting with the given name for one kind of client, or for any kind if `kind` is empty.

    Raises:
        ValueError: there is no such setting. The message names a similar setting.
    """
    known = [setting.name for setting in _ALL if not kind or kind in setting.kinds]
    if name in known:
        return CLIENT_SETTINGS[name]
    if name in REFUSED:
        raise ValueError(f"{name}: {REFUSED[name]}")
    if name in CLIENT_NOT_MODELED:
        raise ValueError(not_modeled(name))
    if name in CLIENT_SETTINGS:
        raise ValueError(f"{name} is a setting of {owners(name)}, not of {kind}s")
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"did you mean '{near[0]}'?" if near else f"use one of {', '.join(known)}"
    raise ValueError(f"unknown {kind or 'client'} setting '{name[:80]}'; {hint}")


def owners(name: str) -> str:
    """Return a phrase that names the kinds of client that have a setting."""
    return " and ".join(f"{kind}s" for kind in CLIENT_SETTINGS[name].kinds)
