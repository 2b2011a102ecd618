"""Events about transactions: their coordinators, their markers, and their clients."""

from __future__ import annotations

from core.kafka.events.base import NOTABLE, TRANSACTIONS, Event, ReplicaEvent, count_of, offsets


class CoordinatorLoaded(ReplicaEvent, kind="coordinator-loaded", source="TransactionStateManager#loadTransactionsForTxnTopicPartition"):
    """A broker became the transaction coordinator for a partition of `__transaction_state`, and loaded the transactional IDs from its log."""

    coordinator_epoch: int
    transactional_ids: int

    template = (
        "b{broker} now coordinates the transactional IDs in {tp} (coordinator epoch "
        "{coordinator_epoch}); it loaded {transactional_ids:count ID} from the log"
    )


class CoordinatorUnloaded(ReplicaEvent, kind="coordinator-unloaded", source="TransactionCoordinator#onResignation"):
    """A broker is no longer the transaction coordinator for a partition of `__transaction_state`."""

    coordinator_epoch: int

    template = "b{broker} no longer coordinates the transactional IDs in {tp}"


class TransactionStateChanged(
    Event, kind="transaction-state", source="TransactionMetadata#completeTransitionTo", level=NOTABLE, changes=TRANSACTIONS
):
    """A transactional ID entered a different state, because the coordinator's record in `__transaction_state` was committed."""

    broker: int
    transactional_id: str
    producer_id: int
    producer_epoch: int
    former_state: str
    transaction_state: str
    partitions_named: str

    def sentence(self) -> str:
        where = f"; partitions: {self.partitions_named}" if self.partitions_named else ""
        changed = self.former_state != self.transaction_state
        what = f"changed from {self.former_state} to {self.transaction_state}" if changed else f"stays {self.transaction_state}"
        return (
            f"transactional ID {self.transactional_id} {what} on its coordinator b{self.broker} "
            f"(producer ID {self.producer_id}, epoch {self.producer_epoch}){where}"
        )


class TransactionRefused(Event, kind="transaction-refused", source="TransactionCoordinator", level=NOTABLE, changes=TRANSACTIONS):
    """The coordinator refused a request for a transactional ID."""

    broker: int
    transactional_id: str
    request: str
    error: str

    template = "b{broker} refused {request} for {transactional_id}: {error}"


class TransactionTimedOut(
    Event, kind="transaction-timed-out", source="TransactionCoordinator#abortTimedOutTransactions", level=NOTABLE, changes=TRANSACTIONS
):
    """A transaction exceeded transaction.timeout.ms, so the coordinator fences its producer and aborts the transaction."""

    broker: int
    transactional_id: str
    producer_id: int
    producer_epoch: int
    open_us: int

    template = "b{broker} aborts the transaction of {transactional_id}, which has been open for {open_us:duration}"


class MarkerAppended(ReplicaEvent, kind="marker-appended", source="ProducerAppendInfo#appendEndTxnMarker"):
    """A leader appended the marker that ends a transaction in its partition. `first_offset` is -1 if the producer had no open
    transaction."""

    marker_offset: int
    marker: str
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    first_offset: int

    def sentence(self) -> str:
        what = (
            f"ends the transaction that began at offset {self.first_offset}"
            if self.first_offset >= 0
            else "ends nothing, because the producer had no open transaction"
        )
        return (
            f"b{self.broker} appended the {self.marker} marker of producer ID {self.producer_id}, epoch {self.producer_epoch}, "
            f"to {self.tp} at offset {self.marker_offset}: it {what}"
        )


class MarkerRefused(ReplicaEvent, kind="marker-refused", source="ProducerAppendInfo#checkCoordinatorEpoch", level=NOTABLE):
    """A leader refused a marker."""

    marker: str
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    error: str

    template = (
        "b{broker} refused the {marker} marker of producer ID {producer_id}, "
        "epoch {producer_epoch}, coordinator epoch {coordinator_epoch}, for {tp}: {error}"
    )


class MarkerSkipped(
    ReplicaEvent, kind="marker-skipped", source="TransactionMarkerChannelManager#addTxnMarkersToBrokerQueue", level=NOTABLE
):
    """A coordinator skipped the marker for a partition that has no leader, because the coordinator assumes that the partition was deleted."""

    transactional_id: str
    producer_id: int

    template = (
        "b{broker} skipped the marker of transactional ID {transactional_id} for {tp}, "
        "which has no leader: b{broker} assumes that the partition was deleted"
    )


class LastStableOffsetAdvanced(ReplicaEvent, kind="last-stable-offset", source="UnifiedLog#lastStableOffset"):
    """A leader's last stable offset rose. Consumers with read_committed can read up to the last stable offset."""

    from_offset: int
    to_offset: int
    high_watermark: int

    template = "the last stable offset of {tp} rose from {from_offset} to {to_offset} on b{broker} (high watermark {high_watermark})"


class VerificationFailed(ReplicaEvent, kind="verification-failed", source="AddPartitionsToTxnManager, KIP-890", level=NOTABLE):
    """A leader did not append a transactional batch, because the coordinator did not confirm that the partition is part of the transaction."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    error: str

    template = "b{broker} did not append a batch of {transactional_id} to {tp}: the coordinator did not confirm the transaction ({error})"


class TransactionBegun(Event, kind="transaction-begun", source="KafkaProducer#beginTransaction", changes=TRANSACTIONS):
    """A producer began a transaction. No broker knows about the transaction until its first partition is added."""

    producer: str
    transactional_id: str
    producer_id: int
    producer_epoch: int

    template = "{producer} began a transaction with transactional ID {transactional_id} (producer ID {producer_id}, epoch {producer_epoch})"


class TransactionEnded(
    Event, kind="transaction-ended", source="KafkaProducer#commitTransaction, #abortTransaction", level=NOTABLE, changes=TRANSACTIONS
):
    """A producer learned the outcome of its transaction."""

    producer: str
    transactional_id: str
    producer_id: int
    producer_epoch: int
    marker: str

    template = "{producer} learned the outcome of its transaction with transactional ID {transactional_id}: {marker}"


class TransactionCallTimedOut(
    Event, kind="transaction-call-timed-out", source="TransactionalRequestResult#await, KAFKA-7763", level=NOTABLE, changes=TRANSACTIONS
):
    """A call of a transactional producer failed with a TimeoutException, because it had no result after max.block.ms. The application can
    make the same call again."""

    producer: str
    transactional_id: str
    call: str
    waited_us: int

    template = (
        "{call}() of {producer} failed with a TimeoutException, because it had no result "
        "after {waited_us:duration}; until it has one, only {call}() can be called again"
    )


class ProducerStateChanged(Event, kind="producer-state", source="TransactionManager#transitionTo", level=NOTABLE, changes=TRANSACTIONS):
    """A transactional producer got its producer ID and epoch, or entered an error state. `error` is the reason for an error state."""

    producer: str
    transactional_id: str
    former_state: str
    transaction_state: str
    error: str

    def sentence(self) -> str:
        reason = f": {self.error}" if self.error else ""
        return f"producer {self.producer} (transactional ID {self.transactional_id}) changed from {self.former_state} to {self.transaction_state}{reason}"


class AbortedRecordsSkipped(Event, kind="aborted-skipped", source="CompletedFetch#containsAbortMarker"):
    """A consumer with read_committed skipped the records of aborted transactions."""

    consumer: str
    topic: str
    partition: int
    from_offset: int
    to_offset: int
    records: int

    def sentence(self) -> str:
        count = count_of(self.records, "record")
        return (
            f"consumer {self.consumer} skipped {count} of aborted transactions at {offsets(self.from_offset, self.to_offset)} of {self.tp}"
        )
