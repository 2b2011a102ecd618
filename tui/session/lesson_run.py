"""A lesson in a session: does what the lesson's player asks for, and goes back to earlier steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import attrs

from core.kafka.errors import KafkaError
from core.lab.acts import Act
from core.lab.cluster import Cluster
from core.lab.history.branch import Branch
from core.lab.history.destination import Destination
from core.lab.history.incremental_task import do_nothing
from core.lab.history.position import Position
from core.sim.errors import ActRefused
from core.sim.repr_mixin import ReprMixin
from core.sim.units import SECOND
from scenarios.lessons.headless import time_of
from scenarios.lessons.phases import Phase
from scenarios.lessons.player import Player, Standing
from scenarios.running.runner import LiveMoment
from tui.session.playback import SPEEDS
from tui.session.session import Session

WALL_SECONDS: Final = 6
"""The time that a step in which virtual time passes takes at most on the screen, in seconds."""


MOST_ENTERS: Final = 8
"""The number of times that Enter is pressed for a step at most while steps are skipped."""


@attrs.frozen(repr=False)
class _Begun(ReprMixin):
    """The moment at which a step began."""

    standing: Standing
    position: Position
    branch: Branch


@attrs.frozen(repr=False)
class _Wait(ReprMixin):
    """A time that the lesson lets pass.

    Attributes:
        deadline: the latest end, in µs of virtual time.
        target: the end, in µs of virtual time.
        acts: the number of acts when the end was computed, and the branch. After another act, the end is computed anew.
    """

    deadline: int
    target: int
    acts: tuple[int, str]


class LessonRun:
    """A lesson that is played in a session. Virtual time passes only while the lesson or the person lets it pass."""

    def __init__(self, session: Session, player: Player) -> None:
        self.session: Final = session
        self.player: Final = player
        self._begun: dict[int, _Begun] = {}
        self._wait: _Wait | None = None
        self._waited_after: tuple[int, str] | None = None
        self._observed: tuple[int, int, int] | None = None

    def begin(self) -> None:
        """Begin the lesson, or go on with it after a step that has started the cluster again."""
        self.session.history.pause()
        if self.player.phase is Phase.AGAIN:
            self.player.started_again(self.moment)
        else:
            self.player.start(self.moment)
        self.settle()
        self._skip()

    def _skip(self) -> None:
        """Take the steps that the person has taken before: answer rightly, and do everything oneself."""
        player = self.player
        for _ in range(MOST_ENTERS * len(player.lesson.steps)):
            if player.now.index >= player.skip_to or player.phase in (Phase.AGAIN, Phase.STUCK, Phase.END):
                break
            self.enter(next((number for number, choice in enumerate(player.choices) if choice.right), 0))
        if player.phase is not Phase.AGAIN:
            player.skip_to = 0

    @property
    def moment(self) -> LiveMoment:
        """The current state of the cluster."""
        cluster = self.session.history.cluster
        assert isinstance(cluster, Cluster), "a lesson runs a cluster"
        return LiveMoment(cluster, {})

    # --- what the player asks for ------------------------------------------------------------------------------------

    def settle(self) -> bool:
        """Do what the player asks for, until it waits for the person or for time to pass. Return whether anything changed."""
        if self.session.history.task is not None:
            return False
        changed = False
        while True:
            self._note_beginning()
            player = self.player
            if player.phase is Phase.ACTS:
                player.acts_done(self.moment, self._perform(player.acts))
            elif player.phase is Phase.TIME:
                if not self._is_time_over():
                    return changed
                player.time_passed(self.moment)
            elif player.phase is not Phase.ACT or not self._has_moved():
                return changed
            elif not player.observe(self.moment):
                self._wait_for_effect()
                return changed
            elif self._wait is not None:
                self._stop_waiting()
            changed = True

    def _note_beginning(self) -> None:
        if self.player.now.index not in self._begun:
            history = self.session.history
            self._begun[self.player.now.index] = _Begun(self.player.now, history.replay_run.position, history.branch)

    def _has_moved(self) -> bool:
        """Return whether the cluster has moved since the player last observed it."""
        replay_run = self.session.history.replay_run
        here = (id(replay_run), replay_run.event_tap.seq, replay_run.cluster.now)
        moved, self._observed = here != self._observed, here
        return moved

    def _perform(self, acts: Sequence[Act]) -> str:
        """Perform acts. Return the reason if one of them was refused."""
        for number, act in enumerate(acts):
            try:
                self.session.history.do(act, joined=number > 0)
            except (ActRefused, KafkaError, ValueError) as refused:
                return f"{act.word} is refused: {refused}"
        return ""

    def _is_time_over(self) -> bool:
        """Let time pass. Return whether enough has passed."""
        history, step = self.session.history, self.player.step
        cluster = history.cluster
        assert isinstance(cluster, Cluster), "a lesson runs a cluster"
        acts = (history.replay_run.acts_done, history.branch.name)
        wait = self._wait
        if wait is None or wait.acts != acts:
            deadline = cluster.now + (step.run if step.until is None else step.within) if wait is None else wait.deadline
            target = deadline if step.until is None else time_of(cluster, step.until, deadline - cluster.now)
            wait = self._wait = _Wait(deadline, target, acts)
            history.limit = target
            seconds = (target - cluster.now) / SECOND
            self.session.playback.set_speed(next((speed for speed in SPEEDS if speed >= 1 and seconds <= speed * WALL_SECONDS), SPEEDS[-1]))
            self.session.playback.play()
        if cluster.now < wait.target:
            return False
        self._stop_waiting()
        return True

    def _wait_for_effect(self) -> None:
        """If the person has acted, and what the step waits for will follow after some time, let that time pass."""
        history, step = self.session.history, self.player.step
        cluster = history.cluster
        acts = (history.replay_run.acts_done, history.branch.name)
        done = self._acts_at_beginning()
        if not step.patience or step.wait_for is None or acts == done or acts == self._waited_after:
            if self._wait is not None and (acts == done or cluster.now >= self._wait.target):
                self._stop_waiting()
            return
        self._waited_after = acts
        assert isinstance(cluster, Cluster), "a lesson runs a cluster"
        target = time_of(cluster, step.wait_for, step.patience)
        self._wait = _Wait(target, target, acts)
        history.limit = target
        self.session.playback.play()

    def _stop_waiting(self) -> None:
        self._wait = None
        self.session.history.limit = None
        self.session.history.pause()
        self.session.playback.set_speed(1.0)

    # --- what the person does ----------------------------------------------------------------------------------------

    @property
    def remaining(self) -> int:
        """The virtual time that is still to pass before the lesson goes on, in µs; 0 if the lesson does not wait for time."""
        return 0 if self._wait is None else max(0, self._wait.target - self.session.history.cluster.now)

    def enter(self, choice: int, then: Callable[[], None] = do_nothing) -> None:
        """Handle Enter: go on, choose an answer, let the lesson act, or skip the time that passes. If the session has to go back for that,
        `then` is called when the lesson has gone on.
        """
        player = self.player
        if self.session.history.task is not None:
            return
        match player.phase:
            case Phase.READ:
                player.go_on(self.moment)
            case Phase.CHOOSE:
                player.choose(choice, self.moment)
            case Phase.ACT if self._wait is None:
                self._help(then)
            case Phase.TIME | Phase.ACT if self._wait is not None:
                self.session.history.run_until(self._wait.target)
        self.settle()

    def back(self, then: Callable[[], None]) -> bool:
        """Go back to the beginning of this step if the cluster has moved since, otherwise of the step before. Return False if there is none."""
        history, player = self.session.history, self.player
        if self._wait is not None:
            self._stop_waiting()
        here = history.replay_run.position
        spoken = [index for index in sorted(self._begun) if player.lesson.steps[index].say is not None]
        wanted = [index for index in spoken if index < player.now.index]
        this = self._begun.get(player.now.index)
        if player.phase is Phase.ACT and this is not None and this.position.place != here.place and not player.acts:
            wanted.append(player.now.index)
        if not wanted:
            return False
        self._return_to(wanted[-1], then)
        return True

    def _help(self, then: Callable[[], None]) -> None:
        """Do what the step waits for. If the person has acted in this step, in vain so far, begin the step once more before that."""

        def act() -> None:
            refused = self._perform(self.player.help())
            if refused:
                self.player.stuck = refused
            self.settle()
            then()

        history, index = self.session.history, self.player.now.index
        if (history.replay_run.acts_done, history.branch.name) == self._acts_at_beginning():
            act()
        else:
            self._return_to(index, act)

    def _acts_at_beginning(self) -> tuple[int, str]:
        """Return the number of acts after those that the lesson did at the beginning of this step, and the branch."""
        begun = self._begun[self.player.now.index]
        return (begun.position.acts + len(self.player.step.acts), begun.branch.name)

    def _return_to(self, index: int, then: Callable[[], None]) -> None:
        """Go back to the beginning of a step, and begin it once more."""
        history, player = self.session.history, self.player
        begun, here = self._begun[index], history.replay_run.position

        def arrived() -> None:
            if history.act_to_redo() is not None:
                history.start_branch()
            self._begun = {number: one for number, one in self._begun.items() if number < index}
            self._observed = None
            player.resume(begun.standing, self.moment)
            self.settle()
            then()

        if begun.branch is history.branch and begun.position.place == here.place:
            arrived()
        else:
            branch = None if begun.branch is history.branch else begun.branch
            history.go_to(Destination("an earlier step", position=begun.position), branch, arrived)
