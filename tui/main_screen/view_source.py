"""Takes one frozen view per frame. While the session is idle (paused, with no running task), the view of a small cluster is exact. All
other views are incremental.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from core.kafka.ids import TopicPartition
from core.lab.views.cluster_view import ClusterView
from tui.session.session import Session

MOST_EXACT: Final = 500
"""If a cluster has at most this number of partitions, its view is exact while the session is idle."""

MAX_AT_ONCE: Final = 150
"""In a larger cluster, the maximum number of partitions that one frame updates in addition to those on the screen."""


class ViewSource:
    """The source of a session's views.

    Attributes:
        view: the view that was taken last.
        shown: the partitions whose offsets are on the screen.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.view: ClusterView = session.history.view()
        self.shown: Sequence[TopicPartition] = ()

    def take(self, chosen: TopicPartition | None, *, wide: bool = False) -> ClusterView:
        """Take a view of the session's current state.

        While the session is idle, the view of a small cluster is exact, and the view of a large cluster is updated over several frames.
        While the session is not idle, the view is incremental, with exact offsets for the partitions on the screen.

        Args:
            chosen: the selected partition, whose offsets are always exact.
            wide: whether the page may show the offsets of any partition.
        """
        count, session, exactly = len(self.view.partitions), self.session, not self.session.playback.moving
        also = () if chosen is None else (chosen,)
        if exactly and count <= MOST_EXACT:
            self.view = session.history.view()
        elif exactly:
            self.view = session.frame_view(also, most=MAX_AT_ONCE)
        else:
            self.view = session.frame_view(also, shown=None if wide else self.shown, most=None if count <= MOST_EXACT else MAX_AT_ONCE)
        return self.view

    def refresh_offsets(self, shown: Sequence[TopicPartition], chosen: TopicPartition | None, *, wide: bool = False) -> None:
        """If the screen now shows partitions whose offsets the last view did not update, take another view."""
        self.shown = shown
        if self.view.version >= 0 and self.session.is_view_stale(shown):
            self.take(chosen, wide=wide)

    @property
    def has_stale(self) -> bool:
        """Whether the view of a large cluster is not yet fully updated."""
        return len(self.view.partitions) > MOST_EXACT and self.session.is_view_stale()
