"""A trace of a session in progress: a replay of its branch, from its start to the present moment, with a trace of one offset."""

from __future__ import annotations

from collections.abc import Sequence

from core.kafka.ids import TopicPartition
from core.lab.cluster import Cluster
from core.lab.history.incremental_task import STEPS_PER_CHECK, ShouldYield, never_yield
from core.lab.history.playable import PlayableFactory
from core.lab.history.position import PlayedAct, Position
from core.lab.history.replay_run import EventTap, ReplayRun
from core.lab.trace.record_trace import RecordTrace


class TraceTask:
    """The replay. `trace` is complete when the task has finished."""

    def __init__(self, start: PlayableFactory, acts: Sequence[PlayedAct], end: Position, tp: TopicPartition, offset: int) -> None:
        """Start the replay.

        Args:
            start: builds the playable in its initial state.
            acts: the acts of the branch.
            end: the position at which the trace ends.
            tp: the partition.
            offset: the offset.
        """
        self.trace = RecordTrace(tp, offset)
        self._end = end
        event_tap = EventTap(self.trace)
        self.replay_run = ReplayRun(start(event_tap), event_tap, acts)
        cluster = self.replay_run.cluster
        assert isinstance(cluster, Cluster), "a session plays a cluster"
        self.trace.attach(cluster)

    @property
    def progress(self) -> float:
        """The share that has been replayed, from 0 to 1."""
        whole = self._end.steps + self._end.acts
        return min(1.0, (self.replay_run.steps + self.replay_run.acts_done) / whole) if whole else 1.0

    def advance(self, should_yield: ShouldYield = never_yield) -> bool:
        """Run until `should_yield` returns True. Return whether the present moment is reached."""
        replay_run, end = self.replay_run, (self._end.steps, self._end.acts)
        count = 0
        while (replay_run.steps, replay_run.acts_done) < end and replay_run.step():
            count += 1
            if count % STEPS_PER_CHECK == 0 and should_yield():
                return False
        return True

    def cancel(self) -> bool:
        """Cancel the trace. There is nothing to undo."""
        return False
