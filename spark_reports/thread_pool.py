"""Threads that a stopped command does not wait for."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor


@contextlib.contextmanager
def pool_of(threads: int) -> Iterator[ThreadPoolExecutor]:
    """A pool of threads. If the block fails, waiting tasks are canceled, and running tasks are not waited for."""
    pool = ThreadPoolExecutor(threads)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
