"""Acts on transactional producers, and on hanging transactions."""

from __future__ import annotations

import attrs

from core.kafka.ids import TopicPartition
from core.lab.acts.act import Act


@attrs.frozen(eq=False, repr=False)
class InitTransactions(Act, word="init-transactions", does="start a producer with a transactional.id"):
    """Start a producer with a transactional.id, and have it ask the transaction coordinator for a producer ID (initTransactions).

    An earlier producer with the same transactional.id is fenced, and its open transaction is aborted. The first act of this kind creates
    the topic `__transaction_state`. `config` contains settings by their Kafka names: transaction.timeout.ms, delivery.timeout.ms,
    request.timeout.ms, metadata.max.age.ms, retries, max.in.flight.requests.per.connection.
    """

    topic: str
    transactional_id: str
    producer: str = "producer"
    config: tuple[tuple[str, str], ...] = ()
    """Kafka settings of the producer, by name (`core.kafka.clients.client_config`)."""


@attrs.frozen(eq=False, repr=False)
class BeginTransaction(Act, word="begin-transaction", does="begin a transaction"):
    """Begin a transaction for a producer. The producer's subsequent `produce` acts belong to the transaction."""

    producer: str = "producer"


@attrs.frozen(eq=False, repr=False)
class CommitTransaction(Act, word="commit-transaction", does="commit a producer's transaction"):
    """Commit the transaction of a producer. The producer first waits until its batches are acknowledged."""

    producer: str = "producer"


@attrs.frozen(eq=False, repr=False)
class AbortTransaction(Act, word="abort-transaction", does="abort a producer's transaction"):
    """Abort the transaction of a producer. Batches that the producer has not sent yet are dropped."""

    producer: str = "producer"


@attrs.frozen(eq=False, repr=False)
class AbortHanging(Act, word="abort-hanging", does="abort a hanging transaction in a partition"):
    """Abort a transaction that no coordinator will end (`kafka-transactions abort`). The leader appends an ABORT marker for the
    transaction's producer.

    The coordinator is not involved. `start-offset` is the first offset of the open transaction.
    """

    partition: TopicPartition
    start_offset: int
