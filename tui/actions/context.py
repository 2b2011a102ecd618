"""What an action is decided on: the frozen view, what is selected, and the pace. Built afresh whenever somebody asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs

from core.kafka.events import EventTuple
from core.kafka.health import UncleanElection, unclean_election
from core.kafka.ids import CONTROLLER
from core.kafka.settings import Value
from core.lab.acts import Act
from core.lab.spec import Pace
from core.lab.views.view import BrokerView, ClusterView, PartitionView
from core.sim.repr_mixin import ReprMixin

MOST_BROKERS: Final = 12
"""Other brokers that a question lists at most."""


@attrs.frozen(repr=False)
class ActionContext(ReprMixin):
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
        can_undo, can_redo: whether there is an act to undo, or to redo.
        built_by_hand: whether the cluster was built to be moved by hand, and never moves by itself.
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
    built_by_hand: bool = False
    can_undo: bool = False
    can_redo: bool = False

    @property
    def the_broker(self) -> BrokerView:
        """The selected broker, for actions that are impossible without one."""
        assert self.broker is not None
        return self.broker

    @property
    def the_partition(self) -> PartitionView:
        """The selected partition, for actions that are impossible without one."""
        assert self.partition is not None
        return self.partition

    def unclean_election(self, p: PartitionView) -> UncleanElection | None:
        """What comes of unclean election for a partition; None where it has a leader, or may not have one from outside the ISR."""
        view = self.view
        enabled = bool(self.setting("unclean.leader.election.enable", p.tp.topic))
        return unclean_election(p, view.up, enabled=enabled, zookeeper=self.on_zookeeper, checks_periodically=view.unclean_check_us >= 0)

    @property
    def on_zookeeper(self) -> bool:
        """Whether brokers are registered in ZooKeeper, and not with a controller of KRaft's."""
        return self.view.controller != CONTROLLER and not self.view.voters


@attrs.frozen(repr=False)
class TextPrompt(ReprMixin):
    """Something that is written before acting, such as a number.

    Attributes:
        name: under it what was written last stands there the next time.
        title, about: what is wanted.
        text: what stands there the first time.
        acts: what a text leads to; ValueError says what is wrong with it.
    """

    name: str
    title: str
    about: str
    text: str
    acts: Callable[[str], tuple[Act, ...]]


@attrs.frozen(repr=False)
class Option(ReprMixin):
    """One answer to a question: the key that chooses it, its words, the acts it leads to or the line to be written, why it is impossible now."""

    key: str
    label: str
    acts: tuple[Act, ...]
    note: str = ""
    refused: str | None = None
    line: TextPrompt | None = None


@attrs.frozen(repr=False)
class Question(ReprMixin):
    """What an action wants to know before it acts."""

    title: str
    about: str
    options: tuple[Option, ...]


def numbered(answers: list[tuple[str, tuple[Act, ...], str, str | None]]) -> tuple[Option, ...]:
    """Answers (label, acts, note, refusal) as options; the first nine are chosen by their number."""
    return tuple(
        Option(str(number) if number < 10 else "", label, wanted, note, refused)
        for number, (label, wanted, note, refused) in enumerate(answers, start=1)
    )
