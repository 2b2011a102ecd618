"""Carrying out actions of the registry: acts for the cluster, questions, and the pace of time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from core.kafka.errors import KafkaError
from core.kafka.events import DETAIL, EventTuple
from core.kafka.ids import TopicPartition
from core.lab.acts import Act, CreateTopic, SetPace
from core.lab.history.rings import LEVEL
from core.lab.sentences import sentence
from core.lab.spec import Pace
from core.sim.errors import ActRefused
from tui import dialogs
from tui.actions import BY_ID
from tui.motion import AS_FAST_AS_IT_CAN
from tui.panels.header import speed_word
from tui.refusals import READ_ONLY
from tui.screen import MainScreen
from tui.situation import Line, Option, Question

MOST_OF_A_STEP: Final = 2_000
"""Events of one step that are looked at."""


def step_in_words(events: Sequence[EventTuple]) -> str:
    """What a step did: its act, if it was one, and the most notable of what happened, the first of several."""
    act = next((event for event in events if event[3] == "act"), None)
    rest = [event for event in events if event is not act]
    told = [act] if act is not None else []
    if rest:
        told.append(max(rest, key=lambda event: LEVEL[event[3]]))
    more = len(events) - len(told)
    return f"#{events[-1][0]} " + ": ".join(map(sentence, told)) + (f" (and {more} more)" if more else "")


class Acting(MainScreen):
    """The part of the main screen that acts."""

    def action_do(self, name: str) -> None:
        """Do the action of that id, or say why not."""
        action = BY_ID[name]
        situation = self.situation()
        reason = action.refuse(situation)
        if reason is not None:
            self.say(reason, refused=True)
        elif action.page:
            self.open_page(action.page)
        elif action.call is not None:
            getattr(self, f"_{action.call}")()
        elif action.ask is not None:
            self.put(action.ask(situation))
        elif action.build is not None:
            self._carry_out(action.build(situation))

    def put(self, question: Question | Line) -> None:
        """Ask something, and do what the answer says."""
        if isinstance(question, Line):
            self._put_line(question)
            return

        def answered(option: Option | None) -> None:
            if option is None:
                return
            if option.refused is not None:
                self.say(f"{option.label}: {option.refused}", refused=True)
            elif option.line is not None:
                self._put_line(option.line)
            else:
                self._carry_out(option.acts)

        self.app.push_screen(dialogs.Ask(question, self.paint), answered)

    def _put_line(self, line: Line) -> None:
        def wrong(text: str) -> str | None:
            try:
                line.acts(text)
            except ValueError as refusal:
                return str(refusal)
            return None

        def written(text: str) -> None:
            self.written[line.name] = text
            self._carry_out(line.acts(text))

        self.write(line.title, line.about, self.written.get(line.name, line.text), wrong, written)

    def _carry_out(self, wanted: tuple[Act, ...]) -> None:
        if self.stage.read_only:
            self.say(READ_ONLY, refused=True)
            return
        said, branch = "", self.session.branch
        for number, act in enumerate(wanted):
            try:
                seq = self.session.do(act, joined=number > 0)
                self._acted(act)
            except (ActRefused, KafkaError, ValueError) as refusal:
                self.refresh_view()
                self.say(str(refusal), refused=True)
                return
            said = self.session.tell(seq) or act.word
        if self.session.branch is not branch:
            said = f"{said}; you are on {self.session.branch.name} now, {branch.name} keeps the old future ({self.key('jump')})"
        self.refresh_view()
        self.say(said)

    def _acted(self, act: Act) -> None:
        """What follows of an act on the screen."""
        self.unsaved += 1
        if isinstance(act, CreateTopic):
            self.choose(partition=TopicPartition(act.topic, 0))
        elif isinstance(act, SetPace):
            if act.pace == Pace.BY_HAND:
                self.session.pause()
            else:
                self.session.motion.play()

    def _toggle_play(self) -> None:
        if self.session.motion.moving:
            self.session.pause()
        else:
            self.session.motion.play()
        self.refresh_view()

    def _step(self) -> None:
        self._stepped_from = self.session.tape.outlet.seq
        self.session.step()
        self.refresh_view()

    def _step_notable(self) -> None:
        self._stepped_from = self.session.tape.outlet.seq
        self.session.step_to_notable()
        self.refresh_view()

    def _tell_step(self) -> None:
        """Once a step has been taken, name what it did: it may have happened where no panel shows it."""
        if self._stepped_from < 0 or self.session.seeking is not None:
            return
        ring = self.session.rings.of(DETAIL)
        course = self.session.tape
        before = max(self._stepped_from, course.end_before(course.outlet.seq))
        done = [event for event in ring.since(max(ring.first, ring.total - MOST_OF_A_STEP)) if event[0] > before]
        self._stepped_from = -1
        if done:
            self.say(step_in_words(done))

    def _faster(self) -> None:
        self.session.motion.faster()
        self.show_now()

    def _slower(self) -> None:
        self.session.motion.slower()
        self.show_now()

    def _full_speed(self) -> None:
        if self.session.motion.speed == AS_FAST_AS_IT_CAN:
            self.session.motion.set_speed(self._before_full)
            self.say(f"back to {speed_word(self.session.motion.speed)}")
        else:
            self._before_full = self.session.motion.speed
            self.session.motion.set_speed(AS_FAST_AS_IT_CAN)
            self.say(f"as fast as it can; {self.key('full-speed')} again goes back")
