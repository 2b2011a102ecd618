"""What is worked out from all partitions of a view is kept for as long as nothing but offsets and counters changes (`ClusterView.state`)."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Final, TypeVar

from core.lab.views.view import ClusterView

T = TypeVar("T")

MOST: Final = 64
"""Results kept at most."""

_kept: dict[Hashable, tuple[int, Any]] = {}


def cached_per_state(view: ClusterView, name: Hashable, make: Callable[[], T]) -> T:
    """What `make` makes of the view, made anew only for another state; `name` tells it from others that are kept."""
    if view.version < 0:
        return make()
    known = _kept.get(name)
    if known is None or known[0] != view.version:
        if len(_kept) >= MOST:
            _kept.clear()
        known = _kept[name] = (view.version, make())
    result: T = known[1]
    return result
