"""The known errors of the newest release: how a run shows that one happened, and the release as it would be without the error."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import attrs
import pytest

from core.kafka import events
from core.kafka.release import Release
from core.kafka.transaction.transaction_coordinator import TransactionCoordinator
from core.kafka.transaction.transaction_log import TRANSACTION_STATE_TOPIC, partition_of
from core.sim.units import US_PER_MS

CHECK: Final = 5 * US_PER_MS
"""The interval at which a coordinator without the error checks whether its log is committed, in µs."""


class KnownError(NamedTuple):
    """A known error.

    Attributes:
        name: the name of the error in reports: Kafka's issue, or the scenario that shows it.
        happened: whether an event shows that the error could have done harm.
        repaired: a context in which a release runs without the error.
    """

    name: str
    happened: Callable[[tuple[Any, ...]], bool]
    repaired: Callable[[Release], contextlib.AbstractContextManager[Release]]


def _truncates_coordinator_state(event: tuple[Any, ...]) -> bool:
    return event[3] == events.Truncated.kind and event[5] == TRANSACTION_STATE_TOPIC


def _elected_when_committed(coordinator: Any, partition: int, coordinator_epoch: int) -> None:
    """Load the IDs of a partition when the log that the coordinator found at its election is committed."""
    broker, tp = coordinator.broker, partition_of(partition)
    end = broker.disk.logs[tp].leo

    def check(about: object = None) -> None:
        hosted = coordinator.states.replicas.hosted.online.get(tp)
        if hosted is None or not hosted.is_leader or hosted.leader_epoch != coordinator_epoch:
            return
        if hosted.log.high_watermark >= end:
            _ELECTED(coordinator, partition, coordinator_epoch)
        else:
            broker.node.timer(CHECK, timer)

    timer = f"load {tp} in epoch {coordinator_epoch}"
    broker.node.timers[timer] = check
    check()


_ELECTED: Final = TransactionCoordinator.elected


@contextlib.contextmanager
def _without_skipped_markers(release: Release) -> Iterator[Release]:
    yield attrs.evolve(release, skips_markers_of_offline_partitions=False)


@contextlib.contextmanager
def _with_committed_state(release: Release) -> Iterator[Release]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionCoordinator, "elected", _elected_when_committed)
        yield release


KNOWN_ERRORS: Final = (
    KnownError("KAFKA-20734", lambda event: event[3] == events.MarkerSkipped.kind, _without_skipped_markers),
    KnownError("t14-unreplicated-coordinator-state", _truncates_coordinator_state, _with_committed_state),
)
"""The known errors of the newest release. docs/model.md describes them."""
