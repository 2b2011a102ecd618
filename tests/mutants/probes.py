"""Records the basic blocks that a process ran. Sources that `operators.with_probes` has written set `hit[n]`. Child processes write
their blocks to a file.
"""

from __future__ import annotations

import atexit
import os
from pathlib import Path

hit = bytearray(int(os.environ.get("MUTANTS_BLOCKS", "0")))


def _leave(folder: str) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    Path(folder, str(os.getpid())).write_bytes(hit)


def take(folder: str) -> bytes:
    """Return the blocks that ran since the last call, in this process and in child processes that have ended."""
    for path in Path(folder).glob("*"):
        for number, value in enumerate(path.read_bytes()):
            hit[number] |= value
        path.unlink()
    taken = bytes(hit)
    hit[:] = bytes(len(hit))
    return taken


if "MUTANTS_LEAVE" in os.environ:
    atexit.register(_leave, os.environ["MUTANTS_LEAVE"])
