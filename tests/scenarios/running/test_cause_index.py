"""The causes of all events of a run, in little memory."""

from __future__ import annotations

import random

from scenarios.running.cause_index import EVENTS_PER_BLOCK, CauseIndex


def test_every_cause_is_found_and_takes_little_memory() -> None:
    dice, index = random.Random(3), CauseIndex()
    causes = [max(0, seq - dice.choice((1, 1, 1, 2, 5, 9, seq))) for seq in range(1, 2 * EVENTS_PER_BLOCK + 100)]
    for cause in causes:
        index.append(cause)
    assert [index[seq] for seq in range(1, len(causes) + 1)] == causes
    assert sum(map(len, index._blocks)) < 3 * 2 * EVENTS_PER_BLOCK
