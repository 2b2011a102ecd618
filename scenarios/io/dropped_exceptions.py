"""Notices exceptions that Python drops: a signal handler can run in a finalizer or in a callback of the garbage collector, and Python only
reports what is raised there.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def call_if_dropped(kind: type[BaseException], again: Callable[[], object]) -> Iterator[None]:
    """Within the block, call `again` instead of reporting a dropped exception of a kind."""
    report = sys.unraisablehook

    def hook(dropped: sys.UnraisableHookArgs) -> None:
        if dropped.exc_type is kind:
            again()
        else:
            report(dropped)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = report
