"""The settings of clients that an act gives: those in its `config`, and those that its fields stand for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from core.kafka.clients.client_config import CONSUMER, PRODUCER
from core.lab import acts
from core.sim.errors import ActRefused

Settings = tuple[tuple[str, str], ...]
"""Settings of a client by name, with their values as written."""

_PRODUCER_FIELDS: Final = {"acks": "acks", "idempotence": "enable.idempotence"}

FIELDS: Final[Mapping[type[acts.Act], Mapping[str, str]]] = {
    acts.Produce: _PRODUCER_FIELDS,
    acts.Load: _PRODUCER_FIELDS,
    acts.ProduceDelayed: {"acks": "acks"},
    acts.StartDelayService: {"idempotence": "enable.idempotence"},
}
"""For each act, the fields that stand for settings, with Kafka's names of these settings. A field that is None stands for nothing."""

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
    """Return the settings that an act gives.

    Raises:
        ActRefused: a field and the setting that it stands for have different values.
    """
    given = dict(getattr(act, "config", ()))
    for field, name in FIELDS.get(type(act), {}).items():
        value = getattr(act, field)
        if value is not None:
            text = str(value).lower() if isinstance(value, bool) else str(value)
            if given.setdefault(name, text) != text:
                raise ActRefused(f"'{field.replace('_', '-')}' and '{name}' in 'config' contradict each other; omit one of them")
    return tuple(given.items())


def is_transactional(act: acts.Act) -> bool:
    """Return whether the act starts a client that has a transactional.id."""
    return (
        isinstance(act, acts.InitTransactions)
        or (isinstance(act, acts.StartProcess) and act.delivery == "exactly-once")
        or (isinstance(act, (acts.StartDelayService, acts.StartRetryService)) and act.transactional)
        or (isinstance(act, acts.Load) and bool(act.transactional_id))
    )
