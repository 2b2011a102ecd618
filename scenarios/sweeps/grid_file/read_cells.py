"""Reads the cells of a grid. For each item of `cells:`, there is a cell for every combination of the values in `vary:`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial
from typing import Final

import attrs

from core.kafka.errors import KafkaError
from core.kafka.release import CURRENT
from core.lab.acts import Consume
from core.lab.cluster import Cluster
from core.lab.spec import ClusterSpec
from core.sim.errors import ActRefused
from scenarios.language.nodes import Fields, Node, shortened
from scenarios.language.script import release_without
from scenarios.language.values import as_fields, as_text, each
from scenarios.sweeps.grid.grid import MAX_CELLS
from scenarios.sweeps.simulation.kafka.cell import FaultWindow, KafkaCell, ProducerLoad, RareWindows
from scenarios.sweeps.simulation.kafka.episodes import load_act
from scenarios.variations.changes import Chosen, Varied, changed, check_word, read_axes, written

MAX_SIZE: Final = 50_000
"""The maximum total size of all cells. The size of a cell is its number of partitions plus twice its number of brokers.

The total size is limited because the sweep builds every cell's cluster once before it starts.
"""


@attrs.frozen
class _Draft:
    """What all cells of a grid begin with."""

    spec: ClusterSpec
    producers: tuple[ProducerLoad, ...]
    consumers: tuple[str, ...]
    around: FaultWindow | None
    rare: RareWindows | None


def read_cells(
    root: Fields,
    spec: ClusterSpec,
    producers: tuple[ProducerLoad, ...],
    consumers: tuple[str, ...],
    around: FaultWindow | None,
    rare: RareWindows | None,
) -> Iterator[KafkaCell]:
    """Yield the cells: each of `cells` with each combination of `vary`."""
    vary, listed = root.get("vary"), root.get("cells")
    with root.document.together():
        axes = () if vary is None else vary.tried(read_axes, ())
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
            make = partial(_draft_cell, len(drafted) + 1, title, [*own, *combination], _Draft(spec, producers, consumers, around, rare))
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


def _read_row(node: Node) -> Fields:
    """Return an item of `cells`."""
    fields = as_fields(node, "for example {name: careful, acks: all}")
    with node.document.together():
        for word in fields.values:
            if word != "name":
                fields.tried(lambda row, word=word: check_word(row, word, "name"), None)  # type: ignore[misc]
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


def _draft_cell(number: int, title: str | None, chosen: list[Chosen], draft: _Draft) -> KafkaCell:
    words = [word for word, _ in chosen]
    for index, word in enumerate(words):
        if word in words[:index]:
            raise chosen[index][1].error(f"'{word}' is both in the cell and in 'vary'", f"omit '{word}' from the cell or from 'vary'")
    varied = changed(Varied(draft.spec, CURRENT.name), chosen)
    spec, producers = varied.spec, draft.producers
    for name, value in varied.clients:
        if name == "acks":
            producers = tuple(attrs.evolve(one, acks=value) for one in producers)
        elif name == "enable.idempotence":
            producers = tuple(attrs.evolve(one, idempotence=value.strip().lower() == "true") for one in producers)
        else:
            spec = attrs.evolve(spec, clients=(*(pair for pair in spec.clients if pair[0] != name), (name, value)))
    values = tuple((word, written(node)) for word, node in chosen)
    name = title or ", ".join(f"{word} {value}" for word, value in values) or "as given"
    release = release_without(varied.release, varied.without)
    return KafkaCell(number, name, values, release, spec, producers, draft.consumers, draft.around, draft.rare)


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
