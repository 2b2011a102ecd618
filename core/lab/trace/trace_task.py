"""A trace of a session in progress: a replay of the session's branch, from the start of the branch to the present moment, with a trace of
one offset.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.kafka.ids import TopicPartition
from core.lab.cluster import Cluster
from core.lab.history.playable import PlayableFactory
from core.lab.history.position import PlayedAct, Position
from core.lab.history.replay_run import BranchReplay
from core.lab.trace.record_trace import RecordTrace


class TraceTask(BranchReplay):
    """The replay.

    Attributes:
        trace: the trace, which is complete when the task has finished.
    """

    def __init__(self, start: PlayableFactory, acts: Sequence[PlayedAct], end: Position, tp: TopicPartition, offset: int) -> None:
        """Start the replay.

        Args:
            start: the function that builds the `Playable` in its initial state.
            acts: the acts that were performed in the branch.
            end: the position at which the trace ends.
            tp: the partition to trace.
            offset: the offset to trace.
        """
        self.trace = RecordTrace(tp, offset)
        super().__init__(start, acts, end, self.trace)
        cluster = self.replay_run.cluster
        assert isinstance(cluster, Cluster), "the session must run a Cluster"
        self.trace.attach(cluster)
