"""The values that can vary between runs: those of the release, of the cluster, of Kafka's settings, and of the settings of clients.

The cells of a sweep and the runs of a comparison read and apply values in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

import attrs

from core.kafka.clients.client_settings import CLIENT_SETTINGS
from core.kafka.settings.registry import SETTINGS, setting_named
from core.kafka.settings.settings import render_value
from core.lab.spec import MAX_BROKERS, MAX_PARTITIONS, BrokerSpec, ClusterSpec, ControlPlane
from scenarios.errors import did_you_mean
from scenarios.language.expectations import read_guards, read_release
from scenarios.language.nodes import Fields, Items, Node, Text, shortened
from scenarios.language.values import as_bool, as_fields, as_int, as_items, as_text, as_word

ACKS: Final = ("0", "1", "all")


@attrs.frozen
class Varied:
    """What values are applied to.

    Attributes:
        spec: the cluster.
        release: the name of the release, without the guards that are switched off.
        without: the guards that are switched off.
        clients: the settings of clients, by Kafka's name, that replace those that clients have.
        replication_factor: the replication factor of every topic; None if it does not vary.
    """

    spec: ClusterSpec
    release: str
    without: tuple[str, ...] = ()
    clients: tuple[tuple[str, str], ...] = ()
    replication_factor: int | None = None


Chosen = tuple[str, Node]
"""A word, and the value that it has in one of the runs."""

Change = Callable[[Varied, Node], Varied]
"""A function that applies a value."""


def _set_release(varied: Varied, node: Node) -> Varied:
    return attrs.evolve(varied, release=read_release(node))


def _set_without(varied: Varied, node: Node) -> Varied:
    if isinstance(node, Text) and node.text.strip() in ("none", ""):
        return attrs.evolve(varied, without=())
    return attrs.evolve(varied, without=read_guards(node))


def _set_acks(varied: Varied, node: Node) -> Varied:
    return _with_client(varied, "acks", as_word(node, ACKS))


def _set_idempotence(varied: Varied, node: Node) -> Varied:
    return _with_client(varied, "enable.idempotence", render_value(as_bool(node)))


def _with_client(varied: Varied, name: str, value: str) -> Varied:
    return attrs.evolve(varied, clients=(*(pair for pair in varied.clients if pair[0] != name), (name, value)))


def _set_factor(varied: Varied, node: Node) -> Varied:
    factor = as_int(node, 1, MAX_BROKERS)
    _refuse_placed(varied, node, "replication-factor")
    topics = tuple(attrs.evolve(topic, replication_factor=factor) for topic in varied.spec.topics)
    return attrs.evolve(varied, spec=attrs.evolve(varied.spec, topics=topics), replication_factor=factor)


def _set_partitions(varied: Varied, node: Node) -> Varied:
    count = as_int(node, 1, MAX_PARTITIONS)
    _refuse_placed(varied, node, "partitions")
    topics = tuple(attrs.evolve(topic, partitions=count) for topic in varied.spec.topics)
    return attrs.evolve(varied, spec=attrs.evolve(varied.spec, topics=topics))


def _refuse_placed(varied: Varied, node: Node, word: str) -> None:
    for topic in varied.spec.topics:
        if topic.assignment:
            raise node.error(f"topic {topic.name} has an explicit replica assignment", f"to vary '{word}', omit 'replicas'")


def _set_brokers(varied: Varied, node: Node) -> Varied:
    count = as_int(node, 1, MAX_BROKERS)
    brokers = {broker.id: broker for broker in varied.spec.brokers}
    dirs = varied.spec.brokers[0].log_dirs
    wanted = tuple(brokers.get(broker, BrokerSpec(broker, log_dirs=dirs)) for broker in range(1, count + 1))
    return attrs.evolve(varied, spec=attrs.evolve(varied.spec, brokers=wanted))


def _set_racks(varied: Varied, node: Node) -> Varied:
    racks = as_int(node, 0, MAX_BROKERS)
    brokers = tuple(
        attrs.evolve(broker, rack=f"r{number % racks + 1}" if racks else None) for number, broker in enumerate(varied.spec.brokers)
    )
    return attrs.evolve(varied, spec=attrs.evolve(varied.spec, brokers=brokers))


def _set_plane(varied: Varied, node: Node) -> Varied:
    plane = ControlPlane(as_word(node, [str(one) for one in ControlPlane]))
    return attrs.evolve(varied, spec=attrs.evolve(varied.spec, control_plane=plane))


CHANGES: Final[dict[str, Change]] = {
    "release": _set_release,
    "without": _set_without,
    "acks": _set_acks,
    "idempotence": _set_idempotence,
    "brokers": _set_brokers,
    "racks": _set_racks,
    "partitions": _set_partitions,
    "replication-factor": _set_factor,
    "control-plane": _set_plane,
}
"""The words that can vary besides Kafka's settings, in the order in which their values are applied."""


def changed(varied: Varied, chosen: Iterable[Chosen]) -> Varied:
    """Apply values.

    Raises:
        ScriptError: a value is not valid.
    """
    order = list(CHANGES)
    for word, node in sorted(chosen, key=lambda one: order.index(one[0]) if one[0] in order else len(order)):
        if word in CHANGES:
            varied = CHANGES[word](varied, node)
        elif word in CLIENT_SETTINGS:
            varied = _set_client(varied, word, node)
        else:
            varied = _set_setting(varied, word, node)
    return varied


def _set_client(varied: Varied, name: str, node: Node) -> Varied:
    text = as_text(node, "write a value")
    try:
        CLIENT_SETTINGS[name].parse(text)
    except ValueError as wrong:
        raise node.error(shortened(str(wrong), 160)) from None
    return _with_client(varied, name, text)


def _set_setting(varied: Varied, name: str, node: Node) -> Varied:
    """Set a Kafka setting for the whole cluster. The new value also replaces the values that are set for individual topics and brokers."""
    setting = setting_named(name)
    misplaced, _, remedy = setting.scope_error(broker=False, topic=False).partition("; ")
    if misplaced:
        raise node.error(misplaced, remedy)
    try:
        value = setting.parse(as_text(node, "write a value"))
    except ValueError as wrong:
        raise node.error(shortened(str(wrong), 160)) from None
    spec = varied.spec
    settings = (*(pair for pair in spec.settings if pair[0] != name), (name, value))
    topics = tuple(attrs.evolve(topic, config=tuple(pair for pair in topic.config if pair[0] != name)) for topic in spec.topics)
    brokers = tuple(attrs.evolve(one, settings=tuple(pair for pair in one.settings if pair[0] != name)) for one in spec.brokers)
    return attrs.evolve(varied, spec=attrs.evolve(spec, settings=settings, topics=topics, brokers=brokers))


def read_axes(node: Node) -> tuple[list[Chosen], ...]:
    """Return the values of each word that varies."""
    fields = as_fields(node, "write a list of values for each word, for example {acks: [1, all]}")
    with node.document.together():
        return tuple(fields.tried(partial(_read_axis, word=word), []) for word in fields.values)


def _read_axis(fields: Fields, word: str) -> list[Chosen]:
    check_word(fields, word)
    values = as_items(fields.values[word], "write a list of values, for example [1, 2]")
    if not values.nodes:
        raise values.error("the list is empty", "write at least one value")
    return [(word, value) for value in values]


def check_word(fields: Fields, word: str, *also: str) -> None:
    """Refuse a word that cannot vary. `also` lists further words that are allowed here."""
    if word in CHANGES or word in SETTINGS or word in CLIENT_SETTINGS:
        return
    known = [*also, *CHANGES, *SETTINGS, *CLIENT_SETTINGS]
    raise fields.key_error(word, f"unknown word '{shortened(word)}'", did_you_mean(word, known, "use Kafka's name of a setting"))


def written(node: Node) -> str:
    """Return a value as people write it."""
    if isinstance(node, Items):
        return " ".join(written(item) for item in node)
    assert isinstance(node, Text)
    text = node.text.strip()
    return render_value(text.lower() == "true") if text.lower() in ("true", "false") else text
