"""The whole state of a cluster as one comparable value, which is equal for two clusters that hold the same, whatever objects they consist
of.
"""

from __future__ import annotations

import types
from typing import Any

from core.lab.cluster import Cluster
from core.sim.state.append_only_list import AppendOnlyList
from core.sim.state.codecs import codec_of, parts_of
from core.sim.state.fields import ATOMS


def whole(cluster: Cluster) -> list[Any]:
    """Return the contents of every object that is reachable from a cluster, in the order of discovery. References are numbered in that
    order.
    """
    numbers: dict[int, int] = {}
    objects: list[Any] = []

    def plain(value: Any) -> Any:
        cls = type(value)
        if cls in ATOMS or isinstance(value, (type, types.FunctionType)):
            return value
        parts = parts_of(value)
        if parts is not None:
            return cls.__name__, getattr(value, "__name__", ""), *map(plain, parts)
        if id(value) not in numbers:
            numbers[id(value)] = len(objects)
            objects.append(value)
        return "object", numbers[id(value)]

    plain(cluster)
    found = []
    for each in objects:  # it grows as it goes
        cls = type(each)
        codec = codec_of(cls)
        state = each[:] if cls is AppendOnlyList else (*codec.read_final(each), *codec.read([each], [])[0])
        found.append((cls.__name__, *map(plain, state)))
    return found


def same(one: Cluster, other: Cluster) -> None:
    """Assert that two clusters have the same state. If not, name the first object that differs."""
    assert_same(whole(one), whole(other))


def assert_same(mine: list[Any], theirs: list[Any]) -> None:
    """Assert that two states are the same. If not, name the first object that differs."""
    for number, (a, b) in enumerate(zip(mine, theirs, strict=False)):
        assert a == b, f"object {number} of {len(mine)} differs"
    assert len(mine) == len(theirs)
