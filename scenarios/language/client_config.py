"""Reads settings of producers and consumers under their Kafka names, from the `config` of an act or from the `clients` of a cluster."""

from __future__ import annotations

from functools import partial

from core.kafka.clients.client_config import CLIENT_SETTINGS
from scenarios.errors import did_you_mean
from scenarios.language.nodes import Fields, Items, Node, shortened
from scenarios.language.values import as_fields, as_text


def read_client_config(node: Node, kind: str = "") -> tuple[tuple[str, str], ...]:
    """Read the settings in a mapping, with their values as written. If `kind` is not empty, accept only settings of that kind of client."""
    fields = as_fields(node, "write settings by their Kafka names, for example {delivery.timeout.ms: 8000}")
    with node.document.together():
        read = [(name, fields.tried(partial(_read_setting, name=name, kind=kind), None)) for name in fields.values]
    return tuple((name, text) for name, text in read if text is not None)


def _read_setting(fields: Fields, name: str, kind: str) -> str:
    known = [setting.name for setting in CLIENT_SETTINGS.values() if not kind or kind in setting.kinds]
    value = fields.values[name]
    if name not in known:
        what = f"{kind or 'client'} setting"
        raise fields.key_error(name, f"unknown {what} '{shortened(name)}'", did_you_mean(name, known, f"use one of {', '.join(known)}"))
    if isinstance(value, (Fields, Items)):
        raise value.error(f"expected a single value, not {value.what()}", "write the setting's value")
    text = as_text(value, "write a whole number").strip()
    try:
        CLIENT_SETTINGS[name].parse(text)
    except ValueError as wrong:
        raise value.error(shortened(str(wrong), 160)) from None
    return text
