"""The state that actions depend on, and the questions and text prompts that actions show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs

from core.kafka.events import EventTuple
from core.kafka.health import UncleanElection, unclean_election
from core.kafka.ids import CONTROLLER
from core.kafka.settings.setting import Value
from core.lab.acts import Act
from core.lab.spec import Pace
from core.lab.views.broker_view import BrokerView
from core.lab.views.cluster_view import ClusterView
from core.lab.views.partition_view import PartitionView
from core.sim.repr_mixin import ReprMixin
from scenarios.releases import release_named

MOST_BROKERS: Final = 12
"""The maximum number of brokers that a question lists in addition to the selected broker."""


@attrs.frozen(repr=False)
class ActionContext(ReprMixin):
    """The state of the session at the time of an action.

    Attributes:
        view: the frozen state of the cluster.
        broker, partition, event: the selected broker, partition, and event, or None.
        focus: the panel that has the keyboard focus: `brokers`, `grid`, `events`, or `timeline`.
        playing: whether virtual time is advancing.
        speed: the number of virtual seconds per wall second.
        pace: whether the cluster runs on its own or the user steps it by hand.
        setting: the function that returns the effective value of a setting for a topic, or for the whole cluster if the topic is None.
        overridden: the function that returns whether a topic has its own value for a setting.
        in_the_past: whether the branch continues after this moment.
        key: the function that returns the display name of an action's key, by the action's id.
        page: the screen that is open; empty for the overview.
        read_only: whether the session refuses acts.
        can_undo, can_redo: whether there is an act to undo, or to redo.
        built_by_hand: whether the cluster was built with the pace `by-hand`, and therefore never runs on its own.
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
        """The selected broker. Actions use this property only if a broker is selected."""
        assert self.broker is not None
        return self.broker

    @property
    def the_partition(self) -> PartitionView:
        """The selected partition. Actions use this property only if a partition is selected."""
        assert self.partition is not None
        return self.partition

    def unclean_election(self, p: PartitionView) -> UncleanElection | None:
        """Return the outcome of an unclean election in a partition.

        Return None if the partition has a leader, or if unclean election is not allowed.
        """
        view = self.view
        enabled = bool(self.setting("unclean.leader.election.enable", p.tp.topic))
        return unclean_election(
            p, view.up, enabled=enabled, zookeeper=self.on_zookeeper, applied=release_named(view.release).applies_unclean_setting
        )

    @property
    def on_zookeeper(self) -> bool:
        """Whether brokers register in ZooKeeper rather than with a KRaft controller."""
        return self.view.controller != CONTROLLER and not self.view.voters


@attrs.frozen(repr=False)
class TextPrompt(ReprMixin):
    """A prompt for a line of text that an action needs, such as a number.

    Attributes:
        name: the key under which the last text is remembered for the next prompt.
        title, about: the heading and explanation of the prompt.
        text: the initial text of the first prompt.
        acts: the function that converts the text to acts, or raises ValueError if the text is invalid.
    """

    name: str
    title: str
    about: str
    text: str
    acts: Callable[[str], tuple[Act, ...]]


@attrs.frozen(repr=False)
class Option(ReprMixin):
    """An answer to a question: its key, its label, its note, and either its acts or a further text prompt.

    If the answer is impossible now, `refused` is the reason.
    """

    key: str
    label: str
    acts: tuple[Act, ...]
    note: str = ""
    refused: str | None = None
    line: TextPrompt | None = None


@attrs.frozen(repr=False)
class Question(ReprMixin):
    """A question that an action asks before it acts."""

    title: str
    about: str
    options: tuple[Option, ...]


def numbered(answers: list[tuple[str, tuple[Act, ...], str, str | None]]) -> tuple[Option, ...]:
    """Convert answers (label, acts, note, refusal) to options. The first nine options have the keys 1 to 9."""
    return tuple(
        Option(str(number) if number < 10 else "", label, wanted, note, refused)
        for number, (label, wanted, note, refused) in enumerate(answers, start=1)
    )
