"""A pool of threads that does not delay the exit of a command that is being stopped."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor


@contextlib.contextmanager
def pool_of(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Provide a pool of threads. If the block fails, waiting tasks are canceled, and the pool does not wait for running tasks."""
    pool = ThreadPoolExecutor(threads)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
