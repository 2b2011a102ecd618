"""What an action is decided on: the frozen view, what is selected, and the pace. Built afresh whenever somebody asks."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from core.acts import Act
from core.journal.events import EventTuple
from core.settings import Value
from core.spec import Pace
from core.spelled_out import SpelledOut
from core.view import BrokerView, ClusterView, PartitionView


@attrs.frozen(repr=False)
class Situation(SpelledOut):
    """The moment somebody wants to act in.

    Attributes:
        view: the cluster.
        broker, partition, event: what is selected.
        focus: the panel that has the keys: `brokers`, `grid`, `events` or `timeline`.
        playing: whether virtual time goes on.
        speed: virtual seconds per wall second.
        pace: whether the cluster moves by itself.
        setting: the value in force of a setting, for a topic or None for the whole cluster.
        overridden: whether a topic has its own value for a setting.
        in_the_past: whether the branch was lived further than this moment.
        key: the key of an action, by its id, as people read it.
        page: the screen that is open beside the overview; empty: the overview.
        read_only: whether nobody may act.
    """

    view: ClusterView
    broker: BrokerView | None
    partition: PartitionView | None
    event: EventTuple | None
    focus: str
    playing: bool
    speed: float
    pace: Pace
    setting: Callable[[str, str | None], Value]
    overridden: Callable[[str, str], bool]
    in_the_past: bool = False
    key: Callable[[str], str] = str
    page: str = ""
    read_only: bool = False


@attrs.frozen(repr=False)
class Option(SpelledOut):
    """One answer to a question: the key that chooses it, its words, the acts it leads to, why it is impossible now."""

    key: str
    label: str
    acts: tuple[Act, ...]
    note: str = ""
    refused: str | None = None


@attrs.frozen(repr=False)
class Question(SpelledOut):
    """What an action wants to know before it acts."""

    title: str
    about: str
    options: tuple[Option, ...]
