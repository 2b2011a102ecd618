"""The faults of a Kafka scenario, for the other models: its acts on brokers and links, without its load and its conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from core.lab import acts as kafka_acts
from core.lab.comparison.faults import Fault
from core.models import acts
from core.sim.units import SECOND

LOAD: Final = (
    kafka_acts.Load, kafka_acts.StopLoad, kafka_acts.Produce, kafka_acts.Consume, kafka_acts.StopConsume, kafka_acts.CreateTopic, kafka_acts.Acks,
)  # fmt: skip
"""The acts that the common workload replaces."""

REPAIRED_AFTER: Final = 40 * SECOND
"""How long after the last act everything is repaired, µs. An operator of MySQL has acted by then."""


@attrs.frozen
class Script:
    """The part of a scenario that applies to all models.

    Attributes:
        fault: its faults.
        left_out: the acts that only Kafka has, with the reasons.
    """

    fault: Fault
    left_out: tuple[str, ...]


def script_of(name: str, title: str, timeline: Sequence[tuple[int, kafka_acts.Act]]) -> Script:
    """Return the faults of a scenario.

    Args:
        name: the name of the scenario.
        title: what it is about.
        timeline: its acts, each with its time, µs.
    """
    steps: list[tuple[int, acts.Act]] = []
    left_out = []
    for time, act in timeline:
        common = translated(act)
        if common is not None:
            steps.append((time, common))
        elif not isinstance(act, LOAD):
            left_out.append(f"{act.word}: only Kafka has this act")
    last = max((time for time, _ in steps), default=0)
    isolated = any(isinstance(act, acts.Isolate) and act.server == "n1" for _, act in steps)
    return Script(Fault(name, title, tuple(steps), last + REPAIRED_AFTER, isolated), tuple(dict.fromkeys(left_out)))


def translated(act: kafka_acts.Act) -> acts.Act | None:
    """Return the act of the other models for an act on Kafka; None if there is none."""
    match act:
        case kafka_acts.Kill(broker) | kafka_acts.Shutdown(broker):
            return acts.Kill(server(broker))
        case kafka_acts.Start(broker):
            return acts.Restart(server(broker))
        case kafka_acts.Pause(broker):
            return acts.Pause(server(broker))
        case kafka_acts.Resume(broker):
            return acts.Resume(server(broker))
        case kafka_acts.PowerLoss(broker):
            return acts.PowerLoss((server(broker),))
        case kafka_acts.SlowDisk(broker, delay):
            return acts.SlowDisk(server(broker), delay)
        case kafka_acts.Isolate(node) if is_broker(node):
            return acts.Isolate(server(int(node[1:])), ("a", "ra") if node == "b1" else ())
        case kafka_acts.Cut((a, b)) if is_broker(a) and is_broker(b):
            return acts.Cut(server(int(a[1:])), server(int(b[1:])))
        case kafka_acts.Heal(None):
            return acts.HealAll()
        case kafka_acts.Heal((a, b)) if is_broker(a) and is_broker(b):
            return acts.Heal(server(int(a[1:])), server(int(b[1:])))
        case kafka_acts.Link((a, b), latency) if latency is not None and is_broker(a) and is_broker(b):
            return acts.SlowLink(server(int(a[1:])), server(int(b[1:])), latency)
        case _:
            return None


def server(broker: int) -> str:
    """Return the name of a broker's counterpart in the other models."""
    return f"n{broker}"


def is_broker(node: str) -> bool:
    """Return whether a node is a broker."""
    return node[:1] == "b" and node[1:].isdecimal()
