"""Changes that clients make to a leader's log: they append or delete records (Kafka: `Partition#appendRecordsToLeader`)."""

from __future__ import annotations

from typing import Final

from core.kafka import errors, events
from core.kafka.broker.partition import Partition
from core.kafka.broker.purgatory.delayed_produce import AppendCompletion, DelayedAppend, DelayedProduce, DelayedProduces, DelayedWrite
from core.kafka.broker.purgatory.produce_response import refuse_produce, send_produce_response
from core.kafka.last_changes import GIVEN_UP, LOG_START
from core.kafka.log.control_record import EndTransactionMarker
from core.kafka.log.leader_term import BatchFields, Term
from core.kafka.log.producer_state import NO_GUARD
from core.kafka.messages import ProduceRequest
from core.sim.journal import MAX_CAUSES, Column, null_sink

APPENDED: Final = events.Appended.kind


def append_records_to_leader(partition: Partition, sender: str, request: ProduceRequest, guard: int = NO_GUARD) -> None:
    """Append or refuse the records of a produce request, and respond now or later.

    Args:
        guard: the verification number of a transactional batch (KIP-890); NO_GUARD if the batch needed no verification.

    Kafka: `Partition#appendRecordsToLeader`, `ReplicaManager#appendRecords`.
    """
    broker, log = partition.broker, partition.log
    (
        _, producer, _, records, size, acks, _, batch_id, _, producer_id, producer_epoch, first_sequence, timestamp, transactional_id, _, content,
    ) = request  # fmt: skip
    if acks == -1 and partition.under_min_isr:
        min_isr = partition.effective_min_isr()
        refuse_produce(broker, sender, request, errors.NOT_ENOUGH_REPLICAS, partition.isr, min_isr, why=partition.why_under_min_isr())
        return
    config = log.config
    if size > config.max_message_bytes * records:
        refuse_produce(broker, sender, request, errors.MESSAGE_TOO_LARGE, partition.isr, partition.effective_min_isr())
        return
    if config.compact and type(content) is not tuple:  # no keys
        refuse_produce(broker, sender, request, broker.release.keyless_error, partition.isr, partition.effective_min_isr())
        return
    if producer_id >= 0 and not _validate_producer_state(partition, sender, request, guard):
        return
    term, account = partition.term, partition.account
    assert term is not None, "every leader has a term"
    assert account is not None, "every leader reports its records to the durability account"
    base, journal = log.leo, broker.journal
    if config.log_append_time:
        timestamp = broker.settings.clock.read(journal.now)
    made = journal.now if timestamp < 0 else term.stamp(timestamp)
    arrived = journal.cause
    end = _append(
        partition, term, (base, records, size, producer, batch_id, made, producer_id, producer_epoch, first_sequence, transactional_id != "", content), acks
    )  # fmt: skip
    account.accepted += records
    if acks:
        _respond_or_delay(partition, sender, request, base, end)
    elif broker.account.requests_may_repeat:
        broker.account.appended(partition.tp, broker.id, term, base, request, log)
    _after_append(partition)
    journal.cause = arrived


def append_as_coordinator(
    partition: Partition,
    batch: BatchFields,
    deadline: int,
    completion: AppendCompletion,
    guard: int = NO_GUARD,
    *,
    below_min_isr: bool = False,
) -> None:
    """Append one of the broker's own batches with acks=all: records of an internal topic, or a marker (`AppendOrigin.COORDINATOR`).

    Args:
        partition: a partition that this broker leads.
        batch: the batch, whose offsets begin at the LEO.
        deadline: when the write times out, in µs.
        completion: the function to call when the batch is committed or the write has failed. If the write is refused, `completion` is
            called immediately.
        guard: the verification number of a transactional batch (KIP-890); NO_GUARD if the batch needed no verification.
        below_min_isr: whether the batch is appended even if the ISR is smaller than min.insync.replicas.
    """
    if partition.under_min_isr and not below_min_isr:
        completion.append_completed(errors.NOT_ENOUGH_REPLICAS)
        return
    if batch[9] and (error := _transaction_error(partition, batch, guard)) != errors.NONE:
        completion.append_completed(error)
        return
    term, journal = partition.term, partition.broker.journal
    assert term is not None, "every leader has a term"
    arrived = journal.cause
    end = _append(partition, term, batch, -1)
    _delay(partition, DelayedAppend(batch[3], batch[0], end, deadline, completion))
    _after_append(partition)
    journal.cause = arrived


def _transaction_error(partition: Partition, batch: BatchFields, guard: int) -> str:
    """Check the producer epoch and the verification of one of the broker's own transactional batches, and return the error that the check
    finds, or NONE. The sequence numbers of the batch are not checked.

    Kafka: `ProducerAppendInfo#maybeValidateDataBatch` with `AppendOrigin.COORDINATOR`. Transaction markers are checked before
    `_transaction_error` is called.
    """
    producer_id, epoch, content = batch[6], batch[7], batch[10]
    if isinstance(content, EndTransactionMarker):
        return errors.NONE
    producers = partition.producer_state()
    known = producers.entries.get(producer_id)
    if known is not None and epoch < known.epoch:
        return errors.INVALID_PRODUCER_EPOCH
    return errors.NONE if guard == NO_GUARD or producers.verifies(producer_id, guard) else errors.INVALID_TXN_STATE


def _append(partition: Partition, term: Term, batch: BatchFields, acks: int) -> Column:
    """Append a batch to a leader's log, and return the new LEO. The append event becomes the cause of the events that follow."""
    broker, log = partition.broker, partition.log
    journal = broker.journal
    now: Column = journal.now
    for replica in partition.remotes:
        if replica.caught_up_session is not None:  # the follower was at the LEO, which is about to advance
            replica.leave_caught_up_session()
            broker.maybe_out_of_sync[partition.tp] = None
    end = log.append_as_leader(term, batch)
    if batch[6] >= 0:  # the producer ID
        term.has_producer_ids = True
        log.producer_state()
    arrived: Column = journal.cause
    journal.seq = journal.cause = seq = journal.seq + 1
    event: Column = seq
    log.last_append_event = event
    base = batch[0]
    if journal.sink is not null_sink:
        epoch, size, producer = partition.leader_epoch, batch[2], batch[3]
        journal.sink((event, now, arrived, APPENDED, broker.id, partition.topic, partition.number, epoch, base, end, size, producer, acks))
    if base == log.high_watermark:
        partition.uncommitted_since = now
    return end


def _after_append(partition: Partition) -> None:
    """Raise the high watermark if possible, and tell the followers' fetch sessions that records were appended."""
    partition.maybe_increment_leader_hw()
    for entry in partition.sessions:
        if not entry.must_respond or entry.session.parked is not None:  # otherwise the follower's next fetch finds the records
            entry.session.records_appended(entry)


def _respond_or_delay(partition: Partition, sender: str, request: ProduceRequest, base: int, end: int) -> None:
    """Respond to a produce request whose batch has been appended.

    With acks=1, respond immediately; otherwise, respond when the batch is committed.
    """
    broker, tp, term = partition.broker, partition.tp, partition.term
    assert term is not None, "every leader has a term"
    broker.account.appended(tp, broker.id, term, base, request, partition.log)
    if request.acks == 1:
        send_produce_response(broker, sender, request, errors.NONE, base, term)
        return
    _delay(partition, DelayedProduce(end, broker.journal.now + request.timeout, sender, request, base, term))


def _delay(partition: Partition, write: DelayedWrite) -> None:
    """Delay a write until the high watermark reaches it."""
    if partition.delayed is None:
        partition.delayed = DelayedProduces(partition.broker, partition.tp)
    partition.delayed.add(write)


def _validate_producer_state(partition: Partition, sender: str, request: ProduceRequest, guard: int) -> bool:
    """Return whether to append an idempotent producer's batch (`UnifiedLog#analyzeAndValidateProducerState`).

    The response to a duplicate contains the offsets from the first append. With acks=all, the leader responds to a duplicate only when the
    records from the first append are committed. The leader refuses a batch that is out of sequence.
    """
    broker, log, tp, release = partition.broker, partition.log, partition.tp, partition.broker.release
    now = broker.journal.now
    producers = partition.producer_state()
    producer_id, epoch, sequence = request.producer_id, request.producer_epoch, request.first_sequence
    transactional = request.transactional_id != ""
    known = producers.duplicate(producer_id, epoch, sequence, request.records)
    if known is None:
        verified = not (release.verifies_transactions and broker.config.verifies_transactions)
        error = producers.validate(producer_id, epoch, sequence, transactional=transactional, verified=verified, guard=guard)
        if error != errors.NONE:
            why = _why_refused(partition, sender, request, error)
            refuse_produce(broker, sender, request, error, partition.isr, partition.effective_min_isr(), log.log_start, why)
        return error == errors.NONE
    base, end = known.first_offset, known.last_offset + 1
    broker.journal.emit(events.DuplicateDropped.kind, broker.id, tp.topic, tp.partition, request.producer, base, end, sequence)
    term = log.term_at(base)
    if request.acks != -1 or end <= log.high_watermark:
        send_produce_response(broker, sender, request, errors.NONE, base, term)
        return False
    assert term is not None, "the log holds every batch that the producer state knows"
    _delay(partition, DelayedProduce(end, now + request.timeout, sender, request, base, term))
    return False


def _why_refused(partition: Partition, sender: str, request: ProduceRequest, error: str) -> tuple[int, ...]:
    """Return the events because of which the state of a producer refuses its batch, most important first.

    A leader that no longer knows the producer has forgotten it when the log start moved (before 2.4). A gap in the sequence numbers is what
    a batch left that the producer gave up on. Otherwise, a marker has raised the producer epoch or ended the transaction. If an earlier
    attempt failed, or if the batch was sent before the marker, what delayed the batch comes first: in time, it would have been accepted.
    """
    broker, tp, disturbances = partition.broker, partition.tp, partition.broker.network.disturbances
    forgotten = request.producer_id not in partition.producer_state().entries
    moved = disturbances.last_change((tp, LOG_START)) if forgotten and not broker.release.producers_outlive_segments else 0
    if moved:
        return (moved,)
    given_up = disturbances.last_change((tp, request.producer, GIVEN_UP)) if error == errors.OUT_OF_ORDER_SEQUENCE_NUMBER else 0
    if given_up:
        return (given_up,)
    ended, now, sent_by = disturbances.last_change((tp, request.producer_id)), broker.journal.now, broker.journal.cause
    if request.attempt > 1:
        return (sent_by, ended)
    late = disturbances.between(sender, broker.node.address, now - request.timeout, now) if ended > sent_by else ()
    return (*late[: MAX_CAUSES - 2], ended)


def delete_records(partition: Partition, offset: int) -> None:
    """Delete the records below `offset`, or below the high watermark if `offset` is -1 (DeleteRecords, `Partition#deleteRecordsOnLeader`)."""
    log, tp, journal, me = partition.log, partition.tp, partition.broker.journal, partition.broker.id
    target = log.high_watermark if offset == -1 else offset
    old, before = log.log_start, log.readable_runs()
    try:
        if target < 0:
            raise errors.KafkaError(errors.OFFSET_OUT_OF_RANGE, f"The offset {target} for partition {tp} is not valid")
        moved = log.maybe_increment_log_start(target)
    except errors.KafkaError as refusal:
        journal.emit(events.DeleteRecordsRefused.kind, me, tp.topic, tp.partition, target, log.high_watermark, refusal.code)
        return
    if moved:
        event = journal.emit(events.LogStartMoved.kind, me, tp.topic, tp.partition, old, log.log_start, "delete-records")
        partition.broker.network.disturbances.changed((tp, LOG_START), event)
        partition.broker.account.log_start_moved(tp, log, before, old, event)
        partition.log_start_moved()
