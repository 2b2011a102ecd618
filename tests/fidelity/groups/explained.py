"""The single values in which the model differs from the recordings of groups, by `measure: where`, each with its reason."""

from __future__ import annotations

from typing import Final

GROUPS_EXPLAINED: Final = {
    "processed records: 4.1.1-max-poll-interval-classic c2": "the real producer sent its records one by one, and poll() returned the first record before the others arrived",
    "committed offsets: 4.1.1-slow-member-eager gsle tsle-3": "c3, which owns the partition at the end, does not commit; the last commit of c2 was 0.4 s earlier, before the next record",
    **dict.fromkeys(
        (
            "generations: 2.8.2-offsets-below-min-isr bm-second-3",
            "generations: 2.8.2-offsets-below-min-isr bm-classic-2",
        ),
        "the number of rebalances until the ISR has grown depends on the speed of the machine: about seven per second, and six in the model; the recorded log is incomplete",
    ),
    **dict.fromkeys(
        (
            "committed offsets: 4.1.1-lag-leader-killed lag2 ld-0",
            "committed offsets: 4.1.1-lag-leader-killed lag2 ld-1",
            "committed offsets: 4.1.1-lag-leader-killed lag2 ld-2",
        ),
        "the slow consumer reads one fetched range after another, and each range ends where the log ended when the previous one was drained; so the "
        "order of the ranges, and how far the consumer gets, depend on how long each of its first batches took, which is not recorded",
    ),
    **dict.fromkeys(
        (
            "committed offsets: 4.1.1-slow-member-coop gslow-coop tslow-coop-0",
            "committed offsets: 4.1.1-slow-member-coop gslow-coop tslow-coop-2",
        ),
        "each partition gets a record every half second, and how many records the slow member's last poll returned depends on when that poll came",
    ),
    **dict.fromkeys(
        (
            "positions: 4.1.1-auto-offset-reset e 1",
            "positions: 4.1.1-auto-offset-reset l 1",
            "positions: 4.1.1-auto-offset-reset d1 1",
        ),
        "position() was called just before three more records were produced, and returned after that",
    ),
}
"""The reasons for the differences that the recordings explain."""

GROUPS_DIFFERENT: Final[dict[str, str]] = {}
"""The known differences between the model and real clusters."""
