"""The session: a history with playback and with the data for the screens. This module does not depend on widgets."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from core.kafka.events import NOTABLE
from core.kafka.ids import TopicPartition
from core.kafka.settings.settings import Settings
from core.lab.act_sentences import sentence
from core.lab.cluster import Cluster
from core.lab.history.branch import EventLogWriter
from core.lab.history.event_buffer import EventRing
from core.lab.history.history import History
from core.lab.history.log_replay import LogReplayTask
from core.lab.history.playable import ClusterReports, PlayableFactory
from core.lab.history.position import PlayedAct
from core.lab.history.replay_run import BranchReplay
from core.lab.history.search import SearchTask
from core.lab.history.travel import TravelTask
from core.lab.trace.trace_task import TraceTask
from core.lab.views.cluster_view import ClusterView
from core.lab.views.incremental_view import IncrementalView
from core.lab.views.view_builder import lags
from core.sim.events import seq_of
from tui.session.playback import SLICE, Playback
from tui.session.status import RunSoFar, SessionStatus

if TYPE_CHECKING:
    from core.lab.trace.record_trace import RecordTrace
    from scenarios.logs.log_header import Header
    from scenarios.questions.all_questions import AnswerTask, Question
    from scenarios.questions.asked import AskedCluster


class Session:
    """The history of a cluster, with playback.

    Attributes:
        history: the cluster and its past, with branches and bookmarks.
        playback: the playback that advances virtual time.
    """

    def __init__(self, start: PlayableFactory, *, log: EventLogWriter | None = None, budget: float = SLICE) -> None:
        """Start playing at speed 1.

        Args:
            start: the function that builds the cluster or scenario to play.
            log: the writer of the event log, or None if no log is being written.
            budget: the maximum time of one slice of work, in seconds.
        """
        self.history = History(start, log=log, clock=time.process_time)
        self.playback = Playback(self.history, budget)
        self._incremental_view: IncrementalView | None = None
        self._settings: tuple[Settings, EventRing, int, Settings] | None = None

    @property
    def reports(self) -> ClusterReports:
        """The frozen views and reports of the cluster at the current moment. Pages read these, never the cluster itself."""
        return self.history.cluster

    def asked(self) -> AskedCluster:
        """Return the cluster as one about which questions can be asked. What it knows of the cluster is of the current moment."""
        from scenarios.questions.asked import AskedCluster

        cluster = self.history.cluster
        assert isinstance(cluster, Cluster), "a session runs a cluster"
        return AskedCluster(cluster, "this cluster")

    def answer(self, question: Question, words: Sequence[str], then: Callable[[AnswerTask], None]) -> None:
        """Start to answer a question about the cluster at the current moment. Virtual time stands still meanwhile. When the answer is
        found, or the question is refused, `then` is called."""
        from scenarios.questions.all_questions import AnswerTask

        self.history.cancel_task()
        answering = AnswerTask(question, self.asked(), words)
        self.history.start_task(question.name, answering, lambda: then(answering))

    @property
    def task_verb(self) -> str:
        """The verb that describes the running task. In the header, `task_target` follows the verb."""
        match self.history.task:
            case TravelTask() | LogReplayTask():
                return "going to"
            case None | SearchTask():
                return "searching for"
            case TraceTask():
                return "tracing"
            case BranchReplay():
                return "writing"
            case _:
                return "answering"

    def write_log(self, path: Path, header: Header, then: Callable[[str], None]) -> None:
        """Start to write this branch, up to its end, as an event log. When the log is complete or has failed, `then` is called with an
        empty string or the error message.

        Raises:
            InputError: the file cannot be written.
        """
        from scenarios.logs.branch_log import BranchLog

        self.history.pause()
        self.history.record_branch_end()
        writing = BranchLog(self.history.start, self.history.branch, path, header)
        self.history.start_task(path.name, writing, lambda: then(writing.failed))

    def trace_record(self, tp: TopicPartition, offset: int, then: Callable[[RecordTrace], None]) -> None:
        """Start to trace an offset, from the start of this branch to the current moment. When the trace is complete, `then` is called."""
        self.history.pause()
        replay_run = self.history.replay_run
        tracing = TraceTask(self.history.start, replay_run.acts, replay_run.position, tp, offset)
        self.history.start_task(f"{tp}@{offset}", tracing, lambda: then(tracing.trace))

    def event_sentence(self, seq: int) -> str:
        """Return the sentence that describes an event, or an empty string if the event is not in memory."""
        event = self.history.event_buffer.find(seq)
        return sentence(event) if event is not None else ""

    def played_act_sentence(self, played: PlayedAct) -> str:
        """Return the sentence that describes an act on this branch. The act can be before or after the current moment."""
        event = next((event for event in self.history.branch.act_events if seq_of(event) == played.seq), None)
        return sentence(event) if event is not None else played.act.word

    def settings(self) -> Settings:
        """Return a copy of the current settings, which does not change when the settings change later."""
        ring = self.history.event_buffer.ring(NOTABLE)  # settings change only through acts, and acts are notable events
        live, known = self.history.cluster.settings, self._settings
        if known is None or known[0] is not live or known[1] is not ring or known[2] != ring.total:
            shared = {id(each): each for each in (live.release, live.clock)}
            known = self._settings = (live, ring, ring.total, copy.deepcopy(live, shared))
        return known[3]

    def status(self) -> SessionStatus:
        """Return the current status."""
        replay_run = self.history.replay_run
        return SessionStatus(
            playing=self.playback.playing,
            moving=self.playback.moving,
            speed=self.playback.speed,
            reached=self.playback.reached,
            task_target=self.history.task_target,
            task_verb=self.task_verb,
            progress=self.history.progress,
            branch=self.history.branch.name,
            branches=len(self.history.branches),
            end=self.history.end,
            in_the_past=self.history.in_the_past,
            by_hand=replay_run.by_hand,
            stepwise=replay_run.playable.stepwise,
            finished=replay_run.playable.finished,
            can_undo=self.history.act_to_undo() is not None,
            can_redo=self.history.act_to_redo() is not None,
        )

    def run_so_far(self) -> RunSoFar:
        """Return the progress of this session, which the other run in a comparison must match."""
        replay_run = self.history.replay_run
        return RunSoFar(
            replay_run.steps,
            tuple(replay_run.acts[: replay_run.acts_done]),
            replay_run.next_due(),
            replay_run.playable.stepwise,
            self.playback.moving,
        )

    def frame_view(
        self, also: Iterable[TopicPartition] = (), *, shown: Collection[TopicPartition] | None = None, most: int | None = None
    ) -> ClusterView:
        """Return the view for a frame (`IncrementalView.view`).

        This method rebuilds only the parts of the view that events have changed since the last frame.
        """
        cluster = self.history.cluster
        if not isinstance(cluster, Cluster):
            return cluster.view()
        if self._incremental_view is None or self.history.on_event is None or not self._incremental_view.is_of(cluster):
            self._incremental_view = IncrementalView(cluster)
            self.history.on_event = self._incremental_view.on_event
        return self._incremental_view.view(also, shown=shown, most=most)

    def lags(self) -> dict[int, float] | None:
        """For each running broker, return the largest lag of the broker's replicas, in records.

        Return None if the session does not play a `Cluster`.
        """
        return lags(self.history.cluster) if isinstance(self.history.cluster, Cluster) else None

    def is_view_stale(self, some: Iterable[TopicPartition] | None = None) -> bool:
        """Whether the view of the last frame is out of date, for the whole cluster or for any of the given partitions."""
        incremental_view = self._incremental_view
        if incremental_view is None or self.history.on_event is None or not incremental_view.is_of(self.history.cluster):
            return False
        return incremental_view.is_stale if some is None else incremental_view.any_stale(some)

    def dispose(self) -> None:
        """Release all large objects after the session has ended."""
        self.history.dispose()
        self._incremental_view = self._settings = None
