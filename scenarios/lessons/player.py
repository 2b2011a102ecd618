"""The state machine of a lesson. It knows the lesson's step, what the step waits for, and what was answered.

A player touches no cluster. Its host does what the player asks for (`phase`), and tells the player about it, with the moment at which the
values of texts and conditions are read:

    player.start(moment)
    ACTS   the host performs `player.acts`, and calls `acts_done`
    TIME   the host lets time pass, up to `player.step.run`, or until `player.step.until` holds, and calls `time_passed`
    AGAIN  the host starts the cluster again under `player.step.release`, and calls `started_again`
    READ   the person has read the text: `go_on`
    CHOOSE the person chooses an answer: `choose`
    ACT    whenever the cluster may have changed: `observe`; the person asks for help: `help`, which returns acts
    STUCK  the lesson cannot go on from here; `stuck` says why. The host goes back, and calls `resume`.
    END    the lesson is over
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs

from core.lab.acts import Act
from core.sim.units import format_duration
from scenarios.lessons.lesson import Choice, Lesson, LessonStep, Text
from scenarios.lessons.phases import Compared, Phase
from scenarios.lessons.places import Pointer
from scenarios.readings.reading import Moment, show


@attrs.frozen(repr=False)
class Standing:
    """The state of a player as a value. A player can go back to it.

    Attributes:
        index: the number of the step.
        phase: what the player waits for.
        said: the current text.
        revealed: the values below it, each with its name.
        point: the place on the screen that the text speaks of.
        table: the cells of the lesson's table: row, column, text.
        was: the values of the measures at the start.
        chosen: the answers to this step's question that were wrong, by their numbers.
        replied: what the lesson replied to the last answer or act.
        compared: the comparison at the end.
        ideas: what to try after the end.
        wrong: the number of wrong answers so far.
        helped: the number of acts that the lesson did instead of the person.
    """

    index: int = 0
    phase: Phase = Phase.READ
    said: str = ""
    revealed: tuple[tuple[str, str], ...] = ()
    point: Pointer | None = None
    table: tuple[tuple[str, str, str], ...] = ()
    was: tuple[str, ...] = ()
    chosen: tuple[int, ...] = ()
    replied: str = ""
    compared: tuple[Compared, ...] = ()
    ideas: tuple[str, ...] = ()
    wrong: int = 0
    helped: int = 0


def _shown_key(action: str) -> str:
    return f"<{action}>"


class Player:
    """A lesson that is being played.

    Attributes:
        lesson: the lesson.
        key: the function that returns the display name of an action's key.
        skip_to: the number of the step to which the host is to go on its own at the beginning, because the person has taken the steps before
            it already.
    """

    def __init__(self, lesson: Lesson, key: Callable[[str], str] = _shown_key, skip_to: int = 0) -> None:
        self.lesson: Final = lesson
        self.key = key
        self.skip_to = skip_to
        self.now = Standing(table=tuple((row, lesson.columns[0], row) for row in lesson.rows) if lesson.columns else ())
        self.stuck = ""
        self._measures = tuple(measure for step in lesson.steps for measure in step.compare)

    # --- what the host reads -----------------------------------------------------------------------------------------

    @property
    def step(self) -> LessonStep:
        """The current step."""
        return self.lesson.steps[self.now.index]

    @property
    def phase(self) -> Phase:
        """What the player waits for."""
        return Phase.STUCK if self.stuck else self.now.phase

    @property
    def acts(self) -> tuple[Act, ...]:
        """The acts that the host is to perform in the phase ACTS."""
        return self.step.acts

    @property
    def choices(self) -> tuple[Choice, ...]:
        """The answers of the question that is asked or was answered; empty if the step asks nothing."""
        return self.step.choices if self.phase in (Phase.CHOOSE, Phase.READ) else ()

    @property
    def table(self) -> tuple[tuple[str, ...], ...]:
        """The lesson's table without its headings, row by row. An empty cell has no value yet."""
        rows: dict[str, dict[str, str]] = {}
        for row, column, text in self.now.table:
            rows.setdefault(row, {})[column] = text
        return tuple((row, *(cells.get(column, "") for column in self.lesson.columns[1:])) for row, cells in rows.items())

    @property
    def waiting(self) -> str:
        """What the lesson says while time passes."""
        step = self.step
        if step.until is not None:
            return f"Time passes until {step.until.text}."
        return f"{format_duration(step.run)} pass."

    # --- what the host tells -----------------------------------------------------------------------------------------

    def start(self, moment: Moment) -> None:
        """Begin with the first step."""
        was = tuple(show(measure.term.take(moment), measure.term.type) for measure in self._measures)
        self.now = attrs.evolve(self.now, was=was)
        self._enter(0, moment)

    def started_again(self, moment: Moment) -> None:
        """Go on in the cluster that was started again."""
        self._after_start(moment)

    def acts_done(self, moment: Moment, refused: str = "") -> None:
        """Go on after the acts of the step. `refused` is the reason if one of them was refused."""
        if refused:
            self.stuck = refused
        else:
            self._after_acts(moment)

    def time_passed(self, moment: Moment) -> None:
        """Go on after the time of the step. Its condition must hold now."""
        step = self.step
        if step.until is not None and not step.until.holds(moment):
            self.stuck = f"{step.until.text} did not become true within {format_duration(step.within)}; now {step.until.got(moment)}"
        else:
            self._show(moment)

    def go_on(self, moment: Moment) -> None:
        """Go on after the person has read the text."""
        if self.phase is Phase.READ:
            self._enter(self.now.index + 1, moment)

    def choose(self, number: int, moment: Moment) -> None:
        """Take an answer by its number, from 0. After a wrong one, the question stays, together with the reply to the answer."""
        if self.phase is not Phase.CHOOSE:
            return
        choice = self.step.choices[number]
        reply = choice.reply.filled(moment, self.key)
        if choice.right:
            self.now = attrs.evolve(self.now, phase=Phase.READ, replied=reply)
        else:
            again = number in self.now.chosen
            chosen = self.now.chosen if again else (*self.now.chosen, number)
            self.now = attrs.evolve(self.now, chosen=chosen, replied=reply, wrong=self.now.wrong + (not again))

    def observe(self, moment: Moment) -> bool:
        """In the phase ACT, look whether the awaited condition holds. Return whether anything changed."""
        wait_for = self.step.wait_for
        if self.phase is not Phase.ACT or wait_for is None:
            return False
        if wait_for.holds(moment):
            self._enter(self.now.index + 1, moment)
            return True
        hint = next((hint.say.filled(moment, self.key) for hint in self.step.hints if hint.when.holds(moment)), "")
        changed = hint != self.now.replied
        self.now = attrs.evolve(self.now, replied=hint)
        return changed

    def help(self) -> tuple[Act, ...]:
        """Return the acts that bring about what the step waits for, because the person asked the lesson to do them."""
        if self.phase is not Phase.ACT:
            return ()
        self.now = attrs.evolve(self.now, helped=self.now.helped + 1)
        return self.step.answer

    def resume(self, standing: Standing, moment: Moment) -> None:
        """Begin the step of an earlier standing once more. The host has gone back to the moment at which that step began."""
        self.stuck = ""
        kept = attrs.evolve(standing, wrong=self.now.wrong, helped=self.now.helped)
        self.now = kept
        self._enter(kept.index, moment)

    # --- the parts of a step -----------------------------------------------------------------------------------------

    def _enter(self, index: int, moment: Moment) -> None:
        """Begin a step."""
        self.now = attrs.evolve(self.now, index=index, chosen=(), replied="")
        if self.step.release:
            self.now = attrs.evolve(self.now, phase=Phase.AGAIN)
        else:
            self._after_start(moment)

    def _after_start(self, moment: Moment) -> None:
        if self.step.acts:
            self.now = attrs.evolve(self.now, phase=Phase.ACTS)
        else:
            self._after_acts(moment)

    def _after_acts(self, moment: Moment) -> None:
        step = self.step
        if step.run or (step.until is not None and not step.until.holds(moment)):
            said = self._text(step.meanwhile, moment) or self.waiting
            self.now = attrs.evolve(self.now, phase=Phase.TIME, said=said, revealed=())
        else:
            self._show(moment)

    def _show(self, moment: Moment) -> None:
        """Check what must hold, fill the table, and say the text."""
        step = self.step
        for check in step.checks:
            if not check.holds(moment):
                self.stuck = f"the lesson expects {check.text}, but now {check.got(moment)}"
                return
        cells = {(row, column): text for row, column, text in self.now.table}
        for row, column, text in step.fill:
            cells[row, column] = text.filled(moment, self.key)
        table = tuple((row, column, text) for (row, column), text in cells.items())
        self.now = attrs.evolve(self.now, table=table, point=step.point or self.now.point)
        if step.say is None and not step.ends:
            self._enter(self.now.index + 1, moment)
            return
        phase = Phase.END if step.ends else Phase.CHOOSE if step.choices else Phase.READ if step.wait_for is None else Phase.ACT
        revealed = tuple((name, text.filled(moment, self.key)) for name, text in step.reveal)
        self.now = attrs.evolve(self.now, phase=phase, said=self._text(step.say, moment), revealed=revealed, point=step.point)
        if step.ends:
            self.now = attrs.evolve(
                self.now, compared=self._compared(moment), ideas=tuple(idea.filled(moment, self.key) for idea in step.ideas)
            )
        elif phase is Phase.ACT:
            self.observe(moment)

    def _text(self, text: Text | None, moment: Moment) -> str:
        return "" if text is None else text.filled(moment, self.key)

    def _compared(self, moment: Moment) -> tuple[Compared, ...]:
        """Return the measures that changed since the start."""
        found = []
        for measure, was in zip(self._measures, self.now.was, strict=True):
            now = show(measure.term.take(moment), measure.term.type)
            if now != was:
                found.append(Compared(measure.name, was, now, measure.because.filled(moment, self.key)))
        return tuple(found)
