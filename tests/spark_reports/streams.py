"""Runs a query on a stream to its end."""

from __future__ import annotations

from typing import Any

from pyspark.errors import StreamingQueryException

_TRIES = 30


def to_the_end(stream: Any, out: str) -> None:
    """Run a query with a checkpoint until it ends. Spark gives the Python process of a source 10 s to start, which a busy machine can exceed. A
    query that failed because of this is started again, and goes on from its checkpoint.
    """
    for left in reversed(range(_TRIES)):
        try:
            stream.start(out).awaitTermination()
            return
        except StreamingQueryException as wrong:
            if not left or "worker failed to connect back" not in str(wrong):
                raise
