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
    **dict.fromkeys(
        (
            "checkpointed high watermark: 4.0.1-1 point 12 b3 t-a-0",
            "checkpointed high watermark: 4.2.0-1 point 12 b3 t-a-0",
            "checkpointed high watermark: 4.2.0-2 point 3 b2 t-b-1",
        ),
        "the checkpoint was written in the milliseconds between a follower's first response, whose high watermark was lower, and its next one",
    ),
    **dict.fromkeys(
        (
            "epoch entries: 0.11.0.3-2 point 10 b2 t-u-1",
            "epoch entries: 0.11.0.3-2 point 10 b4 t-u-1",
            "epoch entries: 0.11.0.3-2 point 11 b1 t-u-1",
            "epoch entries: 0.11.0.3-2 point 11 b2 t-u-1",
            "epoch entries: 0.11.0.3-2 point 11 b4 t-u-1",
            "epoch entries: 0.11.0.3-2 point 12 b1 t-u-1",
            "epoch entries: 0.11.0.3-2 point 12 b2 t-u-1",
            "epoch entries: 0.11.0.3-2 point 12 b4 t-u-1",
            "epoch entries: 0.11.0.3-2 point 13 b1 t-u-1",
            "epoch entries: 0.11.0.3-2 point 13 b2 t-u-1",
            "epoch entries: 0.11.0.3-2 point 13 b4 t-u-1",
            "epoch entries: 0.11.0.3-2 point 14 b1 t-a-1",
            "epoch entries: 0.11.0.3-2 point 14 b1 t-u-1",
            "epoch entries: 0.11.0.3-2 point 14 b2 t-u-1",
            "epoch entries: 0.11.0.3-2 point 14 b3 t-a-1",
            "epoch entries: 0.11.0.3-2 point 14 b4 t-a-1",
            "epoch entries: 0.11.0.3-2 point 14 b4 t-u-1",
            "epoch entries: 2.4.1-4 point 10 b2 t-b-0",
            "epoch entries: 2.4.1-4 point 11 b2 t-b-0",
            "epoch entries: 2.4.1-4 point 12 b2 t-b-0",
            "epoch entries: 2.4.1-4 point 13 b1 t-b-0",
            "epoch entries: 2.4.1-4 point 13 b2 t-b-0",
            "epoch entries: 2.4.1-4 point 13 b4 t-b-0",
        ),
        "a follower that was being stopped was added to the ISR once more, and the controller removed it again, which raises the leader epoch",
    ),
}
"""The values that differ for a reason that the recording shows: the reason by `measure: where`."""

DIFFERENT: Final[dict[str, str]] = {
    "0.11.0.3-3": "when the idempotent producer loses its ID, its other batches fail; whether one of them had been acknowledged by then, and "
    "whether an ISR changed once more, is a race",
    "2.1.1-2": "a follower that was being stopped was added to the ISR once more, where it stays as long as its log is as long as its leader's "
    "(KAFKA-7152)",
    "2.1.1-3": "followers that were being stopped were added to the ISR once more, and the controller removed them again, in a higher epoch",
}
"""The recordings from which the model is known to differ, each with the reason."""
