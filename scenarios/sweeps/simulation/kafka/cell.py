"""A cell of a grid of Kafka's settings: a cluster with its settings, and a workload."""

from __future__ import annotations

import attrs

from core.kafka.release import Release
from core.lab.spec import ClusterSpec
from core.sim.units import SECOND
from scenarios.sweeps.grid.grid import Cell


@attrs.frozen
class ProducerLoad:
    """A producer with a constant rate.

    Attributes:
        name: the name of the producer.
        topic: the topic that the producer writes to.
        rate: the number of records per second.
        every: the interval, in µs, between batches near the beginning and the end of a fault.
        between: the interval between batches at all other times. The number of records per second stays the same.
        acks: the acks setting of the producer, which a cell can override; None for the release's default.
        bytes: the size of a record.
        idempotence: enable.idempotence, which a cell can override; None for the release's default.
    """

    name: str
    topic: str
    rate: int
    every: int = 50_000
    between: int = 50_000
    acks: str | None = None
    bytes: int = 100
    idempotence: bool | None = None


@attrs.frozen
class FaultWindow:
    """The windows around faults. If a grid defines such windows, a run simulates only them, and skips the rest of its horizon.

    Attributes:
        before: the warm-up before the first fault of a window.
        after: the time from the end of the last fault to the end of the window; if the cluster has not recovered by then, the window is
            extended.
        near: within this time before and after the beginning of a fault, and before and after its end, batches come at intervals of
            `every`.
        soon: for this long after a fault begins, and again after it ends, batches come every second, because partitions might still be
            waiting for a new leader; later, batches come at intervals of `between`.
    """

    before: int = 10 * SECOND
    after: int = 60 * SECOND
    near: int = 20_000
    soon: int = 20 * SECOND


@attrs.frozen
class RareWindows:
    """How a run draws faults if it looks for rare losses.

    Attributes:
        years: a run draws as many faults as this number of years has on average.
        at_once: only windows in which at least this number of nodes are faulty at the same time are simulated.
    """

    years: int = 25
    at_once: int = 1


@attrs.frozen
class KafkaCell(Cell):
    """A Kafka cluster under a workload.

    Attributes:
        release: the Kafka release.
        spec: the cluster, with the cell's settings.
        producers: the workload, with the cell's acks.
        consumers: the topics that have a consumer.
        around: the windows that are simulated; None for the whole horizon. Consumers and windows are the same in all cells of a grid.
        rare: which windows are drawn with weights; None to simulate all windows of the horizon. It is the same in all cells of a grid.
    """

    release: Release
    spec: ClusterSpec
    producers: tuple[ProducerLoad, ...]
    consumers: tuple[str, ...] = ()
    around: FaultWindow | None = None
    rare: RareWindows | None = None

    @property
    def partitions(self) -> int:
        """The number of partitions that receive the workload."""
        topics = {producing.topic for producing in self.producers}
        return sum(len(topic.assignment) or topic.partitions for topic in self.spec.topics if topic.name in topics)
