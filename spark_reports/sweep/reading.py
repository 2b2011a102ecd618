"""Reads a grid: the YAML of scenarios, with the same `cluster:`, and every mistake told with its place and what would be right.

`GRIDS.md` beside the scenarios' manual has every word.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import attrs

from core.kafka.errors import KafkaError
from core.kafka.release import CURRENT
from core.kafka.settings import SETTINGS, render_value, setting_named
from core.lab.acts import Consume
from core.lab.cluster import Cluster
from core.lab.spec import MAX_BROKERS, MAX_PARTITIONS, BrokerSpec, ClusterSpec, ControlPlane, Pace
from core.sim.errors import ActRefused
from core.sim.units import SECOND, US_PER_MS
from scenarios.errors import did_you_mean
from scenarios.garbage import without_collection
from scenarios.language.cluster import read_cluster
from scenarios.language.expectations import read_guards, read_release
from scenarios.language.nodes import Fields, Items, Node, Text, parse, read_file, shortened
from scenarios.language.script import release_without
from scenarios.language.values import (
    as_bool,
    as_client_name,
    as_duration,
    as_fields,
    as_int,
    as_items,
    as_text,
    as_word,
    each,
)
from spark_reports.sweep.episodes import episodes_of
from spark_reports.sweep.faults import dedicated_controllers
from spark_reports.sweep.grid import MAX_CELLS, Around, Cell, Fault, FaultKind, Grid, Producing, Span

MAX_WHOLE: Final = 30 * 86_400 * SECOND
"""Longest horizon that is simulated whole: a day of three idle brokers is some hundred thousand events."""

MAX_SIZE: Final = 50_000
"""Most partitions, and twice brokers, of all cells together: every cell's cluster is built once before anything runs."""

MAX_RATE: Final = 10_000_000
"""Most records per second of a producer."""

MAX_SLOW: Final = 10 * SECOND
"""Longest a slow disk takes for a write, as in scripts."""

_ROOT: Final = ("sweep", "about", "cluster", "workload", "consume", "faults", "horizon", "around", "vary", "cells")
_PRODUCER: Final = ("producer", "topic", "rate", "acks", "every", "between", "bytes", "idempotence")
_FAULT: Final = ("every", "each", "lasts")
_ACKS: Final = ("0", "1", "all")


def load_grid(path: str | Path) -> Grid:
    """The grid in a file.

    Raises:
        InputError: the file cannot be read, or the grid is wrong.
    """
    return read_grid(read_file(path, "name a grid's file"), str(path))


def read_grid(text: str, source: str) -> Grid:
    """The grid that a text describes; `source` names it in errors.

    Raises:
        ScriptError: something is wrong; all that is, as `ScriptMistakes`.
    """
    root = parse(text, source)
    with without_collection(), root.document.together(everything=True):
        root.only(*_ROOT)
        hint = "for example 'cluster: {brokers: 3, topics: {orders: {partitions: 6}}}'"
        spec = root.read_needed("cluster", hint, read_cluster, None)
        if spec is not None and spec.pace is not Pace.TIMELINE:
            root.document.add(root.key_error("cluster", "a sweep's clusters move by themselves", "leave 'pace' out"))
        topics = None if spec is None else [topic.name for topic in spec.topics]
        producers = root.read_needed(
            "workload", "for example 'workload: [{topic: orders, rate: 100}]'", lambda node: _read_workload(node, topics), ()
        )
        grid = Grid(
            name=root.read("sweep", _name, Path(source).stem),
            about=root.read("about", as_text, ""),
            source=source,
            text=text,
            cells=(),
            faults=root.read("faults", _read_faults, ()),
            horizon=root.read_needed("horizon", "write how long one run stands for, for example 'horizon: 365d'", _read_horizon, SECOND),
            consumers=root.read("consume", lambda node: each(node, "write a list of topics", lambda one: _as_topic(one, topics)), ()),
            around=root.read("around", _read_around, None),
        )
        around, horizon, faults = root.get("around"), root.get("horizon"), root.get("faults")
        if horizon is not None and around is None and grid.horizon > MAX_WHOLE:
            root.document.add(
                horizon.error(
                    f"{horizon.what()} is too long to be simulated whole",
                    "write 'around: {before: 10s, after: 60s}' to simulate what is around faults",
                )
            )
        if around is not None and not grid.faults and not (isinstance(faults, Fields) and faults.values):
            root.document.add(
                root.key_error("around", "there are no faults to be around", "write some under 'faults', or leave 'around' out")
            )
    assert spec is not None
    with root.document.together():
        grid = attrs.evolve(grid, cells=tuple(_read_cells(root, spec, producers)))
        _check_racks(root, grid)
    return grid


def _as_topic(node: Node, topics: list[str] | None) -> str:
    """One of the cluster's topics; without a cluster every name is good."""
    return as_text(node) if topics is None else as_word(node, topics)


def _read_horizon(node: Node) -> int:
    horizon = as_duration(node)
    if horizon < SECOND:
        raise node.error(f"{node.what()} is too short", "at least 1s")
    return horizon


def _name(node: Node) -> str:
    text = as_text(node, "write a short name, for example weekly-crashes")
    if len(text) > 80 or not all(char.isalnum() or char in "-_." for char in text):
        raise node.error(f"'{shortened(text)}' is no name", "letters, digits and dashes, at most 80 of them")
    return text


def _read_workload(node: Node, topics: list[str] | None) -> tuple[Producing, ...]:
    items = as_items(node, "write a list of producers, for example [{topic: orders, rate: 100}]")
    if not items.nodes:
        raise node.error("no producer", "a sweep needs one that writes records")
    found: list[Producing] = []
    with node.document.together():
        for number, item in enumerate(items, start=1):
            producing = item.tried(partial(_read_producer, number=number, topics=topics), None)
            if producing is None:
                continue
            if any(producing.name == other.name for other in found):
                node.document.add(item.error(f"producer {producing.name} stands twice", "give each a name of its own with 'producer:'"))
            found.append(producing)
    return tuple(found)


def _read_producer(node: Node, number: int, topics: list[str] | None) -> Producing:
    fields = as_fields(node, "for example {topic: orders, rate: 100, acks: all}")
    with node.document.together():
        fields.only(*_PRODUCER)
        step = fields.read("every", _positive, 50 * US_PER_MS)
        producing = Producing(
            name=fields.read("producer", as_client_name, "app" if number == 1 else f"app{number}"),
            topic=fields.read_needed("topic", "name one of the cluster's topics", lambda one: _as_topic(one, topics), ""),
            rate=fields.read_needed("rate", "write records per second", lambda one: as_int(one, 1, MAX_RATE), 1),
            every=step,
            between=fields.read("between", _positive, step),
            acks=fields.read("acks", lambda one: as_word(one, _ACKS), "all"),
            bytes=fields.read("bytes", lambda one: as_int(one, 1), 100),
            idempotence=fields.read("idempotence", as_bool, False),
        )
        if producing.between < step:
            between = fields.values["between"]
            raise between.error(f"{between.what()} is less than 'every'", "batches are further apart between faults than near them")
    return producing


def _positive(node: Node) -> int:
    duration = as_duration(node)
    if duration < US_PER_MS:
        raise node.error(f"{node.what()} is too short", "at least 1ms")
    return duration


def _read_around(node: Node) -> Around:
    fields = as_fields(node, "for example {before: 10s, after: 60s}")
    default = Around()
    with node.document.together():
        fields.only("before", "after", "near", "soon")
        return Around(
            before=fields.read("before", _positive, default.before),
            after=fields.read("after", _positive, default.after),
            near=fields.read("near", _positive, default.near),
            soon=fields.read("soon", _positive, default.soon),
        )


# --- faults --------------------------------------------------------------------------------------------------------


def _read_faults(node: Node) -> tuple[Fault, ...]:
    fields = as_fields(node, "write faults by kind, for example {crash: {every: 7d, lasts: 5m}}")
    known = tuple(FaultKind)
    with node.document.together():
        fields.only(*known)
        found = [value.tried(partial(_read_fault, FaultKind(kind)), None) for kind, value in fields.values.items() if kind in known]
    return tuple(fault for fault in found if fault is not None)


def _read_fault(kind: FaultKind, node: Node) -> Fault:
    fields = as_fields(node, "for example {every: 7d, lasts: 5m}")
    own = {
        FaultKind.SLOW_DISK: ("delay",),
        FaultKind.CUT: ("between",),
        FaultKind.RACK_OUTAGE: ("how",),
        FaultKind.ROLLING_RESTART: ("gap",),
    }.get(kind, ())
    whole = kind in (FaultKind.RACK_OUTAGE, FaultKind.ROLLING_RESTART, FaultKind.CONTROLLER_CRASH)
    span = "write how long one lasts, for example 5m, {from: 1m, to: 10m} or {mean: 5m}"
    with node.document.together():
        fields.only(*(word for word in _FAULT if not (whole and word == "each")), *own)
        if kind is FaultKind.SLOW_DISK and fields.get("delay") is None:
            node.document.add(fields.error("a slow disk needs a delay for each write", "write 'delay:' with 1ms to 10s"))
        ends = fields.read("between", lambda one: as_word(one, ("brokers", "controller", "any")), "brokers")
        return Fault(
            kind=kind,
            every=fields.read_needed("every", "write the mean time from one to the next, for example 7d", _read_every, SECOND),
            lasts=fields.read_needed("lasts", span, _read_span, Span()),
            each_broker=fields.read("each", lambda one: as_word(one, ("broker", "cluster")), "cluster") == "broker",
            delay=fields.read("delay", _read_delay, 0),
            power=fields.read("how", lambda one: as_word(one, ("power-loss", "crash")), "power-loss") == "power-loss",
            gap=fields.read("gap", as_duration, 60 * SECOND),
            controller=ends in ("controller", "any"),
            brokers=ends in ("brokers", "any"),
        )


def _read_every(node: Node) -> int:
    every = as_duration(node)
    if every < SECOND:
        raise node.error(f"{node.what()} is too often", "at least 1s")
    return every


def _read_delay(node: Node) -> int:
    delay = as_duration(node)
    if not US_PER_MS <= delay <= MAX_SLOW:
        raise node.error("a slow disk needs a delay for each write", "write 'delay:' with 1ms to 10s")
    return delay


def _read_span(node: Node) -> Span:
    if not isinstance(node, Fields):
        lasts = _positive(node)
        return Span(lasts, lasts)
    node.only("from", "to", "mean")
    mean = node.get("mean")
    if mean is not None:
        if len(node.values) > 1:
            raise node.error("both a mean and bounds", "write {mean: 5m} for an exponential length, {from: 1m, to: 10m} for an even one")
        return Span(mean=_positive(mean))
    least, most = _positive(node.need("from", "write {from: 1m, to: 10m}")), _positive(node.need("to", "write {from: 1m, to: 10m}"))
    if most < least:
        raise node.values["to"].error(f"{node.values['to'].what()} is less than 'from'", "write the longer one last")
    return Span(least, most)


# --- cells ---------------------------------------------------------------------------------------------------------


@attrs.frozen
class _Draft:
    """A cell while its values are put in."""

    spec: ClusterSpec
    producers: tuple[Producing, ...]
    release: str = CURRENT.name
    without: tuple[str, ...] = ()
    values: tuple[tuple[str, str], ...] = ()


Change = Callable[[_Draft, Node], _Draft]
"""Puts a value into a draft."""


def _set_release(draft: _Draft, node: Node) -> _Draft:
    return attrs.evolve(draft, release=read_release(node))


def _set_without(draft: _Draft, node: Node) -> _Draft:
    if isinstance(node, Text) and node.text.strip() in ("none", ""):
        return attrs.evolve(draft, without=())
    return attrs.evolve(draft, without=read_guards(node))


def _set_acks(draft: _Draft, node: Node) -> _Draft:
    acks = as_word(node, _ACKS)
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
            raise node.error(f"topic {topic.name} has its replicas placed by hand", f"leave 'replicas' out where '{word}' varies")


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
"""What a cell may vary beside Kafka's settings, in the order it is put in."""


def _read_cells(root: Fields, spec: ClusterSpec, producers: tuple[Producing, ...]) -> Iterator[Cell]:
    """The cells: each of `cells`, times every combination of `vary`."""
    vary, listed = root.get("vary"), root.get("cells")
    with root.document.together():
        axes = () if vary is None else vary.tried(_read_axes, ())
        rows: list[Fields | None] = [None]
        if listed is not None:
            rows = list(listed.tried(lambda node: each(node, "write a list of cells", _read_row), ()))
            if not rows:
                raise listed.error("no cell", "write one, or leave 'cells' out")
        count = len(rows)
        for axis in axes:
            count *= len(axis)
        if count > MAX_CELLS:
            raise (vary or root).error(f"{count:,} cells", f"at most {MAX_CELLS:,} are swept")
    drafted: list[tuple[Cell | None, Node]] = []
    for row in rows:
        own = [] if row is None else [(word, value) for word, value in row.values.items() if word != "name"]
        title = None if row is None else row.read("name", as_text, None)
        for combination in itertools.product(*axes):
            place = combination[-1][1] if combination else row if row is not None else root
            make = partial(_draft_cell, len(drafted) + 1, title, [*own, *combination], _Draft(spec, producers))
            drafted.append((place.tried(lambda _place, make=make: make(), None), place))  # type: ignore[misc]
    cells = [cell for cell, _ in drafted if cell is not None]
    if (size := sum(map(_size, cells))) > MAX_SIZE:
        raise (vary or root).error(f"{len(cells):,} cells with {size:,} partitions and brokers in all", f"at most {MAX_SIZE:,} are swept")
    seen: dict[object, int] = {}
    for cell, place in drafted:
        if cell is not None:
            _check_cell(cell, seen, place)
            yield cell


def _read_axes(node: Node) -> tuple[list[tuple[str, Node]], ...]:
    """The values of `vary`, word by word."""
    fields = as_fields(node, "write values by word, for example {acks: [1, all]}")
    with node.document.together():
        return tuple(fields.tried(partial(_read_axis, word=word), []) for word in fields.values)


def _read_axis(fields: Fields, word: str) -> list[tuple[str, Node]]:
    _check_word(fields, word)
    values = as_items(fields.values[word], "write a list of values, for example [1, 2]")
    if not values.nodes:
        raise values.error("no value", "write at least one")
    return [(word, value) for value in values]


def _read_row(node: Node) -> Fields:
    """An item of `cells`."""
    fields = as_fields(node, "for example {name: careful, acks: all}")
    with node.document.together():
        for word in fields.values:
            if word != "name":
                fields.tried(lambda row, word=word: _check_word(row, word, "name"), None)  # type: ignore[misc]
    return fields


def _size(cell: Cell) -> int:
    """How large its cluster is: partitions, and brokers, each of which costs as much as some."""
    return sum(topic.count for topic in cell.spec.topics) + 2 * len(cell.spec.brokers)


def _check_cell(cell: Cell, seen: dict[object, int], place: Node) -> None:
    """Refuse a cell that there is already, or that cannot be. One such is enough: most others would be refused for the same reason."""
    key = (cell.release.name, cell.spec, cell.producers)
    if key in seen:
        raise place.error(f"cell {cell.number} is the same as cell {seen[key]}", "each cell is swept once")
    seen[key] = cell.number
    _try_out(cell, place)


def _check_word(fields: Fields, word: str, *also: str) -> None:
    if word not in _CHANGES and word not in SETTINGS:
        raise fields.key_error(word, f"unknown word '{shortened(word)}'", did_you_mean(word, [*also, *_CHANGES, *SETTINGS]))


def _draft_cell(number: int, title: str | None, chosen: list[tuple[str, Node]], draft: _Draft) -> Cell:
    words = [word for word, _ in chosen]
    for index, word in enumerate(words):
        if word in words[:index]:
            raise chosen[index][1].error(f"'{word}' stands in the cell and in 'vary'", "leave it out of one of the two")
    order = list(_CHANGES)
    for word, node in sorted(chosen, key=lambda one: order.index(one[0]) if one[0] in order else len(order)):
        draft = _CHANGES[word](draft, node) if word in _CHANGES else _set_setting(draft, word, node)
    values = tuple((word, _written(node)) for word, node in chosen)
    name = title or ", ".join(f"{word} {value}" for word, value in values) or "as given"
    return Cell(number, name, values, release_without(draft.release, draft.without), draft.spec, draft.producers)


def _set_setting(draft: _Draft, name: str, node: Node) -> _Draft:
    """A Kafka setting for the whole cluster; a topic's own value gives way."""
    setting = setting_named(name)
    misplaced, _, remedy = setting.scope_error(broker=False, topic=False).partition("; ")
    if misplaced:
        raise node.error(misplaced, remedy)
    try:
        value = setting.parse(as_text(node, "write its value"))
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


def _try_out(cell: Cell, place: Node) -> None:
    """Build the cell's cluster and start its workload once, so that what Kafka refuses is told before anything runs."""
    try:
        cell.spec.check()
        cluster = Cluster(cell.spec, cell.release)
        probe = Grid("", "", "", "", (cell,), (), SECOND)
        for _, deed in episodes_of(probe, cell, 0)[0].deeds:
            cluster.do(deed)  # type: ignore[arg-type]
        for topic in cell.spec.topics:
            cluster.do(Consume(topic.name, f"reader-{topic.name}"))
    except (ValueError, KafkaError, ActRefused) as wrong:
        raise place.error(f"cell {cell.number} ({shortened(cell.name, 80)}) cannot be: {' '.join(str(wrong).split())}") from None


def _check_racks(root: Fields, grid: Grid) -> None:
    """A rack outage needs racks, a cut between brokers two of them."""
    faults = root.values.get("faults")
    for cell in grid.cells:
        brokers = cell.spec.brokers
        for fault in grid.faults:
            assert isinstance(faults, Fields)
            if fault.kind is FaultKind.RACK_OUTAGE and any(broker.rack is None for broker in brokers):
                raise faults.key_error(
                    fault.kind,
                    f"cell {cell.number} ({cell.name}) has brokers without a rack",
                    "give the brokers racks, or write 'vary: {racks: [3]}'",
                )
            if fault.kind is FaultKind.CONTROLLER_CRASH and not dedicated_controllers(cell.spec):
                raise faults.key_error(
                    fault.kind,
                    f"cell {cell.number} ({cell.name}) has no dedicated controllers",
                    "give the cluster some, for example 'controllers: [c1, c2, c3]'; a combined one dies with its broker ('crash')",
                )
            if fault.kind is FaultKind.CUT and fault.brokers and not fault.controller and len(brokers) < 2:
                raise faults.key_error(fault.kind, f"cell {cell.number} has one broker only", "write 'between: controller'")
            if fault.kind is FaultKind.CUT and fault.controller and cell.spec.controllers:
                raise faults.key_error(
                    fault.kind, f"cell {cell.number} has a quorum of controllers", "write 'between: brokers', or leave 'controllers' out"
                )
