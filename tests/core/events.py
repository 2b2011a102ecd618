"""Events for tests that do not play a cluster."""

from __future__ import annotations

from typing import TypeVar

from core.sim.events import Event

E = TypeVar("E", bound=Event)


def made(kind: type[E], *columns: object) -> E:
    """Return an event of a kind with the given columns."""
    assert len(columns) == len(kind.columns), (kind.kind, columns)
    return kind((0, 0, 0, kind.kind, *columns))
