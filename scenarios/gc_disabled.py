"""Pauses the garbage collector while a large object graph is built.

Each garbage collection would traverse the whole object graph and free almost nothing.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def gc_disabled() -> Iterator[None]:
    """Disable garbage collection within the block. The block must not create cyclic garbage; a block that imports modules is suitable."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
