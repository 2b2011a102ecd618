"""Plays a lesson without a screen: with given answers, and with the lesson's own acts where it waits for those of a person."""

from __future__ import annotations

from collections.abc import Callable

from core.kafka.errors import KafkaError
from core.kafka.features import finalized
from core.kafka.release import Release
from core.lab.acts import Act
from core.lab.cluster import Cluster
from core.sim.errors import ActRefused
from scenarios.conditions.conditions import Condition, ages
from scenarios.errors import ScriptError
from scenarios.lessons.lesson import Lesson
from scenarios.lessons.phases import Phase
from scenarios.lessons.player import Player
from scenarios.releases import release_named
from scenarios.running.runner import LiveMoment


def time_of(cluster: Cluster, condition: Condition, within: int) -> int:
    """Return the virtual time at which a condition becomes true in a cluster that is left alone, in µs, or that at which the time limit
    ends. The cluster itself does not move.
    """
    ahead = Cluster.restore(cluster.snapshot())
    deadline = ahead.now + within
    moment, ageing, seen = LiveMoment(ahead, {}), ages(condition), -1
    while True:
        if ageing or ahead.journal.seq != seen:
            seen = ahead.journal.seq
            if condition.holds(moment):
                return ahead.now
        coming = ahead.next_time()
        if coming is None or coming > deadline:
            return deadline
        ahead.run_until(coming)


def lesson_cluster(lesson: Lesson, release: str, sink: Callable[[tuple[object, ...]], None] | None = None) -> Cluster:
    """Build the cluster of a lesson under one of its releases.

    Raises:
        ScriptError: the cluster cannot be built.
    """
    try:
        named: Release = finalized(release_named(release), lesson.spec.features)
        return Cluster(lesson.spec, named, lesson.seed, sink)
    except (ValueError, KafkaError) as wrong:
        raise ScriptError(lesson.steps[0].place, "cluster", " ".join(str(wrong).split())) from None


class HeadlessLesson:
    """A lesson that plays itself.

    Attributes:
        player: the player.
        cluster: the cluster, which a step can replace.
        texts: everything that the lesson has said, in order.
    """

    def __init__(self, lesson: Lesson) -> None:
        self.player = Player(lesson)
        self.cluster = lesson_cluster(lesson, lesson.releases[0])
        self.texts: list[str] = []

    @property
    def moment(self) -> LiveMoment:
        """The current state of the cluster."""
        return LiveMoment(self.cluster, {})

    def play(self, *, wrong_first: bool = False) -> Player:
        """Play to the end. With `wrong_first`, give every wrong answer before the right one.

        Raises:
            ScriptError: the lesson cannot go on: an act was refused, a check failed, or a condition did not become true.
        """
        player = self.player
        player.start(self.moment)
        while player.phase is not Phase.END:
            self._tell()
            match player.phase:
                case Phase.ACTS:
                    player.acts_done(self.moment, self.perform(player.acts))
                case Phase.TIME:
                    step = player.step
                    self.cluster.run_until(
                        self.cluster.now + step.run if step.until is None else time_of(self.cluster, step.until, step.within)
                    )
                    player.time_passed(self.moment)
                case Phase.AGAIN:
                    self.cluster = lesson_cluster(player.lesson, player.step.release)
                    player.started_again(self.moment)
                case Phase.READ:
                    player.go_on(self.moment)
                case Phase.CHOOSE:
                    self._answer(wrong_first)
                case Phase.ACT:
                    step, before = player.step, player.now.index
                    refused = self.perform(player.help())
                    if step.patience and step.wait_for is not None:
                        self.cluster.run_until(time_of(self.cluster, step.wait_for, step.patience))
                    player.observe(self.moment)
                    if refused or player.now.index == before:
                        waited = player.step.wait_for
                        assert waited is not None
                        raise self._wrong(refused or f"'answer' does not bring about {waited.text}; now {waited.got(self.moment)}")
                case Phase.STUCK:
                    raise self._wrong(player.stuck)
        self._tell()
        return player

    def perform(self, acts: tuple[Act, ...]) -> str:
        """Perform acts. Return the reason if one of them was refused."""
        for act in acts:
            try:
                self.cluster.do(act)
            except (ActRefused, KafkaError, ValueError) as refused:
                return f"{act.word} is refused: {refused}"
        return ""

    def _answer(self, wrong_first: bool) -> None:
        choices = self.player.choices
        if wrong_first:
            for number, choice in enumerate(choices):
                if not choice.right:
                    self.player.choose(number, self.moment)
                    self._tell()
        self.player.choose(next(number for number, choice in enumerate(choices) if choice.right), self.moment)

    def _tell(self) -> None:
        now = self.player.now
        for text in (now.said, now.replied):
            if text and text not in self.texts[-2:]:
                self.texts.append(text)

    def _wrong(self, problem: str) -> ScriptError:
        number = self.player.now.index + 1
        return ScriptError(self.player.step.place, f"lesson[{number}]", problem)
