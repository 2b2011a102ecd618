"""Reads the cells of a grid. For each item of `cells:`, there is a cell for every combination of the values in `vary:`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import attrs

from core.kafka.errors import KafkaError
from core.kafka.release import CURRENT
from core.kafka.settings.registry import SETTINGS, setting_named
from core.kafka.settings.settings import render_value
from core.lab.acts import Consume
from core.lab.cluster import Cluster
from core.lab.spec import MAX_BROKERS, MAX_PARTITIONS, BrokerSpec, ClusterSpec, ControlPlane
from core.sim.errors import ActRefused
from scenarios.errors import did_you_mean
from scenarios.language.expectations import read_guards, read_release
from scenarios.language.nodes import Fields, Items, Node, Text, shortened
from scenarios.language.script import release_without
from scenarios.language.values import as_bool, as_fields, as_int, as_items, as_text, as_word, each
from scenarios.sweeps.grid.grid import MAX_CELLS
from scenarios.sweeps.grid_file.read_workload import ACKS
from scenarios.sweeps.simulation.kafka.cell import FaultWindow, KafkaCell, ProducerLoad
from scenarios.sweeps.simulation.kafka.episodes import load_act

MAX_SIZE: Final = 50_000
"""The maximum total size of all cells. The size of a cell is its number of partitions plus twice its number of brokers.

The total size is limited because the sweep builds every cell's cluster once before it starts.
"""


@attrs.frozen
class _Draft:
    """An unfinished cell, to which values are applied one by one."""

    spec: ClusterSpec
    producers: tuple[ProducerLoad, ...]
    consumers: tuple[str, ...]
    around: FaultWindow | None
    release: str = CURRENT.name
    without: tuple[str, ...] = ()
    values: tuple[tuple[str, str], ...] = ()


Change = Callable[[_Draft, Node], _Draft]
"""The type of a function that applies a value to an unfinished cell."""


def _set_release(draft: _Draft, node: Node) -> _Draft:
    return attrs.evolve(draft, release=read_release(node))


def _set_without(draft: _Draft, node: Node) -> _Draft:
    if isinstance(node, Text) and node.text.strip() in ("none", ""):
        return attrs.evolve(draft, without=())
    return attrs.evolve(draft, without=read_guards(node))


def _set_acks(draft: _Draft, node: Node) -> _Draft:
    acks = as_word(node, ACKS)
    return attrs.evolve(draft, producers=tuple(attrs.evolve(one, acks=acks) for one in draft.producers))


def _set_idempotence(draft: _Draft, node: Node) -> _Draft:
    on = as_bool(node)
    return attrs.evolve(draft, producers=tuple(attrs.evolve(one, idempotence=on) for one in draft.producers))


def _set_factor(draft: _Draft, node: Node) -> _Draft:
    factor = as_int(node, 1, MAX_BROKERS)
    _refuse_placed(draft, node, "replication-factor")
    topics = tuple(attrs.evolve(topic, replication_factor=factor) for topic in draft.spec.topics)
    return attrs.evolve(draft, spec=attrs.evolve(draft.spec, topics=topics))


def _set_partitions(draft: _Draft, node: Node) -> _Draft:
    count = as_int(node, 1, MAX_PARTITIONS)
    _refuse_placed(draft, node, "partitions")
    topics = tuple(attrs.evolve(topic, partitions=count) for topic in draft.spec.topics)
    return attrs.evolve(draft, spec=attrs.evolve(draft.spec, topics=topics))


def _refuse_placed(draft: _Draft, node: Node, word: str) -> None:
    for topic in draft.spec.topics:
        if topic.assignment:
            raise node.error(f"topic {topic.name} has an explicit replica assignment", f"to vary '{word}', omit 'replicas'")


def _set_brokers(draft: _Draft, node: Node) -> _Draft:
    count = as_int(node, 1, MAX_BROKERS)
    brokers = {broker.id: broker for broker in draft.spec.brokers}
    dirs = draft.spec.brokers[0].log_dirs
    wanted = tuple(brokers.get(broker, BrokerSpec(broker, log_dirs=dirs)) for broker in range(1, count + 1))
    return attrs.evolve(draft, spec=attrs.evolve(draft.spec, brokers=wanted))


def _set_racks(draft: _Draft, node: Node) -> _Draft:
    racks = as_int(node, 0, MAX_BROKERS)
    brokers = tuple(
        attrs.evolve(broker, rack=f"r{number % racks + 1}" if racks else None) for number, broker in enumerate(draft.spec.brokers)
    )
    return attrs.evolve(draft, spec=attrs.evolve(draft.spec, brokers=brokers))


def _set_plane(draft: _Draft, node: Node) -> _Draft:
    plane = ControlPlane(as_word(node, [str(one) for one in ControlPlane]))
    return attrs.evolve(draft, spec=attrs.evolve(draft.spec, control_plane=plane))


_CHANGES: Final[dict[str, Change]] = {
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
"""The parameters, other than Kafka's settings, that can vary between cells, in the order in which their values are applied."""


def read_cells(
    root: Fields, spec: ClusterSpec, producers: tuple[ProducerLoad, ...], consumers: tuple[str, ...], around: FaultWindow | None
) -> Iterator[KafkaCell]:
    """Yield the cells: each of `cells` with each combination of `vary`."""
    vary, listed = root.get("vary"), root.get("cells")
    with root.document.together():
        axes = () if vary is None else vary.tried(_read_axes, ())
        rows: list[Fields | None] = [None]
        if listed is not None:
            rows = list(listed.tried(lambda node: each(node, "write a list of cells", _read_row), ()))
            if not rows:
                raise listed.error("the list is empty", "add a cell, or omit 'cells'")
        count = len(rows)
        for axis in axes:
            count *= len(axis)
        if count > MAX_CELLS:
            raise (vary or root).error(f"the grid has {count:,} cells", f"a grid can have at most {MAX_CELLS:,} cells")
    drafted: list[tuple[KafkaCell | None, Node]] = []
    for row in rows:
        own = [] if row is None else [(word, value) for word, value in row.values.items() if word != "name"]
        title = None if row is None else row.read("name", as_text, None)
        for combination in itertools.product(*axes):
            place = combination[-1][1] if combination else row if row is not None else root
            make = partial(_draft_cell, len(drafted) + 1, title, [*own, *combination], _Draft(spec, producers, consumers, around))
            drafted.append((place.tried(lambda _place, make=make: make(), None), place))  # type: ignore[misc]
    cells = [cell for cell, _ in drafted if cell is not None]
    if (size := sum(map(_size, cells))) > MAX_SIZE:
        raise (vary or root).error(
            f"the cells of the grid have {size:,} partitions and brokers in total",
            f"use at most {MAX_SIZE:,} (each broker counts as two)",
        )
    seen: dict[object, int] = {}
    for cell, place in drafted:
        if cell is not None:
            _check_cell(cell, seen, place)
            yield cell


def _read_axes(node: Node) -> tuple[list[tuple[str, Node]], ...]:
    """Return the values of each parameter in `vary`."""
    fields = as_fields(node, "write a list of values for each word, for example {acks: [1, all]}")
    with node.document.together():
        return tuple(fields.tried(partial(_read_axis, word=word), []) for word in fields.values)


def _read_axis(fields: Fields, word: str) -> list[tuple[str, Node]]:
    _check_word(fields, word)
    values = as_items(fields.values[word], "write a list of values, for example [1, 2]")
    if not values.nodes:
        raise values.error("the list is empty", "write at least one value")
    return [(word, value) for value in values]


def _read_row(node: Node) -> Fields:
    """Return an item of `cells`."""
    fields = as_fields(node, "for example {name: careful, acks: all}")
    with node.document.together():
        for word in fields.values:
            if word != "name":
                fields.tried(lambda row, word=word: _check_word(row, word, "name"), None)  # type: ignore[misc]
    return fields


def _size(cell: KafkaCell) -> int:
    """Return the size of a cell's cluster, which is its number of partitions plus twice its number of brokers, because a broker costs as
    much as about two partitions.
    """
    return sum(topic.count for topic in cell.spec.topics) + 2 * len(cell.spec.brokers)


def _check_cell(cell: KafkaCell, seen: dict[object, int], place: Node) -> None:
    """Reject a duplicate or impossible cell. Only the first invalid cell of a grid is reported, because other invalid cells usually fail
    for the same reason.
    """
    key = (cell.release.name, cell.spec, cell.producers)
    if key in seen:
        raise place.error(f"cell {cell.number} is the same as cell {seen[key]}", "each cell must be unique")
    seen[key] = cell.number
    _try_out(cell, place)


def _check_word(fields: Fields, word: str, *also: str) -> None:
    if word not in _CHANGES and word not in SETTINGS:
        raise fields.key_error(word, f"unknown word '{shortened(word)}'", did_you_mean(word, [*also, *_CHANGES, *SETTINGS]))


def _draft_cell(number: int, title: str | None, chosen: list[tuple[str, Node]], draft: _Draft) -> KafkaCell:
    words = [word for word, _ in chosen]
    for index, word in enumerate(words):
        if word in words[:index]:
            raise chosen[index][1].error(f"'{word}' is both in the cell and in 'vary'", f"omit '{word}' from the cell or from 'vary'")
    order = list(_CHANGES)
    for word, node in sorted(chosen, key=lambda one: order.index(one[0]) if one[0] in order else len(order)):
        draft = _CHANGES[word](draft, node) if word in _CHANGES else _set_setting(draft, word, node)
    values = tuple((word, _written(node)) for word, node in chosen)
    name = title or ", ".join(f"{word} {value}" for word, value in values) or "as given"
    release = release_without(draft.release, draft.without)
    return KafkaCell(number, name, values, release, draft.spec, draft.producers, draft.consumers, draft.around)


def _set_setting(draft: _Draft, name: str, node: Node) -> _Draft:
    """Set a Kafka setting for the whole cluster. The new value also replaces the values that are set for individual topics."""
    setting = setting_named(name)
    misplaced, _, remedy = setting.scope_error(broker=False, topic=False).partition("; ")
    if misplaced:
        raise node.error(misplaced, remedy)
    try:
        value = setting.parse(as_text(node, "write a value"))
    except ValueError as wrong:
        raise node.error(shortened(str(wrong), 160)) from None
    settings = (*(pair for pair in draft.spec.settings if pair[0] != name), (name, value))
    topics = tuple(attrs.evolve(topic, config=tuple(pair for pair in topic.config if pair[0] != name)) for topic in draft.spec.topics)
    return attrs.evolve(draft, spec=attrs.evolve(draft.spec, settings=settings, topics=topics))


def _written(node: Node) -> str:
    if isinstance(node, Items):
        return " ".join(_written(item) for item in node)
    assert isinstance(node, Text)
    text = node.text.strip()
    return render_value(text.lower() == "true") if text.lower() in ("true", "false") else text


def _try_out(cell: KafkaCell, place: Node) -> None:
    """Build the cell's cluster and start its workload once, so that settings that Kafka refuses are reported before the sweep starts."""
    try:
        cell.spec.check()
        cluster = Cluster(cell.spec, cell.release)
        for load in cell.producers:
            cluster.do(load_act(load, load.every))
        for topic in cell.spec.topics:
            cluster.do(Consume(topic.name, f"reader-{topic.name}"))
    except (ValueError, KafkaError, ActRefused) as wrong:
        raise place.error(f"cell {cell.number} ({shortened(cell.name, 80)}) cannot run: {' '.join(str(wrong).split())}") from None
