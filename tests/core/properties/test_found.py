"""Timelines that broke something once, each with what it is about."""

from __future__ import annotations

from core import acts
from core.release import RELEASES
from tests.core.properties.search import watched
from tests.core.properties.timelines import Timeline


def test_a_fetch_of_the_former_epoch_that_is_fenced_is_tried_again() -> None:
    """Before 3.6 a shrink raises the epoch of a leader that stays: the fetch that waits there is fenced when its follower is in the new epoch already.

    Only a follower fenced in the epoch it asked in gives up (`AbstractFetcherThread#onPartitionFenced`).
    """
    timeline = Timeline(3, (1,), 0, 500, ((0, acts.Kill(1)),))
    for release in ("2.1", "2.8", "3.3"):
        watched(timeline, RELEASES[release])
