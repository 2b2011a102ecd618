"""The questions that can be asked, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import attrs

from scenarios.questions import replication, restarts, settings, weak_points
from scenarios.questions.asked import Answer, AskedCluster


@attrs.frozen
class Question:
    """A question.

    Attributes:
        name: the word by which one asks.
        takes: what follows the word, as usage text; empty if nothing does.
        title: the question as a person would ask it.
        answer: the function that answers. It raises ValueError if what follows the word makes no sense.
        runs: whether the answer comes from running a copy of the cluster.
        check: the function that raises ValueError if what follows the word makes no sense, without answering.
    """

    name: str
    takes: str
    title: str
    answer: Callable[[AskedCluster, Sequence[str]], Answer]
    runs: bool = False
    check: Callable[[AskedCluster, Sequence[str]], object] = lambda asked, words: None


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
