"""Readings of the durability account: how many records were accepted, acknowledged, committed, exposed, lost, and duplicated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from core.kafka.ids import TopicPartition
from scenarios.readings.client_readings import client_value
from scenarios.readings.reading import NUMBER, Moment, Reading


def _account(name: str) -> Callable[..., Any]:
    """Return a function that reads a count from the durability account: the count of the whole cluster, of a partition, or (only `acked`)
    of a producer.
    """

    def read(moment: Moment, subject: TopicPartition | str | None = None) -> Any:
        if subject is None:
            return getattr(moment.view(), name)
        if isinstance(subject, TopicPartition):
            view = moment.partition(subject)
            return None if view is None else getattr(view, name)
        return client_value(moment, subject, name)

    return read


def _committed(moment: Moment, tp: TopicPartition | None = None) -> Any:
    if tp is None:
        return sum(view.committed for view in moment.view().partitions)
    view = moment.partition(tp)
    return None if view is None else view.committed


RECORD_READINGS: Final = (
    Reading("accepted", ("partition?",), NUMBER, "the number of records that leaders have appended", _account("accepted")),
    Reading("acked", ("partition-or-client?",), NUMBER, "the number of records that were acknowledged to producers", _account("acked")),
    Reading("committed", ("partition?",), NUMBER, "the number of records below the high watermark", _committed),
    Reading("exposed", ("partition?",), NUMBER, "the number of committed records that at least one electable replica lacks", _account("exposed")),
    Reading("lost", ("partition?",), NUMBER, "the number of acknowledged or read records that the leader's log lacks, each counted "
        "once", _account("lost")),
    Reading(
        "lost-acknowledged", ("partition?",), NUMBER, "the number of lost records that were acknowledged to their producer (acks 1 or all)",
        _account("lost_acknowledged"),
    ),
    Reading("lost-read", ("partition?",), NUMBER, "the number of lost records that a consumer had read, whether acknowledged or "
        "not", _account("lost_read")),
    Reading("duplicated", ("partition?",), NUMBER, "the number of records that were appended twice", _account("duplicated")),
    Reading("out-of-order", ("partition?",), NUMBER, "the number of records that partitions hold in another order than they were sent: the "
        "records of batches that were appended after a batch that their producer created later", _account("out_of_order")),
    Reading("diverged", ("partition?",), NUMBER, "the number of offsets at which replicas permanently have different records", _account("diverged")),
)  # fmt: skip
