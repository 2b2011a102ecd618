"""Pauses the garbage collector while a large object graph is built: each collection would traverse all of it in vain."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def gc_disabled() -> Iterator[None]:
    """Disable garbage collection within the block. For work that creates no cyclic garbage, such as importing modules or reading a script."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
