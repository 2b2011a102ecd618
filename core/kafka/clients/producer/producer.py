"""The part of a producer that the application calls (Kafka: `KafkaProducer`). `core.kafka.clients.producer.sender` sends the batches."""

from __future__ import annotations

from typing import Final

from core.kafka import errors, events
from core.kafka.clients.accumulator.batching import Batching
from core.kafka.clients.accumulator.partitioners import NO_PARTITION
from core.kafka.clients.accumulator.record_accumulator import RecordAccumulator
from core.kafka.clients.client import NEVER, Client
from core.kafka.clients.client_config import ACKS_ALL, ClientConfig, Idempotence
from core.kafka.clients.client_context import ClientContext
from core.kafka.clients.producer.keyed_records import KeyedRecords, Records, partition_of
from core.kafka.clients.producer.producer_metrics import ProducerMetrics
from core.kafka.clients.producer.producer_sequences import ProducerSequences
from core.kafka.clients.producer.producer_transaction_state import SEND
from core.kafka.clients.producer.send_calls import SendCall, SendCalls, UnspreadRecords
from core.kafka.clients.producer.sender import Sender
from core.kafka.clients.producer.transaction_manager import TransactionManager
from core.kafka.clients.producer.transactional_load import TransactionalLoad
from core.kafka.ids import TopicPartition
from core.kafka.release import Release
from core.sim.units import SECOND


class Producer(Client):
    """A producer, which writes records to topics.

    The application calls the producer, which adds the records to the batches of its accumulator. The sender sends these batches.

    Attributes:
        accumulator: the batches that are waiting to be sent.
        calls: the application's calls that wait for metadata or memory.
        sender: the part that sends the batches, and handles the responses and timeouts.
        transactions: the transactions; None if the producer has no transactional.id.
        metrics: what the producer counts.
        rate: the number of records per second in a steady load; 0 if there is none.
        every: the time between two batches of the load, in µs.
        record_bytes: the size of each record in the load.
        load_keys: the keys of the records in the load; None if they have no keys.
        transactional_load: the object that sends the load in transactions; None if the load is not transactional.
    """

    __slots__ = (
        "_load", "_next_key", "_next_partition", "_owed", "accumulator", "calls", "every", "load_keys", "metrics", "rate", "record_bytes", "sender",
        "transactional_load", "transactions",
    )  # fmt: skip

    accumulator: Final[RecordAccumulator]
    calls: Final[SendCalls]
    sender: Final[Sender]
    metrics: Final[ProducerMetrics]

    def __init__(self, name: str, topic: str, acks: int, context: ClientContext) -> None:
        super().__init__(name, topic, context)
        self.accumulator = RecordAccumulator(self, acks)
        self.calls = SendCalls(self)
        self.metrics = ProducerMetrics()
        self.sender = Sender(self, self.accumulator, self.calls, self.metrics)
        self.transactions: TransactionManager | None = None
        self.rate = 0
        self.every = 0
        self.record_bytes = 100
        self.load_keys: KeyedRecords | None = None
        self.transactional_load: TransactionalLoad | None = None
        self._next_key = 0
        self._owed = 0
        self._next_partition = 0
        self._load = 0
        self.timers.update({"load": self._load_tick, "append": self._resume, "max-block": self._block_timed_out})

    def configure(self, config: ClientConfig, release: Release) -> None:
        """Configure the producer, according to the rules of a release."""
        self.config = config
        self.accumulator.acks = config.acks
        if config.idempotent:
            self.enable_idempotence(release)

    def change_acks(self, acks: int, release: Release) -> None:
        """Change acks for new batches. Kafka's producers cannot do this; the application would replace the producer by another one."""
        self.accumulator.acks = acks
        if acks == ACKS_ALL and self.sender.sequences is None and self.config.idempotence is not Idempotence.OFF:
            self.enable_idempotence(release)
            self.sender.start()

    def enable_idempotence(self, release: Release) -> None:
        """Give sequence numbers to the records for each partition, according to the rules of a release (enable.idempotence)."""
        self.sender.sequences = ProducerSequences(transactional=False, bumps_epoch=release.bumps_producer_epoch)

    def enable_transactions(self, release: Release, transactional_id: str, timeout_us: int) -> TransactionManager:
        """Give the producer a transactional.id, according to the rules of a release. The timeout is transaction.timeout.ms in µs."""
        sender, sequences = self.sender, ProducerSequences(transactional=True, bumps_epoch=release.bumps_producer_epoch)
        transactions = TransactionManager(self, sender.send_transactional_requests, sequences, release, transactional_id, timeout_us)
        sender.sequences, sender.transactions, self.transactions = sequences, transactions, transactions
        return transactions

    def enable_batching(self, release: Release, seed: str, ratio: float) -> None:
        """Collect records in batches, according to the rules of a release.

        Args:
            release: the release whose rules apply.
            seed: the name of the random stream that chooses partitions.
            ratio: the size of a compressed batch, divided by its size before compression.
        """
        config = self.config
        batching = self.accumulator.batching = Batching(config.linger, config.batch_size, config.buffer_memory, ratio)
        batching.add_topic(self.topic, release, seed, adapts=config.adapts_partitions)

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
        if self.accumulator.batching is not None:
            self._call_send(records, record_bytes, partition, None if keyed is None else keyed.records(0, records), topic or self.topic)
            return
        topic = topic or self.topic
        if partition is None and not self.leaders_of(topic):
            self.calls.await_metadata(UnspreadRecords(records, record_bytes, keyed, topic))
            self.await_metadata()
            return
        if partition is not None:
            tp = TopicPartition(topic, partition)
            self._add(tp, records, record_bytes, None if keyed is None else keyed.records(0, records))
        else:
            self._spread(records, record_bytes, keyed, topic)
        self.sender.run_once()

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

    def enqueue(self, tp: TopicPartition, count: int, record_bytes: int, content: object = None) -> int:
        """Add a batch of records to the accumulator, and return its number. `content` is None if the simulation does not need the keys and
        values."""
        self.metrics.sent += count
        batch = self.accumulator.add_batch(tp, count, record_bytes, content)
        self.sender.start_timeout_checks()
        return batch

    # --- a steady load ---------------------------------------------------------------------------------------------

    def set_load(self, rate: int, every: int, record_bytes: int) -> None:
        """Set the steady load: `rate` records per second, with a batch for the next partition in turn every `every` µs."""
        self.rate, self.every, self.record_bytes = rate, every, record_bytes
        self.sender.load_runs = rate > 0

    def start_load(self, rate: int, every: int, record_bytes: int) -> None:
        """Produce a steady load from now on."""
        self.set_load(rate, every, record_bytes)
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
        self.sender.load_runs = False
        self._load += 1
        if self.transactional_load is not None and self.transactions is not None:
            self.transactional_load.stop(self.transactions)
            self.transactions.repeats_calls = False
            self.transactional_load = None

    def _load_tick(self, load: object) -> None:
        if load != self._load:
            return
        self.timer(self.every, "load", load)
        collects = self.accumulator.batching is not None
        if not self.leaders and not collects:
            self.await_metadata()
            return
        paced = self.transactional_load
        if paced is not None and self.transactions is not None and not paced.may_send(self.transactions, self.journal.now):
            return
        self._owed += self.rate * self.every
        count, self._owed = divmod(self._owed, SECOND)
        if count and collects:
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
            self.sender.run_once()
        else:
            self.enqueue(tp, count, self.record_bytes, content)
            self.sender.send_to(tp)

    # --- collecting records in batches -----------------------------------------------------------------------------

    def _call_send(self, count: int, record_bytes: int, partition: int | None, keyed: Records | None, topic: str) -> None:
        """Send records one after the other (`KafkaProducer#doSend`)."""
        reversed_records = None if keyed is None else list(reversed(keyed))
        self.calls.add(SendCall(self.journal.now, count, record_bytes, partition, reversed_records, topic))
        if not self.calls.is_blocked:
            self._append_calls()

    def _append_calls(self) -> None:
        """Append the records from the application's calls until all are appended or the memory is full. Send the batches that are full."""
        calls, accumulator = self.calls, self.accumulator
        while (call := calls.first) is not None:
            leaders = self.leaders_of(call.topic)
            if not leaders:
                self.await_metadata()
                self._block(call.topic)
                return
            record = None if call.keyed is None else call.keyed[-1]
            partition = call.partition
            if partition is None and record is not None and not self.config.ignores_keys:
                partition = partition_of(record[0], len(leaders))
            chosen = accumulator.append(call.topic, partition, record, call.record_bytes, call.called)
            if chosen == NO_PARTITION:
                self._block(call.topic)
                self.sender.run_once()  # batches that wait for linger.ms, too, because the application waits for memory
                return
            self.metrics.sent += 1
            self.sender.start_timeout_checks()
            if self.transactions is not None:
                self.transactions.add_partition(TopicPartition(call.topic, chosen))
            calls.take_record()
        self.sender.run_once()

    def _block(self, topic: str) -> None:
        """Block the application, which sends records to a topic, until it gets memory or metadata, for at most max.block.ms (`BufferPool#allocate`)."""
        calls, batching, now = self.calls, self.accumulator.batching, self.journal.now
        calls.block(now)
        if self.leaders_of(topic) and batching is not None:
            self.journal.blame(self.sender.why_waiting(now))
            self.journal.emit(events.ProducerBlocked.kind, self.name, topic, batching.memory, calls.waiting_records)
        self.timer(self.config.max_block, "max-block", now)

    def _resume(self, _: object = None) -> None:
        calls = self.calls
        since, waiting = calls.resume(), calls.waiting_records
        if since != NEVER:
            self._append_calls()
            if calls.is_blocked and calls.waiting_records == waiting:
                calls.block(since)  # the same call to send() is still waiting

    def _block_timed_out(self, since: object) -> None:
        """Fail a call to send() with a TimeoutException, because it blocked for max.block.ms, and continue with the next call."""
        calls, metrics, call = self.calls, self.metrics, self.calls.first
        if call is None or since != calls.blocked_since:
            return
        topic = call.topic
        calls.take_record()
        metrics.sent += 1
        metrics.failed += 1
        self.journal.blame(self.sender.why_waiting(calls.blocked_since))
        self.journal.emit(
            events.SendTimedOut.kind, self.name, topic, self.config.max_block, bool(self.leaders_of(topic)), calls.waiting_records
        )
        if self.transactions is not None:
            self.transactions.batch_failed(errors.REQUEST_TIMED_OUT)
        calls.unblock()
        self._append_calls()

    # --- what happens to the client --------------------------------------------------------------------------------

    def awaits_response(self, node: str) -> bool:
        """Return whether a request to a broker is in flight."""
        return super().awaits_response(node) or self.sender.awaits_response(node)

    def leaders_changed(self, partitions: list[int]) -> None:
        """Retry batches for the main topic immediately if a new leader is known."""
        self.accumulator.leaders_changed(self.topic, partitions)

    def other_leaders_changed(self, topic: str, partitions: list[int]) -> None:
        """Retry batches for another topic immediately if a new leader is known."""
        self.accumulator.leaders_changed(topic, partitions)

    def metadata_updated(self) -> None:
        """Produce the records that were waiting for metadata, and send all batches whose leader is known."""
        for each in self.calls.take_unspread():
            if self.leaders_of(each.topic):
                self._spread(each.count, each.record_bytes, each.keyed, each.topic)
                self.sender.run_once()
            else:
                self.calls.await_metadata(each)
                self.await_metadata()
        if self.calls.is_blocked:
            self._resume()
        self.sender.send_all()

    def connection_lost(self, node: str) -> None:
        """Fail the requests to a broker."""
        self.sender.connection_lost(node)
