"""Changes to a leader's log for clients: appends and deletions of records (Kafka: `Partition#appendRecordsToLeader`)."""

from __future__ import annotations

from typing import Final

from core.kafka import errors, events
from core.kafka.broker.partition import Partition
from core.kafka.broker.purgatory.delayed_produce import DelayedProduce, DelayedProduces
from core.kafka.broker.purgatory.produce_response import refuse_produce, send_produce_response
from core.kafka.log.leader_term import Batch
from core.kafka.log.producer_state import ProducerStateManager
from core.kafka.messages import ProduceRequest
from core.sim.journal import Column, null_sink

APPENDED: Final = events.Appended.kind


def append_records_to_leader(partition: Partition, sender: str, request: ProduceRequest) -> None:
    """Append or refuse the records of a produce request, and respond now or later.

    Kafka: `Partition#appendRecordsToLeader`, `ReplicaManager#appendRecords`.
    """
    broker, log = partition.broker, partition.log
    journal, tp = broker.journal, partition.tp
    _, producer, _, records, size, acks, _, batch_id, _, producer_id, producer_epoch, first_sequence, timestamp = request
    if acks == -1 and partition.under_min_isr:
        refuse_produce(broker, sender, request, errors.NOT_ENOUGH_REPLICAS, partition.isr, partition.effective_min_isr())
        return
    if size > log.config.max_message_bytes * records:
        refuse_produce(broker, sender, request, errors.MESSAGE_TOO_LARGE, partition.isr, partition.effective_min_isr())
        return
    if producer_id >= 0 and not _validate_producer_state(partition, sender, request):
        return
    term, account = partition.term, partition.account
    assert term is not None, "a leader has a term"
    assert account is not None, "and an account"
    base = log.leo
    now: Column = journal.now
    for replica in partition.remotes:
        if replica.session is not None:  # the follower was at the LEO, which is about to advance
            replica.detach_session()
            broker.behind[tp] = None
    made = now if timestamp < 0 else term.stamp(timestamp)
    batch = (base, records, size, producer, batch_id, made, producer_id, producer_epoch, first_sequence)
    end = log.append_as_leader(term, batch)
    if producer_id >= 0 and partition.producers is not None:
        partition.producers.update(Batch._make(batch))
    arrived = journal.cause
    journal.seq = journal.cause = seq = journal.seq + 1
    event: Column = seq
    log.last_append = event
    if journal.sink is not null_sink:
        epoch = partition.leader_epoch
        journal.sink((event, now, arrived, APPENDED, broker.id, partition.topic, partition.number, epoch, base, end, size, producer, acks))
    account.accepted += records
    if base == log.high_watermark:
        partition.uncommitted_since = now
    if acks:
        _respond_or_delay(partition, sender, request, base, end)
    elif broker.account.requests_may_repeat:
        broker.account.appended(tp, broker.id, term, base, request, log)
    partition.maybe_increment_leader_hw()
    for entry in partition.sessions:
        if not entry.dirty or entry.session.parked is not None:  # otherwise the follower's next fetch finds the records
            entry.session.records_appended(entry)
    journal.cause = arrived


def _respond_or_delay(partition: Partition, sender: str, request: ProduceRequest, base: int, end: int) -> None:
    """Respond to a produce request whose batch is appended. With acks=1, respond at once; otherwise, when the batch is committed."""
    broker, tp, term = partition.broker, partition.tp, partition.term
    assert term is not None, "a leader has a term"
    broker.account.appended(tp, broker.id, term, base, request, partition.log)
    if request.acks == 1:
        send_produce_response(broker, sender, request, errors.NONE, base, term)
        return
    _delay_produce(partition, DelayedProduce(end, broker.journal.now + request.timeout, sender, request, base, term))


def _delay_produce(partition: Partition, write: DelayedProduce) -> None:
    """Delay a write until the high watermark reaches it."""
    if partition.delayed is None:
        partition.delayed = DelayedProduces(partition.broker, partition.tp)
    partition.delayed.add(write)


def _validate_producer_state(partition: Partition, sender: str, request: ProduceRequest) -> bool:
    """Whether to append an idempotent producer's batch (`UnifiedLog#analyzeAndValidateProducerState`).

    The response to a duplicate contains the offsets of the first append. With acks=all, it is sent when these offsets are committed. A batch
    that is out of sequence is refused.
    """
    broker, log, tp = partition.broker, partition.log, partition.tp
    now = broker.journal.now
    if partition.producers is None:
        partition.producers = ProducerStateManager.of_log(log, now)
    producers = partition.producers
    producers.remove_expired_if_due(now)
    known = producers.duplicate(request.producer_id, request.producer_epoch, request.first_sequence, request.records)
    if known is None:
        error = producers.validate(request.producer_id, request.producer_epoch, request.first_sequence)
        if error != errors.NONE:
            refuse_produce(broker, sender, request, error, partition.isr, partition.effective_min_isr())
        return error == errors.NONE
    base, end = known.first_offset, known.last_offset + 1
    broker.journal.emit(
        events.DuplicateDropped.kind, broker.id, tp.topic, tp.partition, request.producer, base, end, request.first_sequence
    )
    term = log.term_at(base)
    if request.acks != -1 or end <= log.high_watermark:
        send_produce_response(broker, sender, request, errors.NONE, base, term)
        return False
    assert term is not None, "the state holds what the log holds"
    _delay_produce(partition, DelayedProduce(end, now + request.timeout, sender, request, base, term))
    return False


def delete_records(partition: Partition, offset: int) -> None:
    """Delete the records below `offset`; if it is -1, below the high watermark (DeleteRecords, `Partition#deleteRecordsOnLeader`)."""
    log, tp, journal, me = partition.log, partition.tp, partition.broker.journal, partition.broker.id
    target = log.high_watermark if offset == -1 else offset
    old = log.log_start
    try:
        if target < 0:
            raise errors.KafkaError(errors.OFFSET_OUT_OF_RANGE, f"The offset {target} for partition {tp} is not valid")
        moved = log.maybe_increment_log_start(target)
    except errors.KafkaError as refusal:
        journal.emit(events.DeleteRecordsRefused.kind, me, tp.topic, tp.partition, target, log.high_watermark, refusal.code)
        return
    if moved:
        journal.emit(events.LogStartMoved.kind, me, tp.topic, tp.partition, old, log.log_start, "delete-records")
        partition.log_start_moved()
