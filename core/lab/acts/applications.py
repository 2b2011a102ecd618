"""What the acts have in common that start applications: processes and services."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from core.lab.acts.act import Act

Attributes = list["attrs.Attribute[Any]"]
"""The fields of an act."""


def inherits_after(last: str) -> Callable[[type, Attributes], Attributes]:
    """Return a function that puts the fields of an act's base class behind the act's own field `last`, and the fields of the base class of
    that class behind all others. Scripts can give the first field alone, and logs and references list the fields in this order.
    """

    def in_order(act: type, fields: Attributes) -> Attributes:
        own, base = (vars(kind)["__annotations__"] for kind in act.__mro__[:2])
        at = list(own).index(last)
        places = {name: (0 if number <= at else 2) for number, name in enumerate(own)} | dict.fromkeys(base, 1)
        return sorted(fields, key=lambda field: places.get(field.name, 3))

    return in_order


@attrs.frozen(eq=False, repr=False, kw_only=True)
class StartApplication(Act):
    """The base class of acts that start an application, whose consumers can be members of a group.

    Attributes:
        assignors, protocol, remote_assignor, instance_id: the same as in `JoinGroup`.
        poll_time: the time that the application takes for each poll that returns records, in µs.
        record_time: the time that the application takes for each record, in µs.
    """

    assignors: tuple[str, ...] = ()
    protocol: str | None = None
    remote_assignor: str | None = None
    instance_id: str | None = None
    poll_time: int = 0
    record_time: int = 0


@attrs.frozen(eq=False, repr=False, kw_only=True, field_transformer=inherits_after("instances"))
class StartService(StartApplication):
    """The base class of acts that start a service.

    Attributes:
        partitions: the number of partitions of each topic that the service creates.
        bound: the number of held records at which a worker pauses a partition.
        commit_every: the time between two commits, in µs.
        commit: the offsets that a worker commits (`ServiceCommit`).
        transactional: whether the records that a worker sends and its offsets form one transaction.
        crash_after: the step after which each worker crashes (`ServiceStep`), or None.
        reset: auto.offset.reset.
        config: Kafka settings of the clients of the service, by name (`core.kafka.clients.client_config`).
        instances: the number of workers of each topic. If there are several, they are members of a group.
    """

    partitions: int = 1
    bound: int = 1000
    commit_every: int = 5_000_000
    commit: str = "done"
    transactional: bool = False
    crash_after: str | None = None
    reset: str | None = None
    config: tuple[tuple[str, str], ...] = ()
    instances: int = 1
