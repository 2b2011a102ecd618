"""Reads the acts of a script, for example `kill: 2`, `cut: [1, 3]`, or `produce: {topic: orders, records: 500}`.

Acts are built from the fields and types of their classes in `core.lab.acts`, so a new act requires no change to this module. In scripts,
field names have dashes, times are durations, and shares are percentages. For example, the field `loss_ppm` is written `loss: 5%`. Acts have
three short forms. A single value sets the act's first field. A list of brokers stands for one act per broker. A list of two nodes stands
for the link between these nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import attrs

from core.kafka.applications.processes.process_step import Delivery, ProcessStep
from core.kafka.applications.services.service_config import DueFrom, ServiceCommit, ServiceStep
from core.kafka.clients.group_member.member_config import CommitMode
from core.kafka.clients.producer.keyed_records import keys_of
from core.kafka.ids import TopicPartition
from core.kafka.settings.not_modeled import NOT_MODELED, TOPIC_NOT_MODELED, not_modeled
from core.kafka.settings.registry import COARSER, SETTINGS, setting_named
from core.kafka.settings.setting import MAX_LONG
from core.lab.act_fields import DURATIONS, MAX_VALUES, MIN_VALUES, SIGNED, max_value, min_value
from core.lab.acts import ACTS, Act, Consume, CreateTopic, CutZone, HealZone, JoinGroup, Set
from core.lab.acts.applications import StartApplication, StartService
from scenarios.errors import did_you_mean
from scenarios.language.client_config import read_client_config
from scenarios.language.cluster import KAFKA_TOPIC_CONFIGS, read_topic_config, unknown_setting
from scenarios.language.nodes import Fields, Items, Node, Text, shortened
from scenarios.language.values import (
    as_bool,
    as_broker,
    as_brokers,
    as_client_name,
    as_duration,
    as_fields,
    as_int,
    as_items,
    as_loss,
    as_node_name,
    as_partition,
    as_ppm,
    as_setting,
    as_signed,
    as_text,
    as_word,
    check_topic_name,
    each,
    write_duration,
    write_ppm,
    write_signed,
)

BROKERS: Final = frozenset({"broker", "follower", "leader", "to"})
"""Fields of acts that contain a broker ID."""

CLIENTS: Final = frozenset({"producer", "consumer", "process", "service"})
"""Fields of acts that contain the name of a client."""

WORDS: Final[dict[str, tuple[str, ...]]] = {
    "acks": ("0", "1", "all"),
    "pace": ("timeline", "by-hand"),
    "election": ("preferred", "unclean"),
    "reset": ("earliest", "latest"),
    "unflushed": ("drawn", "lost", "kept"),
    "isolation": ("read_uncommitted", "read_committed"),
    "delivery": tuple(map(str, Delivery)),
    "commit": tuple(map(str, CommitMode)),
    "on_error": ("close", "stop"),
    "protocol": ("classic", "consumer"),
    "queue": ("priority", "fifo"),
    "names": ("delay", "index"),
    "due_from": tuple(map(str, DueFrom)),
    "crash_after": tuple(str(step) for step in ProcessStep if step is not ProcessStep.ABORT),
}
"""The accepted words for each field that accepts only specific words."""


SERVICE_WORDS: Final[dict[str, tuple[str, ...]]] = {
    "delays": ("level", "record"),
    "commit": tuple(map(str, ServiceCommit)),
    "crash_after": tuple(map(str, ServiceStep)),
    "count_tries": ("after", "before"),
    "dlt_strategy": ("always-retry", "fail"),
}
"""The accepted words for those fields of acts on services that accept words other than those in `WORDS`."""

NAMES: Final = "tuple[str, ...]"
"""The type of a list of names. If the list has only one name, a script can write that name without brackets."""


def read_acts(word: str, node: Node) -> tuple[Act, ...]:
    """Read the acts in a script entry that consists of a word and its value, `node`. A short form can describe several acts.

    Raises:
        ScriptError: a field is missing, unknown, or invalid.
    """
    act = ACTS[word]
    if act is Set and isinstance(node, Fields) and "name" not in node.values:
        return _settings(node)
    names = [field.name for field in attrs.fields(act)]
    if isinstance(node, Items):
        return _listed(act, node)
    if isinstance(node, Fields):
        return (_from_fields(act, node),)
    assert isinstance(node, Text)
    missing = required(act)
    if node.empty or (node.text == "all" and not missing):
        if missing:
            raise node.error(f"{word} needs {', '.join(as_written(name) for name in missing)}", _example(act))
        return (act(),)
    if len(missing) > 1 or not names or (_kind(act, names[0]).startswith("tuple") and _kind(act, names[0]) != NAMES):
        raise node.error(f"{node.what()} is not enough for {word}", _example(act))
    return (act(**{names[0]: _value(act, names[0], node)}),)


def _listed(act: type[Act], node: Items) -> tuple[Act, ...]:
    first = attrs.fields(act)[0].name if attrs.fields(act) else ""
    if first == "between":
        return (act(between=_link(node)),)  # type: ignore[call-arg]
    if first not in (*BROKERS, "node", "zone") or act in (CutZone, HealZone):
        raise node.error(f"{act.word} does not accept a list", _example(act))
    if not node.nodes:
        raise node.error("the list is empty", _example(act))
    if len(required(act)) > 1:
        raise node.error(f"{act.word} needs a mapping, not a list", _example(act))
    return tuple(act(**{first: value}) for value in each(node, _example(act), partial(_value, act, first)))


def _from_fields(act: type[Act], node: Fields) -> Act:
    fields = {as_written(field.name): field.name for field in attrs.fields(act)}
    values: dict[str, Any] = {}
    with node.document.together():
        known = node.only(*fields)
        for written, name in fields.items():
            value = node.get(written)
            if value is None:
                continue
            if name == "partition" and "topic" in fields and isinstance(value, Text) and not value.text.isdecimal():
                tp = value.tried(partial(_partition_of, topic=node.get("topic")), None)
                values["topic"], values["partition"] = tp or (None, None)
                continue
            if name not in values:
                values[name] = value.tried(partial(_value, act, name), None)
        for name in required(act):
            if name not in values and known:
                raise node.error(f"'{as_written(name)}' is missing", _example(act))
        if act is Set and values.get("name") is not None and values.get("value") is not None:
            of_topic, of_broker = node.get("topic") is not None, node.get("broker") is not None
            node.values["value"].tried(lambda value: _checked(values["name"], value, of_topic, of_broker), None)
    return act(**values)


def _partition_of(value: Node, topic: Node | None) -> TopicPartition:
    """Read a partition in the form `orders-0`. If the act also names a topic, both topics must be the same."""
    tp = as_partition(value)
    if topic is not None and as_text(topic) != tp.topic:
        raise value.error(f"{tp} is not a partition of {as_text(topic)}", "omit 'topic', or write the partition's number")
    return tp


def _settings(node: Fields) -> tuple[Act, ...]:
    """Read an act such as `set: {min.insync.replicas: 2, topic: orders}`. Return one act for each setting."""
    with node.document.together():
        topic = node.read("topic", lambda one: check_topic_name(one, as_text(one)), None)
        broker = node.read("broker", as_broker, None)
        force = node.read("force", as_bool, None)
        scope: dict[str, Any] = {"topic": topic, "broker": broker, "force": force}
        scope = {name: value for name, value in scope.items() if value is not None}
        of_topic, of_broker = node.get("topic") is not None, node.get("broker") is not None
        names = [name for name in node.values if name not in ("topic", "broker", "force")]
        for name in names:
            if name in NOT_MODELED or name in TOPIC_NOT_MODELED:
                node.warn(name, not_modeled(name))
        values = {
            name: node.tried(partial(_setting_of, name=name, of_topic=of_topic, of_broker=of_broker), None)
            for name in names
            if name in SETTINGS or (name not in NOT_MODELED and name not in TOPIC_NOT_MODELED)
        }
        if not names:
            raise node.error("the act has no setting", "for example {min.insync.replicas: 2}")
    return tuple(Set(name=name, value=value, **scope) for name, value in values.items() if value is not None)


def _setting_of(fields: Fields, name: str, of_topic: bool, of_broker: bool) -> str:
    if name in COARSER:
        raise fields.key_error(name, f"{name} cannot be changed", f"set {COARSER[name][0]}")
    if name not in SETTINGS:
        raise unknown_setting(fields, name)
    return _checked(name, fields.values[name], of_topic, of_broker)


def _checked(name: str, node: Node, of_topic: bool, of_broker: bool) -> str:
    setting = setting_named(name)
    misplaced, _, remedy = setting.scope_error(broker=of_broker, topic=of_topic).partition("; ")
    if misplaced:
        raise node.error(misplaced, remedy)
    text = as_setting(node, setting)
    try:
        setting.parse(text)
    except ValueError as wrong:
        raise node.error(shortened(str(wrong), 160)) from None
    return text


def _value(act: type[Act], name: str, node: Node) -> Any:
    """Read the value of one field of an act. The type and the name of the field determine the format of the value."""
    kind = _kind(act, name)
    if name in SIGNED:
        return _within(node, name, as_signed(node, as_duration if name in DURATIONS else as_ppm))
    if name in DURATIONS:
        return _within(node, name, as_duration(node))
    if name == "loss_ppm":
        return as_loss(node)
    if name.endswith("_ppm"):
        return as_ppm(node)
    if name in BROKERS:
        return as_broker(node)
    if name in CLIENTS:
        return as_client_name(node)
    if act is JoinGroup and name == "reset":
        return as_text(node, "write earliest, latest, none, or by_duration:PT1H")
    if name in SERVICE_WORDS and _kind(act, name) == "str" and issubclass(act, StartService):
        return as_word(node, SERVICE_WORDS[name])
    if name in WORDS:
        return as_word(node, WORDS[name])
    if name == "topic" or (name == "dead_letters" and kind != "bool"):
        return check_topic_name(node, as_text(node, "write a topic's name"))
    if name == "node":
        return as_node_name(node)
    if act is Set and name == "name":
        text = as_text(node)
        if text in NOT_MODELED or text in TOPIC_NOT_MODELED:
            raise node.error(not_modeled(text))
        if text not in SETTINGS:
            raise node.error(
                f"unknown setting '{shortened(text)}'", did_you_mean(text, SETTINGS, "see Kafka's documentation for the names")
            )
        return text
    if act is Set and name == "value" and isinstance(node, Text) and not node.empty:
        return node.text.strip()
    if name == "keys":
        return _keys(node)
    if name == "config":
        return (
            read_topic_config(node)
            if act is CreateTopic
            else read_client_config(
                node,
                "consumer" if act in (Consume, JoinGroup) else "" if issubclass(act, StartApplication) else "producer",
            )
        )
    if name in MAX_VALUES:
        return as_int(node, MIN_VALUES.get(name, 0), MAX_VALUES[name])
    return _READERS[kind](node) if kind != "int" else as_int(node, MIN_VALUES.get(name, 0), 10**9)


def _within(node: Node, name: str, value: int) -> int:
    """Return the value of a field that is a duration or a percentage. Reject a value outside the bounds of its field."""
    least, most = min_value(name), max_value(name)
    if least <= value <= most:
        return value
    write = write_duration if name in DURATIONS else write_ppm
    raise node.error(
        f"{node.what()} is out of range",
        f"write {write_signed(least, write)} or more" if value < least and most == MAX_LONG
        else f"write {write_signed(least, write)} to {write(most)}",
    )  # fmt: skip


def _keys(node: Node) -> str:
    """Parse either a list of keys or a number of keys."""
    text = (
        ",".join(as_text(item) for item in node)
        if isinstance(node, Items)
        else as_text(node, "write a list of keys, or the number of keys")
    )
    try:
        keys_of(text)
    except ValueError as wrong:
        raise node.error(str(wrong), "for example [a, b] or 10") from None
    return text


def _link(node: Node) -> tuple[str, str]:
    items = as_items(node, "write the two nodes of the link, for example [1, 3]")
    if len(items.nodes) != 2:
        raise node.error(f"{len(items.nodes)} nodes", "a link has two nodes, for example [1, 3]")
    first, second = (as_node_name(item) for item in items)
    if first == second:
        raise node.error(f"both ends are {first}", "a link joins two different nodes")
    return first, second


def _names(node: Node) -> tuple[str, ...]:
    """Read one name or a list of names."""
    return (
        tuple(as_text(item, "write a name") for item in node)
        if isinstance(node, Items)
        else (as_text(node, "write a name or a list of names"),)
    )


def _kept(node: Node) -> tuple[tuple[TopicPartition, int], ...]:
    fields = as_fields(node, "write the offset up to which each log was on disk, for example {orders-0: 5}")
    kept = []
    for name, value in fields.values.items():
        kept.append((as_partition(fields.key_node(name)), as_int(value)))
    return tuple(kept)


_READERS: Final[dict[str, Callable[[Node], Any]]] = {
    "str": as_text,
    "bool": as_bool,
    "TopicPartition": as_partition,
    "tuple[str, str]": _link,
    "tuple[int, ...]": as_brokers,
    "tuple[str, ...]": _names,
    "tuple[tuple[TopicPartition, int], ...]": _kept,
    "tuple[tuple[int, ...], ...]": lambda node: each(node, "write the replicas of each partition, for example [[1, 2, 3]]", as_brokers),
}
"""The function that reads a field, for each type of field."""


def _kind(act: type[Act], name: str) -> str:
    return str(attrs.fields_dict(act)[name].type).removesuffix(" | None")


def required(act: type[attrs.AttrsInstance]) -> list[str]:
    """Return the names of the fields that an act needs."""
    return [field.name for field in attrs.fields(act) if field.default is attrs.NOTHING]


def as_written(name: str) -> str:
    """Return the name of a field as scripts write it."""
    return name.removesuffix("_ppm").replace("_", "-")


_EXAMPLES: Final = {
    "topic": "orders", "topics": "orders", "records": "500", "rate": "100", "broker": "2", "follower": "2", "between": "[1, 3]", "node": "2", "zone": "a",
    "name": "min.insync.replicas", "value": "2", "acks": "all", "dir": "2", "partitions": "6", "delay": "50ms", "partition": "orders-0",
    "transactional_id": "payments", "source": "orders", "output": "invoices", "stall_time": "30s", "instance_id": "host-1",
}  # fmt: skip


def _example(act: type[Act]) -> str:
    """Return, for an error message, an example of the shortest valid form of an act, or the names of its fields."""
    if act is Set:
        return "for example 'set: {min.insync.replicas: 2}'"
    needed = required(act)
    if needed == ["node"] and act.word.endswith("-controller"):
        return f"for example '{act.word}: c1'"
    if len(needed) == 1 and needed[0] in _EXAMPLES:
        return f"for example '{act.word}: {_EXAMPLES[needed[0]]}'"
    if not needed:
        fields = ", ".join(as_written(field.name) for field in attrs.fields(act))
        return f"its fields are {fields}"
    inside = ", ".join(f"{as_written(name)}: {_EXAMPLES.get(name, '…')}" for name in needed)
    return f"for example '{act.word}: {{{inside}}}'"


def act_as_data(act: Act) -> dict[str, Any]:
    """Return the fields of an act as scripts write them. Fields with default values are omitted."""
    data: dict[str, Any] = {}
    for field in attrs.fields(type(act)):
        value = getattr(act, field.name)
        if value == field.default:
            continue
        written = as_written(field.name)
        if field.name in SIGNED:
            data[written] = write_signed(value, write_duration if field.name in DURATIONS else write_ppm)
        elif field.name in DURATIONS:
            data[written] = write_duration(value)
        elif field.name.endswith("_ppm"):
            data[written] = write_ppm(value)
        elif field.name == "keep":
            data[written] = {str(tp): offset for tp, offset in value}
        elif field.name == "config":
            data[written] = dict(value)
        elif isinstance(value, TopicPartition):
            data[written] = str(value)
        elif isinstance(value, tuple):
            data[written] = [list(item) if isinstance(item, tuple) else item for item in value]
        else:
            data[written] = value
    return data


__all__ = ["KAFKA_TOPIC_CONFIGS", "act_as_data", "as_written", "read_acts", "required"]
