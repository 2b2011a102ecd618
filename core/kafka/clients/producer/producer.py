"""The part of a producer that the application calls (Kafka: `KafkaProducer`). `core.kafka.clients.producer.sender` sends the batches."""

from __future__ import annotations

from collections import deque
from typing import Final

import attrs

from core.kafka import errors, events
from core.kafka.clients.accumulator.batching import Batching
from core.kafka.clients.accumulator.partitioners import NO_PARTITION
from core.kafka.clients.client_config import ACKS_ALL, ClientConfig, Idempotence
from core.kafka.clients.client_context import ClientContext
from core.kafka.clients.producer.keyed_records import KeyedRecords, Records, partition_of
from core.kafka.clients.producer.producer_sequences import ProducerSequences
from core.kafka.clients.producer.producer_transaction_state import SEND
from core.kafka.clients.producer.sender import Sender
from core.kafka.clients.producer.transaction_manager import TransactionManager
from core.kafka.clients.producer.transactional_load import TransactionalLoad
from core.kafka.ids import TopicPartition
from core.kafka.release import Release
from core.sim.units import SECOND


@attrs.define
class SendCall:
    """Records that an application sends one after the other through a producer that collects records in batches.

    Attributes:
        called: the time when the application wanted to send the records, in µs.
        count: the number of records that are not in a batch yet.
        record_bytes: the size of the key and the value of each record, in bytes.
        partition: the partition; None to let the producer choose one.
        keyed: the records that are not in a batch yet, in reverse order; None if they have no keys.
        topic: the topic of the records.
    """

    called: int
    count: int
    record_bytes: int
    partition: int | None
    keyed: list[tuple[str, str | None]] | None
    topic: str


class Producer(Sender):
    """A producer, which writes records to topics.

    Attributes:
        rate: the number of records per second in a steady load; 0 if there is none.
        every: the time between two batches of the load, in µs.
        record_bytes: the size of each record in the load.
        load_keys: the keys of the records in the load; None if they have no keys.
        transactional_load: the object that sends the load in transactions; None if the load is not transactional.
        blocked_since: the time since which a call to send() has been waiting for memory or metadata, in µs; -1 if no call is waiting.
    """

    __slots__ = (
        "_calls", "_load", "_next_key", "_next_partition", "_owed", "_resumes", "_waiting", "blocked_since", "every", "load_keys", "rate",
        "record_bytes", "transactional_load",
    )  # fmt: skip

    _calls: Final[deque[SendCall]]

    def __init__(self, name: str, topic: str, acks: int, context: ClientContext) -> None:
        super().__init__(name, topic, acks, context)
        self.rate = 0
        self.every = 0
        self.record_bytes = 100
        self.load_keys: KeyedRecords | None = None
        self.transactional_load: TransactionalLoad | None = None
        self._next_key = 0
        self._waiting: list[tuple[int, int, KeyedRecords | None, str]] = []
        self._owed = 0
        self._next_partition = 0
        self._load = 0
        self._calls = deque()
        self._resumes = False
        self.blocked_since = -1
        self.timers.update({"load": self._load_tick, "append": self._resume, "max-block": self._block_timed_out})

    def configure(self, config: ClientConfig, release: Release) -> None:
        """Configure the producer, according to the rules of a release."""
        self.config = config
        self.acks = config.acks
        self.exponential_backoff = release.newer_clients
        if config.idempotent:
            self.enable_idempotence(release)

    def change_acks(self, acks: int, release: Release) -> None:
        """Change acks for new batches. Kafka's producers cannot do this; the application would replace the producer by another one."""
        self.acks = acks
        if acks == ACKS_ALL and self.sequences is None and self.config.idempotence is not Idempotence.OFF:
            self.enable_idempotence(release)
            self.start_sender()

    def enable_idempotence(self, release: Release) -> None:
        """Give sequence numbers to the records for each partition, according to the rules of a release (enable.idempotence)."""
        self.sequences = ProducerSequences(transactional=False, bumps_epoch=release.bumps_producer_epoch)

    def enable_transactions(self, release: Release, transactional_id: str, timeout_us: int) -> TransactionManager:
        """Give the producer a transactional.id, according to the rules of a release. The timeout is transaction.timeout.ms in µs."""
        self.sequences = ProducerSequences(transactional=True, bumps_epoch=release.bumps_producer_epoch)
        self.transactions = TransactionManager(self, self.sequences, release, transactional_id, timeout_us)
        return self.transactions

    def enable_batching(self, release: Release, seed: str, ratio: float) -> None:
        """Collect records in batches, according to the rules of a release.

        Args:
            release: the release whose rules apply.
            seed: the name of the random stream that chooses partitions.
            ratio: the size of a compressed batch, divided by its size before compression.
        """
        config = self.config
        self.batching = Batching(config.linger, config.batch_size, config.buffer_memory, ratio)
        self.batching.add_topic(self.topic, release, seed, adapts=config.adapts_partitions)

    # --- making records --------------------------------------------------------------------------------------------

    def write_topic(self, topic: str, leaders: tuple[tuple[int, int], ...] = ()) -> None:
        """Let the producer also write to another topic. `leaders` contains the topic's leaders if the producer already knows them."""
        if topic != self.topic and topic not in self.other_leaders:
            self.other_leaders[topic] = list(leaders)

    def produce(
        self, records: int, record_bytes: int, partition: int | None, keyed: KeyedRecords | None = None, topic: str | None = None
    ) -> None:
        """Produce records once. If no partition is given, spread the records over all partitions, with one batch for each partition.

        Records with keys go to the partitions for their keys. Records without keys are spread equally over the partitions. `topic` is one
        of the producer's topics; by default, it is the first one.

        Raises:
            IllegalStateError: the producer has a transactional.id, and no transaction is open.
        """
        if self.transactions is not None:
            self.transactions.check(SEND)
        if self.batching is not None:
            self._call_send(records, record_bytes, partition, None if keyed is None else keyed.records(0, records), topic or self.topic)
            return
        topic = topic or self.topic
        if partition is None and not self.leaders_of(topic):
            self._waiting.append((records, record_bytes, keyed, topic))
            self.await_metadata()
            return
        if partition is not None:
            tp = TopicPartition(topic, partition)
            self._add(tp, records, record_bytes, None if keyed is None else keyed.records(0, records))
        else:
            self._spread(records, record_bytes, keyed, topic)
        self._send_added()

    def _spread(self, records: int, record_bytes: int, keyed: KeyedRecords | None, topic: str) -> None:
        if keyed is not None:
            for tp, found in self._by_partition(keyed.records(0, records), topic).items():
                self._add(tp, len(found), record_bytes, tuple(found))
            return
        partitions = len(self.leaders_of(topic))
        share, rest = divmod(records, partitions)
        for number in range(partitions):
            count = share + (number < rest)
            if count:
                self._add(TopicPartition(topic, number), count, record_bytes, None)

    def _by_partition(self, records: Records, topic: str) -> dict[TopicPartition, list[tuple[str, str | None]]]:
        """Return the records for each partition, according to the hashes of their keys. If the producer ignores keys, spread the records
        equally (partitioner.ignore.keys)."""
        found: dict[TopicPartition, list[tuple[str, str | None]]] = {}
        partitions = len(self.leaders_of(topic))
        ignores_keys = self.config.ignores_keys
        for number, record in enumerate(records):
            partition = number % partitions if ignores_keys else partition_of(record[0], partitions)
            found.setdefault(TopicPartition(topic, partition), []).append(record)
        return found

    def _add(self, tp: TopicPartition, count: int, record_bytes: int, content: Records | None) -> None:
        if self.transactions is not None:
            self.transactions.add_partition(tp)
        self.enqueue(tp, count, record_bytes, content)

    def _send_added(self) -> None:
        if self.transactions is not None:
            self.transactions.advance()
        self.send_all()

    def start_load(self, rate: int, every: int, record_bytes: int) -> None:
        """Produce `rate` records per second. Every `every` µs, send a batch to the next partition in turn."""
        self.rate, self.every, self.record_bytes = rate, every, record_bytes
        self.resume_load()

    def hold_load(self) -> None:
        """Pause the load for by-hand mode, in which nothing happens without a command. `resume_load` resumes the load."""
        self._load += 1

    def resume_load(self) -> None:
        """Resume a paused load."""
        if self.rate:
            self._load += 1
            self._load_tick(self._load)

    def stop_load(self) -> None:
        """Stop the load."""
        self.rate = 0
        self._load += 1
        if self.transactional_load is not None and self.transactions is not None:
            self.transactional_load.stop(self.transactions)
            self.transactions.repeats_calls = False
            self.transactional_load = None

    def _load_tick(self, load: object) -> None:
        if load != self._load:
            return
        self.timer(self.every, "load", load)
        if not self.leaders and self.batching is None:
            self.await_metadata()
            return
        paced = self.transactional_load
        if paced is not None and self.transactions is not None and not paced.may_send(self.transactions, self.journal.now):
            return
        self._owed += self.rate * self.every
        count, self._owed = divmod(self._owed, SECOND)
        if count and self.batching is not None:
            keyed = None if self.load_keys is None else self.load_keys.records(self._next_key, count)
            self._next_key += count
            self._call_send(count, self.record_bytes, None, keyed, self.topic)
        elif count and self.load_keys is not None:
            records = self.load_keys.records(self._next_key, count)
            self._next_key += count
            for tp, found in self._by_partition(records, self.topic).items():
                self._produce_load(tp, len(found), tuple(found))
        elif count:
            partition = self._next_partition % len(self.leaders)
            self._next_partition = partition + 1
            self._produce_load(TopicPartition(self.topic, partition), count, None)
        if count and self.transactional_load is not None and self.transactions is not None:
            self.transactional_load.sent(self.transactions, count, self.journal.now)

    def _produce_load(self, tp: TopicPartition, count: int, content: Records | None) -> None:
        if self.transactional_load is not None:
            self._add(tp, count, self.record_bytes, content)
            self._send_added()
        else:
            self.enqueue(tp, count, self.record_bytes, content)
            self._send(tp)

    # --- collecting records in batches -----------------------------------------------------------------------------

    def _call_send(self, count: int, record_bytes: int, partition: int | None, keyed: Records | None, topic: str) -> None:
        """Send records one after the other (`KafkaProducer#doSend`)."""
        reversed_records = None if keyed is None else list(reversed(keyed))
        self._calls.append(SendCall(self.journal.now, count, record_bytes, partition, reversed_records, topic))
        if self.blocked_since < 0:
            self._append_calls()

    def _append_calls(self) -> None:
        """Append the records from the application's calls until all are appended or the memory is full. Send the batches that are full."""
        calls = self._calls
        while calls:
            call = calls[0]
            leaders = self.leaders_of(call.topic)
            if not leaders:
                self.await_metadata()
                self._block()
                return
            record = None if call.keyed is None else call.keyed[-1]
            partition = call.partition
            if partition is None and record is not None and not self.config.ignores_keys:
                partition = partition_of(record[0], len(leaders))
            chosen = self.append(call.topic, partition, record, call.record_bytes, call.called)
            if chosen == NO_PARTITION:
                self._block()
                self._send_added()  # batches that wait for linger.ms, too, because the application waits for memory
                return
            if self.transactions is not None:
                self.transactions.add_partition(TopicPartition(call.topic, chosen))
            call.count -= 1
            if call.keyed is not None:
                call.keyed.pop()
            if not call.count:
                calls.popleft()
        self._send_added()

    def _block(self) -> None:
        """Block the application until it gets memory or metadata, for at most max.block.ms (`BufferPool#allocate`)."""
        self.blocked_since = self.journal.now
        topic = self._calls[0].topic
        if self.leaders_of(topic) and self.batching is not None:
            self.journal.blame(self.why_waiting(self.journal.now))
            self.journal.emit(events.ProducerBlocked.kind, self.name, topic, self.batching.memory, self.waiting_records)
        self.timer(self.config.max_block, "max-block", self.blocked_since)

    @property
    def waiting_records(self) -> int:
        """The number of records that the application wants to send and that are not in a batch yet."""
        return sum(call.count for call in self._calls)

    def memory_released(self) -> None:
        """Let a blocked application continue after the current message has been handled."""
        if self.blocked_since >= 0 and not self._resumes:
            self._resumes = True
            self.timer(0, "append")

    def _resume(self, _: object = None) -> None:
        self._resumes = False
        if self.blocked_since >= 0:
            since, self.blocked_since = self.blocked_since, -1
            before = self.waiting_records
            self._append_calls()
            if self.blocked_since >= 0 and self.waiting_records == before:
                self.blocked_since = since  # the same call to send() is still waiting

    def _block_timed_out(self, since: object) -> None:
        """Fail a call to send() with a TimeoutException, because it blocked for max.block.ms, and continue with the next call."""
        if self.blocked_since < 0 or since != self.blocked_since:
            return
        call = self._calls[0]
        call.count -= 1
        if call.keyed is not None:
            call.keyed.pop()
        if not call.count:
            self._calls.popleft()
        self.sent += 1
        self.failed += 1
        known = bool(self.leaders_of(call.topic))
        self.journal.blame(self.why_waiting(self.blocked_since))
        self.journal.emit(events.SendTimedOut.kind, self.name, call.topic, self.config.max_block, known, self.waiting_records)
        if self.transactions is not None:
            self.transactions.batch_failed(errors.REQUEST_TIMED_OUT)
        self.blocked_since = -1
        self._append_calls()

    def flushes(self) -> bool:
        """Return whether to send batches before linger.ms has elapsed, which is necessary if the memory is full or the transaction is
        ending."""
        return self.blocked_since >= 0 or super().flushes()

    # --- what the sender asks --------------------------------------------------------------------------------------

    def keeps_checking(self) -> bool:
        """Return whether to continue the timeout checks after all batches are complete, which is necessary while a load is running."""
        return self.rate > 0

    def metadata_updated(self) -> None:
        """Produce the records that were waiting for metadata, and send all batches whose leader is known."""
        waiting, self._waiting = self._waiting, []
        for records, record_bytes, keyed, topic in waiting:
            if self.leaders_of(topic):
                self._spread(records, record_bytes, keyed, topic)
                self._send_added()
            else:
                self._waiting.append((records, record_bytes, keyed, topic))
                self.await_metadata()
        if self.blocked_since >= 0:
            self._resume()
        self.send_all()

    def has_incomplete_batches(self) -> bool:
        """Return whether some records are incomplete: neither acknowledged nor abandoned."""
        return bool(self._waiting or self._calls) or super().has_incomplete_batches()

    def abort_batches(self, error: str, *, unsent_only: bool) -> None:
        """Give up on all batches, or only on those that were never sent. Also give up on the records that are waiting for metadata."""
        self.failed += sum(each[0] for each in self._waiting)
        self._waiting.clear()
        self.failed += self.waiting_records
        self.sent += self.waiting_records
        self._calls.clear()
        self.blocked_since = -1
        super().abort_batches(error, unsent_only=unsent_only)
