"""The garbage collector rests while something large is built: a million nodes that all stay are looked through again and again."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def without_collection() -> Iterator[None]:
    """No collection inside: for work that leaves no cycles behind, such as loading modules or reading a script."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
