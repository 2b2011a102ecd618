"""Compares this session with up to three other runs side by side, and marks the differences.

The other runs perform the acts of the session with other settings or under another release, or they are other branches of the session. They go
on and back with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

import attrs
from textual.strip import Strip

from core.kafka.errors import KafkaError
from core.kafka.release import RELEASES
from core.lab.history.branch import Branch
from core.lab.history.parallel_run import ParallelRun
from core.lab.history.playable import PlayableFactory
from core.sim.journal import null_sink
from core.sim.units import SECOND, format_clock
from scenarios.errors import InputError
from scenarios.running.client_summary import ClientSummary, Felt
from tui.actions.context import Option, Question
from tui.pages.compare_painting import Column, paint_compare
from tui.pages.page import Page
from tui.rendering.rows import Row, rule, wrap
from tui.session.status import RunSoFar
from tui.session.time_budget import within

if TYPE_CHECKING:
    from scenarios.variations.variation import VariedRun

BUDGET: Final = 0.010
"""The maximum time per frame that the page spends on the other runs, in seconds."""

BEHIND: Final = SECOND // 2
"""The runs say that they are catching up if they are at least this far behind the session, in µs."""

MOST_OTHERS: Final = 3
"""The number of runs beside the session."""

ABOUT: Final = (
    "Compare this session with up to three other runs, which perform the same script and acts, and go on and back with it: with other settings "
    "(for example min.insync.replicas=1, or acks=0,all), under another Kafka release, or another branch of this session. The screen shows what "
    "clients felt in each run, marks differences, and shows the first event that differs. To choose a run, press ⏎; to change a setting, press &."
)


@attrs.define
class OtherRun:
    """A run beside the session. `settings` are the values that differ, by their words."""

    run: ParallelRun
    settings: tuple[tuple[str, str], ...] = ()


class ComparePage(Page):
    """The page that compares runs. The key Enter chooses another run, and ↑ and ↓ scroll."""

    name: ClassVar[str] = "compare"
    wide: ClassVar[bool] = True
    calm: ClassVar[bool] = False

    others: tuple[OtherRun, ...] = ()
    _own: ParallelRun | None = None
    """A run without changes, which knows what clients have felt in the session."""
    _goal: tuple[int, RunSoFar] | None = None
    """The moment of the session to which all runs advance before they are shown, so that they are shown in step."""
    _columns: tuple[Column, ...] = ()
    _arrived = False

    def lines(self, width: int, height: int) -> list[Strip]:
        """Advance the other runs toward this moment for at most the time budget of a frame, and return the lines to show."""
        screen, paint = self.screen, self.paint
        session = screen.session
        if not self.others or self._own is None:
            return [
                rule("Side by side", "", width, paint.title_focused, paint.faint, paint.muted),
                *(Row().add(f" {line}", paint.text).strip(width) for line in wrap(ABOUT, width - 2)),
            ]
        now, run = screen.view.now, session.run_so_far()
        if (
            self._goal is None
            or self._goal[0] > now
            or self._goal[1].steps > run.steps
            or run.acts[: len(self._goal[1].acts)] != self._goal[1].acts
        ):
            self._goal, self._columns = (now, run), ()
        goal, so_far = self._goal
        runs = [self._own, *(other.run for other in self.others)]
        arrived = [each.advance_to(goal, so_far.steps, so_far.acts, within(BUDGET / len(runs))) for each in runs]
        present = (goal, so_far.steps, len(so_far.acts)) == (now, run.steps, len(run.acts))
        if all(arrived) or not self._columns:
            self._columns = self._column_of_each(goal, settled=all(arrived) and present and not run.moving)
        self._arrived = all(arrived) and present
        if all(arrived):
            self._goal = now, run
        notes = self._notes(goal)
        if not self._arrived:
            late = min(each.now for each in runs)
            if now - late >= BEHIND:
                notes.insert(0, f"The runs are catching up: they are at {format_clock(late)} of {format_clock(now)}.")
            screen.call_after_refresh(screen.show_now)
        painted, _ = paint_compare(self._columns, notes, paint, (width, height), self.top)
        return painted

    def _column_of_each(self, goal: int, *, settled: bool) -> tuple[Column, ...]:
        """Return what the runs are like at a virtual time in µs. `settled` is whether the session stands still there."""
        assert self._own is not None
        session, view = self.screen.session, self.screen.view
        run = session.run_so_far()
        still = settled and (run.stepwise or run.next_due is None or run.next_due > goal)
        columns = [Column(self._here(), view if view.now == goal == self._own.now else self._own.view(), felt=self._felt(self._own))]
        for other in self.others:
            each = other.run
            parted = each.compare(session.history.event_buffer, settled=still and each.ended_before(goal) is None)
            columns.append(Column(each.words, each.view(), other.settings, self._felt(each), parted))
        return tuple(columns)

    def _notes(self, goal: int) -> list[str]:
        """Return which branches have ended, and which acts were refused in a run."""
        notes: list[str] = []
        for each in (other.run for other in self.others):
            ended = each.ended_before(goal)
            if ended is not None:
                notes.insert(0, f"{each.words} ends at {format_clock(ended)}.")
            notes += [
                f"{played.act.word} at {format_clock(played.time)} was refused in {each.words}: {reason}"
                for played, reason in each.refused[-3:]
            ]
        return notes

    def _felt(self, run: ParallelRun) -> Felt:
        """Return what clients have felt in a run until now."""
        assert isinstance(run.observer, ClientSummary)
        return run.observer.felt(run.now, run.view())

    def _here(self) -> str:
        session = self.screen.session
        if any(other.settings for other in self.others):
            return "this session"
        return f"Kafka {self.screen.view.release}" + (f", {session.history.branch.name}" if len(session.history.branches) > 1 else "")

    def move(self, key: str) -> bool:
        """Scroll through the partitions."""
        by = {"up": -1, "down": 1, "pageup": -10, "pagedown": 10, "home": -100_000}.get(key)
        if by is None:
            return False
        self.top = max(0, min(self.top + by, len(self.screen.view.partitions) - 1))
        return True

    def enter(self) -> bool:
        """Ask for a run to compare with."""
        screen = self.screen
        session, loaded = screen.session, screen.loaded
        choices: list[tuple[Option, Callable[[], None]]] = []
        full = f"{MOST_OTHERS} runs are beside the session already" if len(self.others) >= MOST_OTHERS else None
        makers: list[tuple[str, str, Callable[[], ParallelRun]]] = []
        for branch in session.history.branches:
            if branch is not session.history.branch:
                makers.append((branch.name, f"ends at {format_clock(branch.end.time)}", partial(_branch_of, session.history.start, branch)))
        for name in reversed(RELEASES):
            if name != loaded.release.name:
                start = loaded.under(RELEASES[name])
                make = partial(ParallelRun, f"Kafka {name}", start, observe=ClientSummary)
                makers.append((f"Kafka {name}", "the same script under this release", make))
        setting = Option("s", "a changed setting …", (), "for example min.insync.replicas=1", refused=full)
        choices.append((setting, self.what_if))
        if self.others:
            choices.append((Option("c", "nothing", (), "take all runs away"), lambda: self._compare_with(())))
        for number, (words, note, made) in enumerate(makers, start=1):
            option = Option(str(number) if number < 10 else "", words, (), note, refused=full)
            choices.append((option, lambda made=made: self._compare_with((*self.others, OtherRun(made())))))  # type: ignore[misc]
        options = tuple(option for option, _ in choices)
        question = Question("Compare with", "Choose a run. From now on, it advances with this session, and goes back with it.", options)

        def chosen(option: Option | None) -> None:
            if option is not None:
                choices[options.index(option)][1]()

        screen.prompts.ask(question, chosen)
        return True

    def what_if(self) -> None:
        """Ask for a setting that is different in another run, and compare with this run."""
        room = MOST_OTHERS - len(self.others)
        if not room:
            self.screen.prompts.say(f"{MOST_OTHERS} runs are beside the session already; press ⏎ and c to take them away", refused=True)
            return

        def wrong(text: str) -> str | None:
            try:
                self._varied(text, room)
            except InputError as refusal:
                return refusal.lines[0]
            return None

        about = (
            "Write settings by Kafka's names, or acks, release, replication-factor. Several values (acks=0,all) make several runs; several settings "
            f"apply together (acks=1 min.insync.replicas=1). There is room for {room} run{'' if room == 1 else 's'}."
        )
        self.screen.prompts.ask_text(
            "What if a setting were different", about, "min.insync.replicas=1", wrong, lambda text: self._add(self._varied(text, room))
        )

    def _varied(self, text: str, room: int) -> list[VariedRun]:
        """Read the settings that a person has written.

        Raises:
            InputError: a setting or a value is not valid, or the cluster cannot have it.
        """
        from scenarios.variations.variation import VariedRun, read_variations

        loaded = self.screen.loaded
        if not text.split():
            raise InputError("write a setting and its value, for example min.insync.replicas=1")
        varied = [VariedRun.of(each, loaded.spec, loaded.release) for each in read_variations(text.split(), room, beside=True)]
        for run in varied:
            try:
                run.spec.check()
                loaded.varied(run)(null_sink)
            except (ValueError, KafkaError) as refusal:
                raise InputError(f"{run.name}: {refusal}") from None
        return varied

    def _add(self, varied: Sequence[VariedRun]) -> None:
        """Compare with further runs, which have other settings."""
        added = []
        for number, each in enumerate(varied, len(self.others) + 2):
            run = ParallelRun(f"run {number}", self.screen.loaded.varied(each), change=each.act, observe=ClientSummary)
            added.append(OtherRun(run, each.values))
        self._compare_with((*self.others, *added))

    def _compare_with(self, others: tuple[OtherRun, ...]) -> None:
        self.top = 0
        self.others = others
        self._goal = None
        if self._own is None:
            loaded = self.screen.loaded
            self._own = ParallelRun("this session", loaded.under(loaded.release), observe=ClientSummary)
        self.screen.show_now()


def _branch_of(start: PlayableFactory, branch: Branch) -> ParallelRun:
    return ParallelRun(branch.name, start, acts=branch.acts, end=branch.end.time, observe=ClientSummary)
