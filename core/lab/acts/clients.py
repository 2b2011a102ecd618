"""Acts on producers and consumers without a group."""

from __future__ import annotations

import attrs

from core.lab.acts.act import Act


@attrs.frozen(eq=False, repr=False)
class Produce(Act, word="produce", does="produce a burst of records"):
    """Produce records once. Without `partition`, the records are spread over the partitions of the topic.

    If the pace is `by-hand`, `to` is the broker that the producer still considers the leader. `config` contains settings for a new producer
    by their Kafka names: delivery.timeout.ms, request.timeout.ms, metadata.max.age.ms, retries, max.in.flight.requests.per.connection. With
    linger.ms, batch.size, or buffer.memory, the producer collects records in batches as Kafka's producers do; max.block.ms then limits how
    long send() blocks. Without these settings, each act makes one batch for each partition.

    A producer can write to several topics: the first act that names it determines its main topic, and other acts can name other topics.

    Compacted topics accept only records with `keys`: a list of names, or a number of keys `k0`, `k1`, …, which the records use in turn.
    `value` is the value of all records of the act. The value `none` makes the records tombstones. Without `value`, the values are 0, 1, 2,
    and so on.
    """

    topic: str
    records: int
    partition: int | None = None
    acks: str | None = None
    """acks of the producer; None for the release's default, which is all since 3.0, and 1 before."""
    bytes: int = 100
    """The size of a record in bytes."""
    producer: str = "producer"
    idempotence: bool | None = None
    """enable.idempotence of a new producer; None for the release's default. Since 3.0, producers with acks=all are idempotent by default
    (KIP-679).
    """
    to: int | None = None
    config: tuple[tuple[str, str], ...] = ()
    """Kafka settings for a new producer, by name (`core.kafka.clients.client_config`)."""
    keys: str = ""
    """The keys of the records, separated by commas, or the number of keys; empty if the records have no keys."""
    value: str = ""
    """The value of records with keys; if empty, each record's value is its number."""
    compression: int = 100
    """The size of a compressed batch, as a percentage of its uncompressed size; 100 for no compression. Compression applies only to
    producers that collect records in batches.
    """


@attrs.frozen(eq=False, repr=False)
class Load(Act, word="load", does="produce steadily until stop-load"):
    """Produce `rate` records per second until `stop-load`. `every` is the time between two batches.

    `config`, `keys`, and `compression` have the same meaning as for `produce`.

    With `transactional-id`, the records are sent in transactions. A transaction is committed when it has `commit-records` records or when
    it is `commit-every` old. If neither is given, a transaction is committed after one second. While the producer waits for the result of a call, it
    sends nothing. If a transaction fails, the producer aborts it and begins the next one. `stop-load` commits the last transaction.
    """

    topic: str
    rate: int
    acks: str | None = None
    """acks of the producer; None for the release's default, which is all since 3.0, and 1 before."""
    every: int = 50_000
    bytes: int = 100
    producer: str = "load"
    idempotence: bool | None = None
    """enable.idempotence of a new producer; None for the release's default. Since 3.0, producers with acks=all are idempotent by default
    (KIP-679).
    """
    config: tuple[tuple[str, str], ...] = ()
    """Kafka settings for a new producer, by name (`core.kafka.clients.client_config`)."""
    keys: str = ""
    """The keys of the records, separated by commas, or the number of keys; empty if the records have no keys."""
    compression: int = 100
    """The size of a compressed batch, as a percentage of its uncompressed size; 100 for no compression. Compression applies only to
    producers that collect records in batches.
    """
    transactional_id: str = ""
    """The transactional.id of a new producer; empty for a load without transactions."""
    commit_records: int = 0
    """The number of records after which a transaction is committed; 0 for no limit."""
    commit_every: int = 0
    """The age at which a transaction is committed, in µs; 0 for no limit."""


@attrs.frozen(eq=False, repr=False)
class StopLoad(Act, word="stop-load", does="stop a steady producer"):
    """Stop a steady producer. Brokers still answer the batches that the producer has already sent."""

    producer: str = "load"


@attrs.frozen(eq=False, repr=False)
class Acks(Act, word="acks", does="change a producer's acks"):
    """Change the acks of a producer to 0, 1, or all, for the batches that it sends from now on."""

    acks: str
    producer: str = "load"


@attrs.frozen(eq=False, repr=False)
class Consume(Act, word="consume", does="start a consumer on a topic"):
    """Start a consumer that reads every partition of a topic.

    `reset` is the consumer's auto.offset.reset: `earliest` (the default) or `latest`. `rack` is the consumer's client.rack. With `replica.selector.class:
    RackAwareReplicaSelector`, leaders redirect the consumer to a replica in this rack (KIP-392). With `since`, the consumer starts at the
    first record whose timestamp is that virtual time or later (offsetsForTimes). If no such record exists, the consumer starts at the end.
    `isolation` is the consumer's isolation.level: with `read_committed`, the consumer skips the records of aborted transactions, and does
    not read past the first open transaction. `config` contains settings by their Kafka names: request.timeout.ms, metadata.max.age.ms.
    """

    topic: str
    consumer: str = "consumer"
    reset: str | None = None
    rack: str | None = None
    since: int | None = None
    isolation: str | None = None
    config: tuple[tuple[str, str], ...] = ()
    """Kafka settings for a new consumer, by name (`core.kafka.clients.client_config`)."""


@attrs.frozen(eq=False, repr=False)
class StopConsume(Act, word="stop-consume", does="stop a consumer"):
    """Stop a consumer."""

    consumer: str = "consumer"
