"""Reads the section `workload:` of a grid, which lists its producers."""

from __future__ import annotations

from functools import partial
from typing import Final

from core.sim.units import US_PER_MS
from scenarios.language.nodes import Node
from scenarios.language.values import as_bool, as_client_name, as_duration, as_fields, as_int, as_items, as_text, as_word
from scenarios.sweeps.simulation.kafka.cell import ProducerLoad
from scenarios.variations.changes import ACKS

MAX_RATE: Final = 10_000_000
"""The maximum rate of a producer, in records per second."""

_PRODUCER: Final = ("producer", "topic", "rate", "acks", "every", "between", "bytes", "idempotence")


def read_workload(node: Node, topics: list[str] | None) -> tuple[ProducerLoad, ...]:
    items = as_items(node, "write a list of producers, for example [{topic: orders, rate: 100}]")
    if not items.nodes:
        raise node.error("the workload has no producer", "add a producer; a sweep needs at least one")
    found: list[ProducerLoad] = []
    with node.document.together():
        for number, item in enumerate(items, start=1):
            producing = item.tried(partial(_read_producer, number=number, topics=topics), None)
            if producing is None:
                continue
            if any(producing.name == other.name for other in found):
                node.document.add(item.error(f"producer {producing.name} occurs twice", "give each producer its own name with 'producer:'"))
            found.append(producing)
    return tuple(found)


def _read_producer(node: Node, number: int, topics: list[str] | None) -> ProducerLoad:
    fields = as_fields(node, "for example {topic: orders, rate: 100, acks: all}")
    with node.document.together():
        fields.only(*_PRODUCER)
        step = fields.read("every", read_positive_duration, 50 * US_PER_MS)
        producing = ProducerLoad(
            name=fields.read("producer", as_client_name, "app" if number == 1 else f"app{number}"),
            topic=fields.read_needed("topic", "name one of the cluster's topics", lambda one: read_topic(one, topics), ""),
            rate=fields.read_needed("rate", "write a number of records per second", lambda one: as_int(one, 1, MAX_RATE), 1),
            every=step,
            between=fields.read("between", read_positive_duration, step),
            acks=fields.read("acks", lambda one: as_word(one, ACKS), None),
            bytes=fields.read("bytes", lambda one: as_int(one, 1), 100),
            idempotence=fields.read("idempotence", as_bool, None),
        )
        if producing.between < step:
            between = fields.values["between"]
            raise between.error(
                f"{between.what()} is less than 'every'", "write a longer time, because the producer sends less often between faults"
            )
    return producing


def read_topic(node: Node, topics: list[str] | None) -> str:
    """Return the name of one of the cluster's topics. If there is no cluster, any name is valid."""
    return as_text(node) if topics is None else as_word(node, topics)


def read_positive_duration(node: Node) -> int:
    duration = as_duration(node)
    if duration < US_PER_MS:
        raise node.error(f"{node.what()} is too short", "use at least 1ms")
    return duration
