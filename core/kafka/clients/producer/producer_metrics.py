"""What a producer counts (Kafka: `SenderMetricsRegistry`)."""

from __future__ import annotations

import attrs


@attrs.define(slots=True, eq=False)
class ProducerMetrics:
    """What became of the records of one producer.

    Attributes:
        sent: the number of records produced.
        acked: the number of records that were acknowledged.
        failed: the number of records that the producer gave up on.
        retries: the total number of retries of all batches.
        last_latency: the latency of the last acknowledged batch, in µs; -1 if there is none.
    """

    sent: int = 0
    acked: int = 0
    failed: int = 0
    retries: int = 0
    last_latency: int = -1
