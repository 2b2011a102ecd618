"""The handwritten requests, created from the words of a recording."""

from __future__ import annotations

import re
from typing import Any, Final

import attrs

from core.kafka.ids import TopicPartition
from core.kafka.log.control_record import EndTransactionMarker
from core.kafka.messages import InitProducerIdRequest, ProduceRequest
from core.kafka.transaction.transaction_messages import (
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitTransactionalIdRequest,
    TxnMarkerEntry,
    WriteTxnMarkersRequest,
)
from core.sim.units import SECOND, US_PER_MS
from tests.fidelity.transactions.raw_client import NAME
from tests.fidelity.transactions.recording import TransactionAct, TransactionRecording

COORDINATED: Final = ("InitProducerId", "AddPartitionsToTxn", "EndTxn")
"""The requests that go to the coordinator of the transactional.id."""

NEW_PROTOCOL: Final = {"EndTxn": 5, "Produce": 12, "WriteTxnMarkers": 2}
"""The first version of a request that belongs to transaction.version 2."""

RECORD_BYTES: Final = 100
"""The size of a record."""


@attrs.frozen
class RawRequest:
    """A request.

    Attributes:
        api: its name.
        level: the transaction.version to which it belongs.
        transactional_id: the transactional.id; empty for none.
        timeout_ms: transaction.timeout.ms.
        pid, epoch: the recorded producer ID and epoch; -1 for none.
        sequences: the first and the last sequence number of a batch.
        partition: the recorded partition.
        commit: whether the transaction is committed.
        coordinator_epoch: the coordinator epoch of a marker.
    """

    api: str
    level: int
    transactional_id: str
    timeout_ms: int
    pid: int
    epoch: int
    sequences: tuple[int, int]
    partition: str
    commit: bool
    coordinator_epoch: int

    @classmethod
    def of(cls, act: TransactionAct, recording: TransactionRecording) -> RawRequest:
        """Return the request of an act."""
        text = " ".join(act.words)
        _, api, *version = act.op.split()
        level = 2 if version and int(version[0][1:]) >= NEW_PROTOCOL.get(api, 100) else 0
        named = re.search(r"\((?:pid )?(-?\d+), ?(?:epoch )?(-?\d+)\)", text)
        pid, epoch = (int(named[1]), int(named[2])) if named else (-1, -1)
        transactional_id = _transactional_id(act, recording, pid)
        sequence = re.search(r"seq (\d+)(?:\.\.(\d+))?", text)
        first = int(sequence[1]) if sequence else -1
        place = re.search(r"\b([a-z]\w*-\d+)", text)
        coordinator_epoch = re.search(r"ce (-?\d+)", text)
        return cls(
            api,
            level,
            transactional_id,
            recording.timeouts().get(transactional_id, 60_000),
            pid,
            epoch,
            (first, int(sequence[2]) if sequence and sequence[2] else first),
            "nope-0" if "unknown topic" in text else place[1] if place else recording.partitions[0],
            "commit" in text.lower(),
            int(coordinator_epoch[1]) if coordinator_epoch else 0,
        )

    def message(self, number: int, pid: int, tp: TopicPartition) -> Any:
        """Return the model's request. `pid` and `tp` are those of the model."""
        match self.api:
            case "InitProducerId" if not self.transactional_id:
                return InitProducerIdRequest(number, NAME)
            case "InitProducerId":
                timeout = self.timeout_ms * US_PER_MS
                return InitTransactionalIdRequest(number, NAME, self.transactional_id, timeout, pid, self.epoch, self.level)
            case "AddPartitionsToTxn":
                return AddPartitionsToTxnRequest(number, self.transactional_id, pid, self.epoch, (tp,))
            case "EndTxn":
                return EndTxnRequest(number, self.transactional_id, pid, self.epoch, self.commit, self.level)
            case "Produce":
                first, last = self.sequences
                records = last - first + 1
                return ProduceRequest(
                    number, NAME, tp, records, RECORD_BYTES * records, -1, 30 * SECOND, number, 1, pid, self.epoch, first, -1,
                    self.transactional_id, self.level >= 2,
                )  # fmt: skip
            case "WriteTxnMarkers":
                marker = EndTransactionMarker(int(self.commit), self.coordinator_epoch)
                return WriteTxnMarkersRequest(number, (TxnMarkerEntry(NAME, pid, self.epoch, marker, (tp,), self.level),))
        raise ValueError(f"a request is not known: {self.api}")


def _transactional_id(act: TransactionAct, recording: TransactionRecording, pid: int) -> str:
    """Return the ID that has the producer ID in the request or in the response; otherwise, the ID of the previous requests."""
    if "transactional.id" in act.words:
        return ""
    owners = recording.owners()
    if pid in owners:
        return owners[pid]
    if isinstance(act.result, list) and len(act.result) == 3 and act.result[1] in owners:
        return owners[act.result[1]]
    if act.number == 0 or not owners:
        return ""
    return _transactional_id(recording.acts[act.number - 1], recording, _named(recording.acts[act.number - 1]))


def _named(act: TransactionAct) -> int:
    found = re.search(r"\((?:pid )?(-?\d+),", " ".join(act.words))
    return int(found[1]) if found else -1
