"""The values in which the model differs from the recordings of drills, each with its reason."""

from __future__ import annotations

from typing import Final

EXPLAINED: Final = {
    **dict.fromkeys(
        (
            "epoch entries: 4.1.1-102 point 9 b1 t-a-1",
            "epoch entries: 4.1.1-102 point 9 b1 t-u-1",
            "epoch entries: 4.1.1-102 point 9 b3 t-c-1",
        ),
        "two seconds after the election, the former leader's entry without records is still on disk; in other recorded elections, it is "
        "gone by then; Kafka writes this truncation to disk asynchronously (LeaderEpochFileCache#truncateFromEndAsyncFlush)",
    ),
    **dict.fromkeys(
        ("log start: 3.9.1-k2 point 13 t-a-0", "log start: 3.9.1-k2 point 14 t-a-0", "log start: 3.6.2-k52 point 17 t-u-0"),
        "the log start is checkpointed every minute, and it was not recorded whether that happened between the deletion of records and the kill",
    ),
}
"""The values that differ for a reason that the recording shows: the reason by `measure: where`."""

BOOTSTRAP: Final = "clients before 4.0 know only the brokers of their last metadata (metadata.recovery.strategy)"

DIFFERENT: Final[dict[str, str]] = {
    "2.4.1-513": BOOTSTRAP,
    "2.4.1-612": "a client that knows a higher leader epoch of a topic ignores the metadata of the topic that was created again",
    "3.9.1-506": BOOTSTRAP,
}
"""The recordings from which the model is known to differ, each with the reason."""
