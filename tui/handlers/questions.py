"""Asks questions about the cluster on the screen, as `isrlab ask` does, and shows the answers in a dialog."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.strip import Strip

from tui.actions.context import Option, Question
from tui.handlers.screen_interface import ScreenInterface
from tui.panels.events import colored
from tui.rendering.palette import Palette
from tui.rendering.rows import Row, wrap
from tui.session.session import Session

if TYPE_CHECKING:
    from scenarios.questions.all_questions import AnswerTask
    from scenarios.questions.all_questions import Question as ClusterQuestion
    from scenarios.questions.asked import Answer

KEYS: Final = "1234567890abcdefgh"
"""The keys of the questions, in their order."""

BULLET: Final = "· "

MOST_RUN: Final = 5_000
"""The number of partitions up to which the playground runs a copy of the cluster for an answer; for more, the command line does. The copy is
run in slices, but it is made at once, as it is for a step back.
"""


class ClusterQuestions:
    """The handler that asks which question a person has, and what it is about, and shows the answer."""

    def __init__(self, session: Session, screen: ScreenInterface) -> None:
        self.session = session
        self.screen = screen

    def choose(self) -> None:
        """List the questions."""
        from scenarios.questions.all_questions import QUESTIONS

        questions = list(QUESTIONS.values())
        options = tuple(Option(key, one.title, (), one.name) for key, one in zip(KEYS, questions, strict=False))

        def chosen(option: Option | None) -> None:
            if option is not None:
                self._ask(questions[options.index(option)])

        about = (
            "Answers follow from the state of the cluster at this moment, or from running a copy of it. The session itself does not change."
        )
        self.screen.prompts.ask(Question("Ask about this cluster", about, options), chosen)

    def _ask(self, question: ClusterQuestion) -> None:
        """Ask what the question is about, if it needs that, and show the answer."""
        if question.runs and len(self.screen.view.partitions) > MOST_RUN:
            self.screen.prompts.say(
                f"the cluster is too large to run a copy here; save it (S), and run isrlab ask FILE {question.name}", refused=True
            )
            return
        if not question.takes:
            self._show(question, "")
            return

        asked = self.session.asked()

        def wrong(text: str) -> str | None:
            try:
                question.check(asked, text.split())
            except ValueError as refusal:
                return str(refusal)
            return None

        self.screen.prompts.ask_text(
            question.title, f"{question.name} {question.takes}", self._subject(question), wrong, lambda text: self._show(question, text)
        )

    def _subject(self, question: ClusterQuestion) -> str:
        """Return what is selected on the screen, as far as a question can be about it."""
        context = self.screen.context()
        broker, partition = context.broker, context.partition
        if "BROKERS" in question.takes and not question.takes.startswith("["):
            return f"{'lose ' if 'lose' in question.takes else ''}{broker.id}" if broker is not None else ""
        if "PARTITION" in question.takes and not question.takes.startswith("["):
            return f"hw {partition.tp}" if partition is not None else ""
        if "GROUP" in question.takes:
            return next((group.name for group in self.screen.view.groups), "")
        return ""

    def _show(self, question: ClusterQuestion, about: str) -> None:
        """Find the answer, in slices if a copy of the cluster must be run, and show it."""

        def found(task: AnswerTask) -> None:
            answer, paint = task.answer, self.screen.paint
            if answer is None:
                self.screen.prompts.say(task.refusal, refused=True)
            else:
                self.screen.prompts.show_details(question.title, lambda width: paint_answer(answer, paint, width))

        self.session.answer(question, about.split(), found)
        self.screen.refresh_view()


def paint_answer(answer: Answer, paint: Palette, width: int) -> list[Strip]:
    """Paint an answer: the verdict, what it follows from, and the command that shows it."""
    lines = []
    itself = any(line.startswith(BULLET) for line in answer.lines)  # Some answers are lists with headings of their own.
    for number, words in enumerate((answer.verdict, *answer.lines, answer.how)):
        style = paint.strong if number == 0 else paint.muted if number == len(answer.lines) + 1 else paint.text
        bullet = "" if number in (0, len(answer.lines) + 1) or (itself and not words.startswith(BULLET)) else BULLET
        words = words.removeprefix(bullet)
        for part, line in enumerate(wrap(words, width - len(bullet)) or [""]):
            lines.append(Row().add(bullet if not part else " " * len(bullet), paint.muted).join(colored(line, paint, style)).strip(width))
    return lines
