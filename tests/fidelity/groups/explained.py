"""The single values in which the model differs from the recordings of groups, by `measure: where`, each with its reason."""

from __future__ import annotations

from typing import Final

GROUPS_EXPLAINED: Final = {
    **dict.fromkeys(
        (
            "generations: 2.8.2-assignor-cooperative-sticky gc1",
            "assignments: 2.8.2-assignor-cooperative-sticky c1 generation 7",
            "assignments: 2.8.2-assignor-cooperative-sticky c1 generation 8",
            "callbacks: 2.8.2-assignor-cooperative-sticky c1",
            "assignments: 2.8.2-assignor-cooperative-sticky c2 generation 7",
            "assignments: 2.8.2-assignor-cooperative-sticky c2 generation 8",
            "assignments: 2.8.2-assignor-cooperative-sticky c2 generation 9",
            "assignments: 2.8.2-assignor-cooperative-sticky c2 generation 10",
            "callbacks: 2.8.2-assignor-cooperative-sticky c2",
            "assignments: 2.8.2-assignor-cooperative-sticky c3 generation 7",
            "assignments: 2.8.2-assignor-cooperative-sticky c3 generation 8",
            "assignments: 2.8.2-assignor-cooperative-sticky c3 generation 9",
            "callbacks: 2.8.2-assignor-cooperative-sticky c3",
            "assignments: 2.8.2-assignor-cooperative-sticky c4 generation 7",
            "assignments: 2.8.2-assignor-cooperative-sticky c4 generation 8",
            "assignments: 2.8.2-assignor-cooperative-sticky c4 generation 9",
            "assignments: 2.8.2-assignor-cooperative-sticky c4 generation 10",
            "callbacks: 2.8.2-assignor-cooperative-sticky c4",
        ),
        "the SyncGroup of c2 in generation 2, and of c2 and c4 in generation 6, arrived after the next rebalance had begun; in the model, all members "
        "are equally fast",
    ),
    "processed records: 4.1.1-max-poll-interval-classic c2": "the real producer sent its records one by one, and poll() returned the first record before the others arrived",
    "committed offsets: 4.1.1-slow-member-eager gsle tsle-3": "c3, which owns the partition at the end, does not commit; the last commit of c2 was 0.4 s earlier, before the next record",
    **dict.fromkeys(
        (
            "generations: 2.8.2-offsets-below-min-isr bm-second-3",
            "generations: 2.8.2-offsets-below-min-isr bm-classic-2",
            "assignments: 2.8.2-offsets-below-min-isr n1 generation 263",
            "callbacks: 2.8.2-offsets-below-min-isr n1",
            "assignments: 2.8.2-offsets-below-min-isr k1 generation 274",
            "callbacks: 2.8.2-offsets-below-min-isr k1",
            "assignments: 2.8.2-offsets-below-min-isr n2 generation 263",
            "callbacks: 2.8.2-offsets-below-min-isr n2",
            "assignments: 2.8.2-offsets-below-min-isr k2 generation 274",
            "callbacks: 2.8.2-offsets-below-min-isr k2",
        ),
        "the number of rebalances until the ISR has grown depends on the speed of the machine: about seven per second, and six in the model; the recorded log is incomplete",
    ),
    "times: 4.1.1-offsets-below-min-isr bm-classic-2 line 2": "the real broker needed 8.4 s from its start until it was unfenced; in the model, it needs 4 s",
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
            "positions: 4.1.1-auto-offset-reset e 1",
            "positions: 4.1.1-auto-offset-reset l 1",
            "positions: 4.1.1-auto-offset-reset d1 1",
        ),
        "position() was called just before three more records were produced, and returned after that",
    ),
}
"""The reasons for the differences that the recordings explain."""

GROUPS_DIFFERENT: Final[dict[str, str]] = dict.fromkeys(
    (
        "committed offsets: 4.1.1-slow-member-coop gslow-coop tslow-coop-0",
        "committed offsets: 4.1.1-slow-member-coop gslow-coop tslow-coop-2",
    ),
    "a cooperative member rejoins in the poll in which it has given up partitions, not in the next one",
)
"""The known differences between the model and real clusters."""
