"""Reads a grid: the YAML of scenarios, with the same `cluster:`, and every mistake told with its place and what would be right.

`GRIDS.md` beside the scenarios' manual has every word.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import attrs

from core.acts import Consume
from core.errors import ActRefused, KafkaError
from core.release import CURRENT
from core.settings import SETTINGS, render_value, setting_named
from core.sim.cluster import Cluster
from core.spec import BrokerSpec, ClusterSpec, ControlPlane, Pace
from core.units import SECOND, US_PER_MS
from scenarios.errors import did_you_mean
from scenarios.language.cluster import MAX_BROKERS, MAX_PARTITIONS, read_cluster
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
        ScriptError: at the first thing that is wrong.
    """
    root = parse(text, source)
    root.only(*_ROOT)
    spec = read_cluster(root.need("cluster", "for example 'cluster: {brokers: 3, topics: {orders: {partitions: 6}}}'"))
    if spec.pace is not Pace.TIMELINE:
        raise root.key_error("cluster", "a sweep's clusters move by themselves", "leave 'pace' out")
    topics = [topic.name for topic in spec.topics]
    producers = _read_workload(root.need("workload", "for example 'workload: [{topic: orders, rate: 100}]'"), topics)
    name, about, faults, around, consume = (root.get(word) for word in ("sweep", "about", "faults", "around", "consume"))
    horizon = root.need("horizon", "write how long one run stands for, for example 'horizon: 365d'")
    grid = Grid(
        name=Path(source).stem if name is None else _name(name),
        about="" if about is None else as_text(about),
        source=source,
        text=text,
        cells=(),
        faults=() if faults is None else _read_faults(faults),
        horizon=as_duration(horizon),
        consumers=() if consume is None else each(consume, "write a list of topics", lambda node: as_word(node, topics)),
        around=None if around is None else _read_around(around),
    )
    if grid.horizon < SECOND:
        raise horizon.error(f"{horizon.what()} is too short", "at least 1s")
    if grid.around is None and grid.horizon > MAX_WHOLE:
        raise horizon.error(
            f"{horizon.what()} is too long to be simulated whole",
            "write 'around: {before: 10s, after: 60s}' to simulate what is around faults",
        )
    if grid.around is not None and not grid.faults:
        raise root.key_error("around", "there are no faults to be around", "write some under 'faults', or leave 'around' out")
    grid = attrs.evolve(grid, cells=tuple(_read_cells(root, spec, producers)))
    _check_racks(root, grid)
    return grid


def _name(node: Node) -> str:
    text = as_text(node, "write a short name, for example weekly-crashes")
    if len(text) > 80 or not all(char.isalnum() or char in "-_." for char in text):
        raise node.error(f"'{shortened(text)}' is no name", "letters, digits and dashes, at most 80 of them")
    return text


def _read_workload(node: Node, topics: list[str]) -> tuple[Producing, ...]:
    items = as_items(node, "write a list of producers, for example [{topic: orders, rate: 100}]")
    if not items.nodes:
        raise node.error("no producer", "a sweep needs one that writes records")
    found: list[Producing] = []
    for item in items:
        fields = as_fields(item, "for example {topic: orders, rate: 100, acks: all}")
        fields.only(*_PRODUCER)
        get = fields.get
        name, acks, every, between, size, idempotence = (
            get(word) for word in ("producer", "acks", "every", "between", "bytes", "idempotence")
        )
        step = 50 * US_PER_MS if every is None else _positive(every)
        producing = Producing(
            name=("app" if not found else f"app{len(found) + 1}") if name is None else as_client_name(name),
            topic=as_word(fields.need("topic", "name one of the cluster's topics"), topics),
            rate=as_int(fields.need("rate", "write records per second"), 1, MAX_RATE),
            every=step,
            between=step if between is None else _positive(between),
            acks="all" if acks is None else as_word(acks, _ACKS),
            bytes=100 if size is None else as_int(size, 1),
            idempotence=False if idempotence is None else as_bool(idempotence),
        )
        if any(producing.name == other.name for other in found):
            raise item.error(f"producer {producing.name} stands twice", "give each a name of its own with 'producer:'")
        if producing.between < step:
            assert between is not None
            raise between.error(f"{between.what()} is less than 'every'", "batches are further apart between faults than near them")
        found.append(producing)
    return tuple(found)


def _positive(node: Node) -> int:
    duration = as_duration(node)
    if duration < US_PER_MS:
        raise node.error(f"{node.what()} is too short", "at least 1ms")
    return duration


def _read_around(node: Node) -> Around:
    fields = as_fields(node, "for example {before: 10s, after: 60s}")
    fields.only("before", "after", "near", "soon")
    default = Around()
    before, after, near, soon = (fields.get(word) for word in ("before", "after", "near", "soon"))
    return Around(
        before=default.before if before is None else _positive(before),
        after=default.after if after is None else _positive(after),
        near=default.near if near is None else _positive(near),
        soon=default.soon if soon is None else _positive(soon),
    )


# --- faults --------------------------------------------------------------------------------------------------------


def _read_faults(node: Node) -> tuple[Fault, ...]:
    fields = as_fields(node, "write faults by kind, for example {crash: {every: 7d, lasts: 5m}}")
    fields.only(*FaultKind)
    return tuple(
        _read_fault(FaultKind(kind), as_fields(value, "for example {every: 7d, lasts: 5m}")) for kind, value in fields.values.items()
    )


def _read_fault(kind: FaultKind, fields: Fields) -> Fault:
    own = {
        FaultKind.SLOW_DISK: ("delay",),
        FaultKind.CUT: ("between",),
        FaultKind.RACK_OUTAGE: ("how",),
        FaultKind.ROLLING_RESTART: ("gap",),
    }.get(kind, ())
    whole = kind in (FaultKind.RACK_OUTAGE, FaultKind.ROLLING_RESTART, FaultKind.CONTROLLER_CRASH)
    fields.only(*(word for word in _FAULT if not (whole and word == "each")), *own)
    per, delay, between, how, gap = (fields.get(word) for word in ("each", "delay", "between", "how", "gap"))
    if kind is FaultKind.SLOW_DISK and (delay is None or not US_PER_MS <= as_duration(delay) <= MAX_SLOW):
        raise (fields if delay is None else delay).error("a slow disk needs a delay for each write", "write 'delay:' with 1ms to 10s")
    ends = "brokers" if between is None else as_word(between, ("brokers", "controller", "any"))
    every = fields.need("every", "write the mean time from one to the next, for example 7d")
    if as_duration(every) < SECOND:
        raise every.error(f"{every.what()} is too often", "at least 1s")
    return Fault(
        kind=kind,
        every=as_duration(every),
        lasts=_read_span(fields.need("lasts", "write how long one lasts, for example 5m, {from: 1m, to: 10m} or {mean: 5m}")),
        each_broker=per is not None and as_word(per, ("broker", "cluster")) == "broker",
        delay=0 if delay is None else as_duration(delay),
        power=how is None or as_word(how, ("power-loss", "crash")) == "power-loss",
        gap=60 * SECOND if gap is None else as_duration(gap),
        controller=ends in ("controller", "any"),
        brokers=ends in ("brokers", "any"),
    )


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
    axes: list[list[tuple[str, Node]]] = []
    if vary is not None:
        fields = as_fields(vary, "write values by word, for example {acks: [1, all]}")
        for word, node in fields.values.items():
            _check_word(fields, word)
            values = as_items(node, "write a list of values, for example [1, 2]")
            if not values.nodes:
                raise node.error("no value", "write at least one")
            axes.append([(word, value) for value in values])
    rows: list[Fields | None] = [None]
    if listed is not None:
        rows = [as_fields(item, "for example {name: careful, acks: all}") for item in as_items(listed, "write a list of cells")]
        if not rows:
            raise listed.error("no cell", "write one, or leave 'cells' out")
    count = len(rows)
    for axis in axes:
        count *= len(axis)
    if count > MAX_CELLS:
        raise (vary or root).error(f"{count:,} cells", f"at most {MAX_CELLS:,} are swept")
    seen: dict[object, int] = {}
    number = 0
    for row in rows:
        own: list[tuple[str, Node]] = []
        if row is not None:
            for word, value in row.values.items():
                if word != "name":
                    _check_word(row, word, "name")
                    own.append((word, value))
        title = None if row is None or row.get("name") is None else as_text(row.values["name"])
        for combination in itertools.product(*axes):
            number += 1
            chosen = [*own, *combination]
            place = combination[-1][1] if combination else row if row is not None else root
            cell = _make_cell(number, title, chosen, _Draft(spec, producers), place)
            key = (cell.release.name, cell.spec, cell.producers)
            if key in seen:
                raise place.error(f"cell {number} is the same as cell {seen[key]}", "each cell is swept once")
            seen[key] = number
            yield cell


def _check_word(fields: Fields, word: str, *also: str) -> None:
    if word not in _CHANGES and word not in SETTINGS:
        raise fields.key_error(word, f"unknown word '{shortened(word)}'", did_you_mean(word, [*also, *_CHANGES, *SETTINGS]))


def _make_cell(number: int, title: str | None, chosen: list[tuple[str, Node]], draft: _Draft, place: Node) -> Cell:
    words = [word for word, _ in chosen]
    for index, word in enumerate(words):
        if word in words[:index]:
            raise chosen[index][1].error(f"'{word}' stands in the cell and in 'vary'", "leave it out of one of the two")
    order = list(_CHANGES)
    for word, node in sorted(chosen, key=lambda one: order.index(one[0]) if one[0] in order else len(order)):
        draft = _CHANGES[word](draft, node) if word in _CHANGES else _set_setting(draft, word, node)
    values = tuple((word, _written(node)) for word, node in chosen)
    name = title or ", ".join(f"{word} {value}" for word, value in values) or "as given"
    cell = Cell(number, name, values, release_without(draft.release, draft.without), draft.spec, draft.producers)
    _try_out(cell, place)
    return cell


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
