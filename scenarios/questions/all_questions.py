"""The questions that can be asked, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import attrs

from core.lab.history.incremental_task import ShouldYield, never_yield
from scenarios.questions import replication, restarts, settings, weak_points
from scenarios.questions.asked import Answer, AskedCluster, Pauses, Slices


@attrs.frozen
class Question:
    """A question.

    Attributes:
        name: the word by which one asks.
        takes: what follows the word, as usage text; empty if nothing does.
        title: the question as a person would ask it.
        reply: the function that answers. It raises ValueError if what follows the word makes no sense. If the answer comes from running a
            copy of the cluster, the function returns a search that can pause.
        runs: whether the answer comes from running a copy of the cluster.
        check: the function that raises ValueError if what follows the word makes no sense, without answering.
    """

    name: str
    takes: str
    title: str
    reply: Callable[[AskedCluster, Sequence[str]], Answer | Slices]
    runs: bool = False
    check: Callable[[AskedCluster, Sequence[str]], object] = lambda asked, words: None

    def answer(self, asked: AskedCluster, words: Sequence[str]) -> Answer:
        """Return the answer.

        Raises:
            ValueError: what follows the word makes no sense, or a copy of the cluster cannot run.
        """
        task = AnswerTask(self, asked, words)
        task.advance()
        if task.answer is None:
            raise ValueError(task.refusal)
        return task.answer


class AnswerTask:
    """The search for the answer to a question, in slices.

    Attributes:
        answer: the answer; None until it is found.
        refusal: why there is no answer; empty if there is one, or may be.
    """

    def __init__(self, question: Question, asked: AskedCluster, words: Sequence[str]) -> None:
        self.answer: Answer | None = None
        self.refusal = ""
        self._asked: Final = asked
        self._search: Final = self._find(question, asked, words)

    @property
    def progress(self) -> float:
        """The share of the search that is complete, from 0 to 1."""
        return self._asked.progress

    def advance(self, should_yield: ShouldYield = never_yield) -> bool:
        """Search until `should_yield` returns True. Return whether the search has ended."""
        try:
            for _ in self._search:
                if should_yield():
                    return False
        except ValueError as refused:
            self.refusal = str(refused)
        return True

    def cancel(self) -> bool:
        """Give the search up."""
        self._search.close()
        return False

    def _find(self, question: Question, asked: AskedCluster, words: Sequence[str]) -> Pauses:
        """Set the answer."""
        reply = question.reply(asked, words)
        self.answer = reply if isinstance(reply, Answer) else (yield from reply)


QUESTIONS: Final[dict[str, Question]] = {
    question.name: question
    for question in (
        Question(
            "may-i-stop",
            "BROKERS",
            "May I stop these brokers now, and which could I stop instead?",
            restarts.may_i_stop,
            check=AskedCluster.brokers,
        ),
        Question(
            "rolling-restart",
            "[BROKERS]",
            "In which order do I restart the brokers, and how long must each wait?",
            restarts.rolling_restart,
            runs=True,
            check=restarts.brokers_or_all,
        ),
        Question(
            "what-if",
            "lose BROKERS",
            "What happens if these brokers die?",
            restarts.what_if_lose,
            runs=True,
            check=restarts.brokers_to_lose,
        ),
        Question("what-breaks", "", "What is the least that must fail until something breaks?", weak_points.what_breaks),
        Question("zones", "", "Which zones (racks) can fail?", restarts.zones),
        Question(
            "who-holds",
            "hw|lso PARTITION",
            "Who holds back the HW or the LSO of a partition?",
            replication.who_holds,
            check=replication.partition_named,
        ),
        Question("why-lag", "GROUP", "Why is this consumer group behind?", replication.why_lag, check=replication.group_named),
        Question("why-under-replicated", "[PARTITION]", "Why are partitions under-replicated?", replication.why_under_replicated),
        Question("is-acks-all-safe", "[TOPIC]", "Can a write that was acknowledged with acks=all be lost?", settings.is_acks_all_safe),
        Question("which-setting-stalls", "", "Which setting decides how long clients wait?", settings.which_setting_stalls),
        Question("before-upgrade", "", "Can a rolling upgrade begin?", settings.before_upgrade),
    )
}
"""The questions, keyed by name."""
