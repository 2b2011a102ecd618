"""Reads settings of producers and consumers under their Kafka names, from the `config` of an act or from the `clients` of a cluster."""

from __future__ import annotations

from functools import partial

from core.kafka.clients.client_settings import ANY_TEXT, CLIENT_NOT_MODELED, CLIENT_SETTINGS, REFUSED, owners
from core.kafka.settings.not_modeled import NOT_MODELED, TOPIC_NOT_MODELED, not_modeled
from core.kafka.settings.registry import COARSER, SETTINGS, TOPIC_SETTINGS
from scenarios.errors import did_you_mean
from scenarios.language.nodes import Fields, Items, Node, shortened
from scenarios.language.values import as_fields, as_text


def read_client_config(node: Node, kind: str = "") -> tuple[tuple[str, str], ...]:
    """Read the settings in a mapping, with their values as written. If `kind` is not empty, accept only settings of that kind of client."""
    fields = as_fields(node, "write settings by their Kafka names, for example {delivery.timeout.ms: 8000}")
    with node.document.together():
        read = [
            (name, fields.tried(partial(_read_setting, name=name, kind=kind), None)) for name in fields.values if _has_effect(fields, name)
        ]
    return tuple((name, text) for name, text in read if text is not None)


def _has_effect(fields: Fields, name: str) -> bool:
    """Return whether the laboratory models a setting. Record a warning for a setting of Kafka that it does not model."""
    if name in CLIENT_NOT_MODELED and name not in CLIENT_SETTINGS:
        fields.warn(name, not_modeled(name))
        return False
    return True


def _read_setting(fields: Fields, name: str, kind: str) -> str:
    known = [setting.name for setting in CLIENT_SETTINGS.values() if not kind or kind in setting.kinds]
    value = fields.values[name]
    if name in REFUSED:
        raise fields.key_error(name, f"{name}: {REFUSED[name]}")
    if name in CLIENT_SETTINGS and name not in known:
        raise fields.key_error(name, f"{name} is a setting of {owners(name)}, not of {kind}s")
    if name not in known and (name in SETTINGS or name in NOT_MODELED or name in COARSER or name in TOPIC_NOT_MODELED):
        of_topics = name in TOPIC_SETTINGS or name in TOPIC_NOT_MODELED
        owner, place = ("topics", "in the 'config' of a topic") if of_topics else ("brokers", "under 'cluster.settings'")
        raise fields.key_error(name, f"{name} is a setting of {owner}, not of {kind or 'client'}s", f"write it {place}")
    if name not in known:
        what = f"{kind or 'client'} setting"
        raise fields.key_error(name, f"unknown {what} '{shortened(name)}'", did_you_mean(name, known, f"use one of {', '.join(known)}"))
    if isinstance(value, Items) and CLIENT_SETTINGS[name].words == ANY_TEXT:
        return ",".join(as_text(item) for item in value)
    if isinstance(value, (Fields, Items)):
        raise value.error(f"expected a single value, not {value.what()}", "write the setting's value")
    text = as_text(value, "write the setting's value").strip()
    try:
        CLIENT_SETTINGS[name].parse(text)
    except ValueError as wrong:
        raise value.error(shortened(str(wrong), 160)) from None
    return text
