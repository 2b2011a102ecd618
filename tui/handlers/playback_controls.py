"""The handler for the play, pause, step, and speed keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from core.kafka.events import DETAIL, EventTuple
from core.lab.act_sentences import sentence
from core.lab.history.event_buffer import LEVEL
from core.sim.events import kind_of, seq_of
from tui.handlers.screen_interface import ScreenInterface
from tui.panels.header import speed_word
from tui.session.playback import AS_FAST_AS_IT_CAN
from tui.session.session import Session

MAX_EVENTS_OF_STEP: Final = 2_000
"""The maximum number of events that are read for the summary of a step."""


def step_summary(events: Sequence[EventTuple]) -> str:
    """Return a summary of a step: its act, if it has one, and the first of its most notable events."""
    act = next((event for event in events if kind_of(event) == "act"), None)
    rest = [event for event in events if event is not act]
    told = [act] if act is not None else []
    if rest:
        told.append(max(rest, key=lambda event: LEVEL[kind_of(event)]))
    more = len(events) - len(told)
    return f"#{seq_of(events[-1])} " + ": ".join(map(sentence, told)) + (f" (and {more} more)" if more else "")


class PlaybackControls:
    """The handler for the play, pause, step, and speed keys."""

    def __init__(self, session: Session, screen: ScreenInterface) -> None:
        self.session = session
        self.screen = screen
        self._speed_before = 1.0
        self._stepped_from = -1  # the last event before the running step; -1 if no step is running

    def report_notices(self) -> None:
        """Show the next notice of the session, and the summary of a step that has finished."""
        if self.session.history.notices:
            self.screen.prompts.say(self.session.history.notices.pop(0), refused=True)
            self._stepped_from = -1
        self.report_step()

    def toggle_play(self) -> None:
        """Toggle between play and pause."""
        if self.session.playback.moving:
            self.session.history.pause()
        else:
            self.session.playback.play()
        self.screen.refresh_view()

    def step(self) -> None:
        """Go forward to the next event."""
        self._stepped_from = self.session.history.replay_run.event_tap.seq
        self.session.history.step()
        self.screen.refresh_view()

    def step_notable(self) -> None:
        """Go forward to the next notable event."""
        self._stepped_from = self.session.history.replay_run.event_tap.seq
        self.session.history.step_to_notable()
        self.screen.refresh_view()

    def report_step(self) -> None:
        """Show the summary of a finished step, because the changes that the step made are not necessarily visible in the panels."""
        if self._stepped_from < 0 or self.session.history.task_target is not None:
            return
        ring = self.session.history.event_buffer.ring(DETAIL)
        replay_run = self.session.history.replay_run
        before = max(self._stepped_from, replay_run.step_index.seq_before_step_of(replay_run.event_tap.seq))
        done = [event for event in ring.since(max(ring.first, ring.total - MAX_EVENTS_OF_STEP)) if seq_of(event) > before]
        self._stepped_from = -1
        if done:
            self.screen.prompts.say(step_summary(done))

    def faster(self) -> None:
        """Select the next higher speed."""
        self.session.playback.faster()
        self.screen.show_now()

    def slower(self) -> None:
        """Select the next lower speed."""
        self.session.playback.slower()
        self.screen.show_now()

    def full_speed(self) -> None:
        """Select the highest possible speed. If the highest speed is already selected, go back to the previous speed."""
        if self.session.playback.speed == AS_FAST_AS_IT_CAN:
            self.session.playback.set_speed(self._speed_before)
            self.screen.prompts.say(f"back to {speed_word(self.session.playback.speed)}")
        else:
            self._speed_before = self.session.playback.speed
            self.session.playback.set_speed(AS_FAST_AS_IT_CAN)
            self.screen.prompts.say(
                f"running as fast as possible; to return to the previous speed, press {self.screen.keymap.key('full-speed')} again"
            )
