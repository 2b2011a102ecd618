"""A cache for results that are computed from a view and that depend neither on offsets nor on counters."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Final, TypeVar

from core.lab.views.cluster_view import ClusterView

T = TypeVar("T")

MOST: Final = 64
"""The maximum number of cached results."""

_kept: dict[Hashable, tuple[int, Any]] = {}


def cached_per_state(view: ClusterView, name: Hashable, make: Callable[[], T]) -> T:
    """Return the result of `make`, which is called only if the view's version has changed.

    Args:
        view: the frozen state of the cluster.
        name: the key of the result in the cache.
        make: the function that computes the result.
    """
    if view.version < 0:
        return make()
    known = _kept.get(name)
    if known is None or known[0] != view.version:
        if len(_kept) >= MOST:
            _kept.clear()
        known = _kept[name] = (view.version, make())
    result: T = known[1]
    return result
