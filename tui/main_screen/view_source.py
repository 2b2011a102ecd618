"""Where the frozen views come from: one for each frame. A small cluster at rest gets an exact view, any other one an incremental view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from core.kafka.ids import TopicPartition
from core.lab.views.view import ClusterView
from tui.session.session import Session

MOST_EXACT: Final = 500
"""Partitions of a cluster that is looked at exactly when nothing moves."""

MAX_AT_ONCE: Final = 150
"""Partitions of a larger one that are looked at within a frame, besides those that are shown."""


class ViewSource:
    """Takes views of a session.

    Attributes:
        view: the last one taken.
        shown: the partitions whose offsets are on the screen.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.view: ClusterView = session.view()
        self.shown: Sequence[TopicPartition] = ()

    def take(self, chosen: TopicPartition | None, *, wide: bool = False) -> ClusterView:
        """The cluster now: an exact view of a small cluster at rest, else an incremental view with exact offsets where they are shown.

        A large cluster at rest is brought up to date in parts, some partitions in each frame.

        Args:
            chosen: the selected partition, whose offsets are always shown.
            wide: whether offsets of any partition are.
        """
        count, session, exactly = len(self.view.partitions), self.session, not self.session.playback.moving
        also = () if chosen is None else (chosen,)
        if exactly and count <= MOST_EXACT:
            self.view = session.view()
        elif exactly:
            self.view = session.frame_view(also, most=MAX_AT_ONCE)
        else:
            self.view = session.frame_view(also, shown=None if wide else self.shown, most=None if count <= MOST_EXACT else MAX_AT_ONCE)
        return self.view

    def refresh_offsets(self, shown: Sequence[TopicPartition], chosen: TopicPartition | None, *, wide: bool = False) -> None:
        """Another view, if partitions are to be shown whose offsets were left for later."""
        self.shown = shown
        if self.view.version >= 0 and self.session.is_view_stale(shown):
            self.take(chosen, wide=wide)

    @property
    def has_stale(self) -> bool:
        """Whether a large cluster that rests has not been looked at in full."""
        return len(self.view.partitions) > MOST_EXACT and self.session.is_view_stale()
