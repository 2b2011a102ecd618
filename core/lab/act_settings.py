"""The settings of clients that an act gives: those in its `config`, and those that its fields stand for.

Some settings of Kafka are fields of acts: `isolation: read_committed` and `config: {isolation.level: read_committed}` mean the same. The
settings for all clients of a cluster apply if an act gives neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from core.kafka.clients.client_settings import CLIENT_SETTINGS, CONSUMER, PRODUCER
from core.kafka.release import Release
from core.lab import acts
from core.lab.acts.applications import StartService
from core.sim.errors import ActRefused

Settings = tuple[tuple[str, str], ...]
"""Settings of a client by name, with their values as written."""

_PRODUCER_FIELDS: Final = {"acks": "acks", "idempotence": "enable.idempotence"}

GIVEN: Final[Mapping[type[acts.Act], Mapping[str, str]]] = {
    acts.Produce: _PRODUCER_FIELDS,
    acts.Load: _PRODUCER_FIELDS,
    acts.ProduceDelayed: {"acks": "acks"},
    acts.StartDelayService: {"idempotence": "enable.idempotence"},
}
"""For each act, the fields that are settings of its client's configuration (`ClientConfig`), with Kafka's names of these settings. A field
that is None stands for nothing.
"""

_MEMBER_FIELDS: Final = {
    "assignors": "partition.assignment.strategy",
    "instance_id": "group.instance.id",
    "protocol": "group.protocol",
    "remote_assignor": "group.remote.assignor",
}

TAKEN: Final[Mapping[type[acts.Act], Mapping[str, str]]] = {
    acts.Consume: {"reset": "auto.offset.reset", "isolation": "isolation.level", "rack": "client.rack"},
    acts.JoinGroup: {
        "group": "group.id", "reset": "auto.offset.reset", "isolation": "isolation.level", "rack": "client.rack",
        "commit": "enable.auto.commit", **_MEMBER_FIELDS,
    },
    acts.Load: {"transactional_id": "transactional.id"},
    acts.InitTransactions: {"transactional_id": "transactional.id"},
    acts.StartProcess: {"reset": "auto.offset.reset", "transactional_id": "transactional.id", "group": "group.id", **_MEMBER_FIELDS},
    acts.StartDelayService: {"reset": "auto.offset.reset", **_MEMBER_FIELDS},
    acts.StartRetryService: {"reset": "auto.offset.reset", **_MEMBER_FIELDS},
}  # fmt: skip
"""For each act, the fields that take their values from settings unless the act gives them, with Kafka's names of these settings."""

DEFAULTS: Final[Mapping[str, object]] = {
    "group": "group", "reset": "earliest", "isolation": "read_uncommitted", "protocol": "classic", "commit": "auto",
}  # fmt: skip
"""The values of fields that neither an act nor a setting gives."""

KINDS: Final[Mapping[type[acts.Act], str]] = {
    acts.Produce: PRODUCER,
    acts.Load: PRODUCER,
    acts.InitTransactions: PRODUCER,
    acts.StartProcess: PRODUCER,
    acts.StartDelayService: PRODUCER,
    acts.Consume: CONSUMER,
    acts.JoinGroup: CONSUMER,
}
"""The kind of client that an act with a `config` starts, except for services that retry records."""


def settings_of(act: acts.Act) -> Settings:
    """Return the settings of a client's configuration that an act gives.

    Raises:
        ActRefused: a field and the setting that it stands for have different values.
    """
    given = dict(getattr(act, "config", ()))
    for field, name in GIVEN.get(type(act), {}).items():
        value = getattr(act, field)
        if value is not None:
            text = str(value).lower() if isinstance(value, bool) else str(value)
            if given.setdefault(name, text) != text:
                raise _contradiction(field, name)
    return tuple(given.items())


def with_settings(act: acts.Act, clients: Settings, release: Release) -> acts.Act:
    """Return the act, with the fields that take their values from settings (`TAKEN`). A setting in the act's `config` takes precedence over
    a setting in `clients`, which is for all clients of the cluster. A client ignores settings that its release does not have.

    Raises:
        ActRefused: a field and the setting that it stands for have different values, or the value of a setting is wrong.
    """
    fields = TAKEN.get(type(act))
    if fields is None:
        return act
    own, common = dict(getattr(act, "config", ())), dict(clients)
    changes: dict[str, Any] = {}
    for field, name in fields.items():
        if field in _MEMBER_FIELDS and not _is_member(act):
            if field == "protocol" and getattr(act, field) is None:
                changes[field] = DEFAULTS[field]
            continue
        value = getattr(act, field)
        given = _value(name, own[name]) if name in own and CLIENT_SETTINGS[name].is_in(release) else None
        if given is not None and value not in (None, "", ()):
            if (given == "auto") != (value == "auto") if name == "enable.auto.commit" else given != value:
                raise _contradiction(field, name)
            continue
        if value in (None, "", ()):
            if given is None and name in common and CLIENT_SETTINGS[name].is_in(release):
                given = _value(name, common[name])
            if given is None and value is None and not (field == "group" and not isinstance(act, acts.JoinGroup)):
                given = DEFAULTS.get(field)
            if given is not None:
                changes[field] = given
    return attrs.evolve(act, **changes) if changes else act


def _is_member(act: acts.Act) -> bool:
    """Return whether the act starts members of a group."""
    if isinstance(act, acts.StartProcess):
        return act.subscribe
    return not isinstance(act, StartService) or act.instances > 1


def _value(name: str, text: str) -> object:
    """Return the value of the field that a setting stands for."""
    try:
        value = CLIENT_SETTINGS[name].parse(text)
    except ValueError as wrong:
        raise ActRefused(str(wrong)) from None
    if name == "enable.auto.commit":
        return "auto" if value == "true" else "none"
    if name == "partition.assignment.strategy":
        return tuple(_assignor(each.strip()) for each in str(value).split(",") if each.strip())
    return value


_ASSIGNORS: Final = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "StickyAssignor": "sticky",
    "CooperativeStickyAssignor": "cooperative-sticky",
}


def _assignor(name: str) -> str:
    """Return the name of an assignor, which partition.assignment.strategy can give as the name of its class."""
    return _ASSIGNORS.get(name.rpartition(".")[2], name)


def _contradiction(field: str, name: str) -> ActRefused:
    return ActRefused(f"'{field.replace('_', '-')}' and '{name}' in 'config' contradict each other; omit one of them")


def is_transactional(act: acts.Act) -> bool:
    """Return whether the act starts a client that has a transactional.id."""
    return (
        isinstance(act, acts.InitTransactions)
        or (isinstance(act, acts.StartProcess) and act.delivery == "exactly-once")
        or (isinstance(act, StartService) and act.transactional)
        or (isinstance(act, acts.Load) and bool(act.transactional_id or dict(act.config).get("transactional.id")))
    )
