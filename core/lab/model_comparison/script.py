"""The faults of a Kafka scenario, translated for the other models. The faults are the scenario's acts on brokers and links. The scenario's
load and conditions are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from core.lab import acts as kafka_acts
from core.lab.model_comparison.faults import Fault
from core.models import acts
from core.sim.units import SECOND

LOAD: Final = (
    kafka_acts.Load, kafka_acts.StopLoad, kafka_acts.Produce, kafka_acts.Consume, kafka_acts.StopConsume, kafka_acts.CreateTopic, kafka_acts.Acks,
)  # fmt: skip
"""The acts of a scenario that the common workload replaces."""

REPAIRED_AFTER: Final = 40 * SECOND
"""The time from the last act until everything is repaired, in µs. The MySQL operator acts before the repair."""


@attrs.frozen
class Script:
    """The part of a scenario that applies to all models.

    Attributes:
        fault: the scenario's faults.
        left_out: the acts that only Kafka has, with the reasons.
    """

    fault: Fault
    left_out: tuple[str, ...]


def script_of(name: str, title: str, timeline: Sequence[tuple[int, kafka_acts.Act]], servers: Mapping[int, str] | None = None) -> Script:
    """Return the faults of a scenario.

    Args:
        name: the name of the scenario.
        title: a one-line description of the scenario.
        timeline: the scenario's acts, each with the time at which it is performed, in µs.
        servers: the counterparts of the brokers in the other models; by default, `n1` for broker 1, and so on, for three brokers.
    """
    steps: list[tuple[int, acts.Act]] = []
    left_out = []
    for time, act in timeline:
        common = translated(act, servers)
        if common is not None:
            steps.append((time, common))
        elif translated(act) is not None:
            left_out.append(f"{act.word}: the broker has no copy of the first partition")
        elif not isinstance(act, LOAD):
            left_out.append(f"{act.word}: only Kafka has this act")
    last = max((time for time, _ in steps), default=0)
    isolated = any(isinstance(act, acts.Isolate) and act.server == "n1" for _, act in steps)
    fault = Fault(name, title, tuple(steps), last + REPAIRED_AFTER, isolated, 3 if servers is None else len(servers))
    return Script(fault, tuple(dict.fromkeys(left_out)))


def translated(act: kafka_acts.Act, servers: Mapping[int, str] | None = None) -> acts.Act | None:
    """Return the counterpart of a Kafka act in the other models; None if there is none.

    Args:
        act: the act on Kafka.
        servers: the counterparts of the brokers; by default, `n1` for broker 1, and so on.
    """
    names = [_server(broker, servers) for broker in _brokers_of(act)]
    if not all(names):
        return None
    match act, names:
        case kafka_acts.Kill() | kafka_acts.Shutdown(), [name]:
            return acts.Kill(name)
        case kafka_acts.Start(), [name]:
            return acts.Restart(name)
        case kafka_acts.Pause(), [name]:
            return acts.Pause(name)
        case kafka_acts.Resume(), [name]:
            return acts.Resume(name)
        case kafka_acts.PowerLoss(), [name]:
            return acts.PowerLoss((name,))
        case kafka_acts.SlowDisk(_, delay), [name]:
            return acts.SlowDisk(name, delay)
        case kafka_acts.Isolate(), [name]:
            return acts.Isolate(name, ("a", "ra") if name == "n1" else ())
        case kafka_acts.Cut(), [a, b]:
            return acts.Cut(a, b)
        case kafka_acts.Heal(None), []:
            return acts.HealAll()
        case kafka_acts.Heal(), [a, b]:
            return acts.Heal(a, b)
        case kafka_acts.Link(_, latency), [a, b] if latency is not None:
            return acts.SlowLink(a, b, latency)
        case _:
            return None


def _brokers_of(act: kafka_acts.Act) -> list[int]:
    """Return the brokers to which an act on brokers or links applies."""
    match act:
        case (
            kafka_acts.Kill(broker)
            | kafka_acts.Shutdown(broker)
            | kafka_acts.Start(broker)
            | kafka_acts.Pause(broker)
            | kafka_acts.Resume(broker)
            | kafka_acts.PowerLoss(broker)
            | kafka_acts.SlowDisk(broker)
        ):
            return [broker]
        case kafka_acts.Isolate(node) if is_broker(node):
            return [int(node[1:])]
        case kafka_acts.Cut((a, b)) | kafka_acts.Heal((a, b)) | kafka_acts.Link((a, b)) if is_broker(a) and is_broker(b):
            return [int(a[1:]), int(b[1:])]
        case _:
            return []


def _server(broker: int, servers: Mapping[int, str] | None) -> str:
    """Return the name of a broker's counterpart in the other models; empty if the broker has no counterpart."""
    return f"n{broker}" if servers is None else servers.get(broker, "")


def is_broker(node: str) -> bool:
    """Return whether a node is a broker."""
    return node[:1] == "b" and node[1:].isdecimal()
