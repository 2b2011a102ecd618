"""Single steps of the protocol, in a cluster that is moved by hand: what they ask for, and when they are impossible."""

from __future__ import annotations

import re

from core.kafka.broker.broker_state import BrokerState
from core.lab import acts
from core.lab.acts import Act
from core.lab.spec import Pace
from core.lab.views.view import PartitionView
from tui.actions.context import ActionContext, Option, Question, TextPrompt
from tui.actions.refusals import needs_broker, needs_partition
from tui.rendering.numbers import count_of
from tui.rendering.rows import in_a_sentence


def toggle(context: ActionContext) -> tuple[Act, ...]:
    """By hand, or by itself again."""
    return (acts.SetPace(str(Pace.TIMELINE if context.pace is Pace.BY_HAND else Pace.BY_HAND)),)


def toggled(context: ActionContext) -> str:
    """What the toggle would do now."""
    if context.pace is Pace.BY_HAND:
        return "virtual time goes on; fetchers and loads run again."
    return "virtual time stands still; followers fetch and clients produce only when you say so."


def cannot_toggle(context: ActionContext) -> str | None:
    """Only a running cluster with one KRaft controller is turned."""
    if context.built_by_hand:
        return "this scenario is by hand from its start to its end"
    if context.view.voters:
        return "a running cluster with a quorum of controllers cannot be turned to by hand: its voters elect by timers of their own"
    if context.on_zookeeper:
        return "a running cluster with ZooKeeper cannot be turned to by hand: its sessions live by pings; choose release 3.3 or later, or a scenario that is by hand, as e1-data-loss"
    return None


def needs_by_hand(context: ActionContext) -> str | None:
    """Single fetches are for a cluster that is moved by hand."""
    if context.pace is not Pace.BY_HAND:
        return f"the cluster runs by itself; {context.key('by-hand')} turns it to by hand"
    return None


def no_step(context: ActionContext) -> str | None:
    """A step is the selected broker's."""
    return needs_by_hand(context) or needs_broker(context)


def no_round(context: ActionContext) -> str | None:
    """A round needs a leader, and a follower that lives."""
    reason = needs_by_hand(context) or needs_partition(context)
    if reason is not None:
        return reason
    partition = context.partition
    assert partition is not None
    if partition.offline:
        return f"nobody leads {partition.tp}"
    return None if followers(partition) else f"no follower of {partition.tp} lives"


def followers(partition: PartitionView) -> list[int]:
    """The followers that live, in the order of the replicas."""
    return [broker for broker in partition.replicas if broker != partition.leader and partition.copy_on(broker).alive]


def fetch_round(context: ActionContext) -> TextPrompt:
    """Every follower's fetch arrives at the leader, then each is answered with so many records."""
    partition = context.partition
    assert partition is not None
    leader, all_of_them = partition.leader, followers(partition)
    names = [f"b{broker}" for broker in all_of_them]
    who = in_a_sentence(names)
    each = "that many records" if len(names) == 1 else "as many records as you write for each"
    example = " ".join("45678"[: len(names)])

    def wanted(text: str) -> tuple[Act, ...]:
        words = re.split(r"[\s,;]+", text) if text else ["all"] * len(names)
        if len(words) != len(names):
            raise ValueError(
                f"{who}: write {len(names)} number{'' if len(names) == 1 else 's'}, for example {example}; nothing: all records"
            )
        counts = {broker: None if word == "all" else count_of(word) for broker, word in zip(all_of_them, words, strict=True) if word != "-"}
        if not counts:
            raise ValueError("nobody would fetch")
        arrive = [acts.Arrive(broker, leader) for broker in counts]
        return (*arrive, *(acts.Answer(broker, leader, count) for broker, count in counts.items()))

    return TextPrompt(
        "round",
        f"{who} fetch from b{leader}",
        f"Their requests arrive, then they are answered with {each}, for example {example}. "
        "Nothing: all there is; - leaves a follower out. Other partitions of the same fetch get at most as many.",
        "",
        wanted,
    )


def step(context: ActionContext) -> Question:
    """One step of the selected broker."""
    broker = context.broker
    assert broker is not None
    dead = "its process does not run" if broker.state is BrokerState.STOPPED else None
    one = broker.id

    def counted(name: str, title: str, act: type[acts.Fetch] | type[acts.Answer]) -> TextPrompt:
        def wanted(text: str) -> tuple[Act, ...]:
            return (act(one, records=count_of(text) if text else None),)

        return TextPrompt(name, title, "At most so many records of a partition; nothing: all there is.", "", wanted)

    options = (
        Option("f", f"b{one} fetches …", (), "asked and answered at once, with as many records as you say", dead, counted("fetch", f"b{one} fetches", acts.Fetch)),
        Option("r", f"b{one}'s fetch arrives", (acts.Arrive(one),), "and waits at the leader", dead),
        Option(
            "a", f"b{one}'s fetch is answered …", (), "log and HW as they are now", dead,
            counted("answer", f"b{one}'s fetch is answered", acts.Answer),
        ),
        Option("l", f"the answer to b{one} is lost", (acts.Answer(one, lost=True),), "the leader knows, the follower does not", dead),
        Option("x", f"the controller fences b{one}", (acts.Fence(one),), "its session has expired"),
        Option("b", f"b{one} restarts at once", (acts.Bounce(one),), "the controller does not notice", dead),
        Option("w", f"b{one} writes its checkpoint", (acts.Checkpoint(one),), "high watermarks to disk", dead),
        Option("i", f"b{one} checks its ISRs", (acts.CheckIsr(one),), "drops who has not caught up", dead),
    )  # fmt: skip
    return Question(f"b{one} by hand", "One step, carried out at once.", options)
