"""The systems of a script: replication models with settings, or systems that `isrlab run --model` knows."""

from __future__ import annotations

from enum import Enum
from functools import partial
from typing import Any, Final

import attrs

from core.lab.model_comparison.build import SETTINGS, ModelSettings, build
from core.lab.model_comparison.kafka_system import KafkaSettings, KafkaSystem
from core.lab.model_comparison.systems import VARIANTS, Variant
from core.models.elasticsearch.system import Elasticsearch
from core.models.mysql.settings import MySQLSettings
from core.models.mysql.system import MySQL
from core.models.quorum.system import Quorum
from scenarios.errors import did_you_mean
from scenarios.language.budget import MAX_SERVERS
from scenarios.language.nodes import Fields, Items, Node, shortened
from scenarios.language.values import as_bool, as_duration, as_fields, as_int, as_text, as_word, each

READS: Final[dict[str, tuple[str, ...]]] = {each.model: each.READS for each in (KafkaSystem, MySQL, Elasticsearch, Quorum)}
"""The read modes of each model. The first read mode of a model is its default."""

DURATIONS: Final = frozenset({
    "timeout", "os_flush", "net_timeout", "connect_retry", "apply_time", "write_timeout", "refresh_interval", "sync_interval", "check_interval",
    "check_timeout", "publish_timeout", "lease_period", "heartbeat", "election_min", "election_max", "latency",
})  # fmt: skip
"""The model settings that contain a time in µs, which scripts write as a duration such as `300ms`."""

_SERVERS: Final = {"nodes": 1, "brokers": 1, "replicas": 0}
"""The settings that contain a number of servers, and the smallest value of each."""

ACKS: Final = {"0": 0, "1": 1, "all": -1}
"""The valid values of Kafka's acks setting."""


@attrs.frozen
class System:
    """A replication system in which a script runs.

    Attributes:
        name: the name of the system in the script.
        model: the replication model.
        variant: the column that represents the system in a comparison.
        servers: the names of the system's servers.
    """

    name: str
    model: str
    variant: Variant
    servers: tuple[str, ...]


def read_systems(node: Node) -> tuple[System, ...]:
    """Read `models:`, which is a list of known systems, or a mapping from a name to a model with its settings."""
    if isinstance(node, Fields):
        if not node.values:
            raise node.error("there are no systems", "for example {raft: {model: quorum}}")
        with node.document.together():
            found = [node.tried(partial(_named, name=name), None) for name in node.values]
        return tuple(one for one in found if one is not None)
    systems = each(node, "write a list of systems, for example [kafka, mysql]", _known)
    if not systems:
        raise node.error("there are no systems", "for example [kafka, mysql]")
    for number, one in enumerate(systems):
        if one.name in [other.name for other in systems[:number]] and isinstance(node, Items):
            raise node.nodes[number].error(f"{one.name} appears twice", "name each system once")
    return systems


def _named(fields: Fields, name: str) -> System:
    value = fields.values[name]
    if not isinstance(value, Fields):
        return attrs.evolve(_known(value), name=name)
    value.only("model", "settings")
    model = value.need("model", "write one of " + ", ".join(SETTINGS))
    return system_of(name, model, value.get("settings"))


def _known(node: Node) -> System:
    known = {variant.name: variant for variant in VARIANTS}
    name = as_text(node, "write a system, for example mysql")
    if name not in known:
        raise node.error(f"unknown system '{shortened(name)}'", did_you_mean(name, known))
    return System(name, known[name].model, known[name], ("n1", "n2", "n3"))


def system_of(name: str, model: Node, settings: Node | None) -> System:
    """Return a model with the given settings. If a setting is not given, the model's default applies."""
    word = as_word(model, SETTINGS)
    chosen = SETTINGS[word]()
    if settings is not None:
        chosen = settings.tried(lambda node: _settings(as_fields(node, "for example {nodes: 5}"), word), chosen)
    variant = Variant(name, name, word, partial(build, chosen), READS[word][0])
    return System(name, word, variant, tuple(f"n{number}" for number in range(1, _servers(chosen) + 1)))


def _settings(node: Fields, model: str) -> ModelSettings:
    kind = SETTINGS[model]
    fields = {field.name.replace("_", "-"): field for field in attrs.fields(kind)}
    node.only(*fields)
    values: dict[str, Any] = {}
    with node.document.together():
        for name, field in fields.items():
            value = node.get(name)
            if value is not None:
                values[field.name] = value.tried(partial(_value, name=field.name, default=field.default), field.default)
    return kind(**values)


def _value(node: Node, name: str, default: object) -> Any:
    """Read the value of a setting. The type of the setting's default value determines the type of the value."""
    if name == "acks":
        return ACKS[as_word(node, ACKS)]
    if name in DURATIONS:
        return as_duration(node)
    if isinstance(default, bool):
        return as_bool(node)
    if name in _SERVERS:
        return as_int(node, _SERVERS[name], MAX_SERVERS)
    if isinstance(default, int):
        return as_int(node, 0, 10**9)
    if isinstance(default, tuple):
        return each(node, "write a list of durations, for example [0, 300ms, 600ms]", as_duration)
    if isinstance(default, Enum):
        kind = type(default)
        return kind(as_word(node, [str(one.value) for one in kind]))
    return as_text(node)


def _servers(settings: ModelSettings) -> int:
    match settings:
        case KafkaSettings():
            return settings.brokers
        case MySQLSettings():
            return settings.replicas + 1
        case _:
            return settings.nodes
