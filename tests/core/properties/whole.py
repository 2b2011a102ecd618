"""The whole state of a cluster as one comparable value, which is equal for two clusters that hold the same, whatever objects they consist
of.
"""

from __future__ import annotations

import functools
import types
from typing import Any

from core.lab.cluster import Cluster
from core.sim.state.append_only_list import AppendOnlyList
from core.sim.state.codecs import codec_of, parts_of
from core.sim.state.fields import ATOMS

codec = functools.cache(codec_of)


def whole(cluster: Cluster) -> list[Any]:
    """Return the contents of every object that is reachable from a cluster, in the order of discovery. References are numbered in that
    order.
    """
    known: dict[int, Any] = {}
    objects: list[Any] = []

    def plain(value: Any) -> Any:
        cls = type(value)
        if cls in ATOMS:
            return value
        if id(value) in known:
            return known[id(value)]
        if cls is types.FunctionType or isinstance(value, type):
            return value
        parts = parts_of(value)
        if parts is not None:
            form = cls.__name__, getattr(value, "__name__", ""), *[part if type(part) in ATOMS else plain(part) for part in parts]
            if not isinstance(value, tuple):  # a generator's state is a tuple that is made anew, whose id may be another's soon
                known[id(value)] = form
            return form
        known[id(value)] = "object", len(objects)
        objects.append(value)
        return known[id(value)]

    plain(cluster)
    found = []
    for each in objects:  # it grows as it goes
        cls = type(each)
        way = codec(cls)
        state = each[:] if cls is AppendOnlyList else (*way.read_final(each), *way.read([each], [])[0])
        if cls is set and all(type(value) in ATOMS for value in state):
            state = sorted(state)  # equal sets can have different orders, which depend on the history of the set
        found.append((cls.__name__, *[value if type(value) in ATOMS else plain(value) for value in state]))
    return found


def same(one: Cluster, other: Cluster) -> None:
    """Assert that two clusters have the same state. If not, name the first object that differs."""
    assert_same(whole(one), whole(other))


def assert_same(mine: list[Any], theirs: list[Any]) -> None:
    """Assert that two states are the same. If not, name the first object that differs."""
    for number, (a, b) in enumerate(zip(mine, theirs, strict=False)):
        assert a == b, f"object {number} of {len(mine)} differs"
    assert len(mine) == len(theirs)
