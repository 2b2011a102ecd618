"""Opens a recorded session. The replay repeats the acts of the session at their times and compares every event with the log.

The session can then be stepped through, rewound, and branched like a session that was just played. If a different version of the program or
an edited line of the log leads to a different event, the replay stops, and the session ends before that event.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from core.kafka.errors import KafkaError
from core.kafka.events import KINDS, EventTuple, agree
from core.lab.act_sentences import sentence
from core.lab.acts import Act
from core.lab.history.incremental_task import STEPS_PER_CHECK, ShouldYield, never_yield
from core.lab.history.replay_run import ReplayRun
from core.sim.errors import ActRefused
from core.sim.events import kind_of, seq_of, time_of


class RecordedSession(Protocol):
    """A session from an event log (`scenarios.logs.recorded_session.RecordedSession`)."""

    @property
    def source(self) -> str:
        """The name of the log, for messages."""

    @property
    def acts(self) -> Sequence[tuple[int, Act]]:
        """The acts of the session, each with its virtual time, in µs."""

    @property
    def events(self) -> Sequence[EventTuple]:
        """All events of the session."""

    @property
    def end(self) -> int:
        """The virtual time at which the session ends, in µs."""


class LogReplayTask:
    """The replay of a recorded session. `differs` says where and how the replay differs from the log; empty if it does not."""

    def __init__(self, old: RecordedSession, replay_run: ReplayRun, events: Iterable[EventTuple]) -> None:
        """Prepare the replay.

        Args:
            old: the recorded session to replay.
            replay_run: a run of the recorded cluster. The run must be at its start.
            events: the events that `replay_run` has recorded so far.
        """
        self.replay_run = replay_run
        self.differs = ""
        self._recording = old
        self._compared = 0
        self._acts_done = 0
        for event in events:
            self._compare(event)
        self._sink_before = replay_run.event_tap.sink
        replay_run.event_tap.sink = self._on_event

    def _on_event(self, event: EventTuple) -> None:
        self._sink_before(event)
        self._compare(event)

    @property
    def progress(self) -> float:
        """The share of the events that have been replayed, from 0 to 1."""
        return self._compared / len(self._recording.events) if self._recording.events else 1.0

    def _compare(self, event: EventTuple) -> None:
        """Compare an event with the log."""
        events = self._recording.events
        if not self.differs:
            if self._compared < len(events) and not agree(events[self._compared], event):
                recorded = events[self._compared]
                self._stop_at_difference(_difference(recorded, event))
            elif self._compared >= len(events) and time_of(event) < self._recording.end:
                self._stop_at_difference(f"the log has only {len(events)} events")
        self._compared += 1

    def cancel(self) -> bool:
        """End the session after the last replayed event."""
        self._stop_at_difference("the replay stopped")
        self.replay_run.event_tap.sink = self._sink_before
        return True

    def _stop_at_difference(self, how: str) -> None:
        line = min(self._compared, len(self._recording.events)) + 2
        self.differs = f"{self._recording.source}:{line}: {how}; the session is shown up to that point"

    def advance(self, should_yield: ShouldYield = never_yield) -> bool:
        """Run until `should_yield` returns True. Return whether the log has ended or a difference has been found."""
        replay_run, acts = self.replay_run, self._recording.acts
        count = 0
        while not self.differs:
            target = acts[self._acts_done][0] if self._acts_done < len(acts) else self._recording.end
            due = replay_run.next_due()
            if due is not None and due <= target:
                replay_run.step()
                count += 1
                if count % STEPS_PER_CHECK == 0 and should_yield():
                    return False
            elif self._acts_done < len(acts):
                replay_run.move_clock(target)
                self._act()
            else:
                break
        if not self.differs:
            replay_run.move_clock(self._recording.end)
            if self._compared < len(self._recording.events):
                self._stop_at_difference(f"the replay does not produce event {self._compared + 1} of the log")
        replay_run.event_tap.sink = self._sink_before
        return True

    def _act(self) -> None:
        act = self._recording.acts[self._acts_done][1]
        self._acts_done += 1
        try:
            self.replay_run.do(act)
        except (ActRefused, KafkaError, ValueError) as refused:
            self._stop_at_difference(f"the replay refuses {act.word}: {refused}")


def _difference(recorded: EventTuple, event: EventTuple) -> str:
    """Return the difference between an event of the log and the event of the replay."""
    begin = f"in the replay, event {seq_of(recorded)}"
    if kind_of(recorded) != kind_of(event) or time_of(recorded) != time_of(event):
        return f"{begin} is not {_shortened_sentence(recorded)} but {_shortened_sentence(event)}"
    names = ("seq", "t", "cause", "kind", *KINDS[kind_of(event)].columns)
    name, one, other = next(each for each in zip(names, recorded, event, strict=True) if each[1] != each[2])
    return f"{begin}, {_shortened_sentence(event)}, differs: {name} is {one} in the log, {other} now"


def _shortened_sentence(event: EventTuple) -> str:
    words = sentence(event)
    return f"'{words[:60]}…'" if len(words) > 60 else f"'{words}'"
