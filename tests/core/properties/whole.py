"""A cluster's whole state as one comparable value: whatever two clusters that hold the same are made of, theirs is equal."""

from __future__ import annotations

import types
from typing import Any

from core.kafka.log.term import Term
from core.lab.cluster import Cluster
from core.lab.history.keyframe import Walk
from core.lab.history.kinds import CONSTANT


def whole(cluster: Cluster) -> list[Any]:
    """What every object reached from a cluster holds, in the order in which they are found, references by that order."""
    walk = Walk(set(), [cluster])
    states = walk.states()
    numbers = {id(each): number for number, each in enumerate(walk.objects)}

    def plain(value: Any) -> Any:
        cls = type(value)
        if cls in CONSTANT:
            return value
        if id(value) in numbers:
            return "object", numbers[id(value)]
        if isinstance(value, (tuple, list)):
            return tuple(map(plain, value))
        if isinstance(value, dict):
            return tuple((plain(key), plain(held)) for key, held in value.items())
        if cls is types.MethodType:
            return value.__func__, plain(value.__self__)
        if cls is types.BuiltinMethodType:  # of a compiled class
            return value.__name__, plain(value.__self__)
        return value

    return [
        (type(each).__name__, (each.epoch, each.leader, each.bytes, each.stamped, each.written[:]) if type(each) is Term else plain(state))
        for each, state in zip(walk.objects, states, strict=True)
    ]


def same(one: Cluster, other: Cluster) -> None:
    """Both hold the same; the first object that does not is told."""
    assert_same(whole(one), whole(other))


def assert_same(mine: list[Any], theirs: list[Any]) -> None:
    """Both wholes are the same; the first object that is not is told."""
    for number, (a, b) in enumerate(zip(mine, theirs, strict=False)):
        assert a == b, f"object {number} of {len(mine)} differs"
    assert len(mine) == len(theirs)
