"""The single protocol steps that the user can take at the pace `by-hand`, with their questions and conditions."""

from __future__ import annotations

import re

from core.kafka.broker.broker_state import BrokerState
from core.lab import acts
from core.lab.acts import Act
from core.lab.spec import Pace
from core.lab.views.partition_view import PartitionView
from tui.actions.context import ActionContext, Option, Question, TextPrompt
from tui.actions.refusals import needs_broker, needs_partition
from tui.rendering.numbers import count_of
from tui.rendering.rows import in_a_sentence


def toggle(context: ActionContext) -> tuple[Act, ...]:
    """Return the act that switches the pace to `by-hand`, or back to `timeline`."""
    return (acts.SetPace(str(Pace.TIMELINE if context.pace is Pace.BY_HAND else Pace.BY_HAND)),)


def toggled(context: ActionContext) -> str:
    """Describe what `toggle` would do now."""
    if context.pace is Pace.BY_HAND:
        return "virtual time runs; fetchers and loads resume."
    return "virtual time is paused; followers fetch and clients produce only when you tell them to."


def cannot_toggle(context: ActionContext) -> str | None:
    """Return the reason why the pace cannot change, or None. The pace can change only in a cluster with a single KRaft controller."""
    if context.built_by_hand:
        return "this scenario runs by hand from start to end"
    if context.view.voters:
        return "a running cluster with a controller quorum cannot be stepped by hand, because its voters hold elections on their own timers"
    if context.on_zookeeper:
        return "a running cluster with ZooKeeper cannot be stepped by hand, because its sessions depend on pings; choose release 3.3 or later, or a by-hand scenario such as e1-data-loss"
    return None


def needs_by_hand(context: ActionContext) -> str | None:
    """Refuse the action unless the pace is `by-hand`."""
    if context.pace is not Pace.BY_HAND:
        return f"the cluster runs on its own; to step it by hand, press {context.key('by-hand')}"
    return None


def no_step(context: ActionContext) -> str | None:
    """Return the reason why the selected broker cannot take a single step, or None."""
    return needs_by_hand(context) or needs_broker(context)


def no_round(context: ActionContext) -> str | None:
    """Return the reason why a fetch round is impossible, or None. A fetch round needs a leader and a live follower."""
    reason = needs_by_hand(context) or needs_partition(context)
    if reason is not None:
        return reason
    partition = context.partition
    assert partition is not None
    if partition.offline:
        return f"{partition.tp} has no leader"
    return None if followers(partition) else f"no follower of {partition.tp} is up"


def followers(partition: PartitionView) -> list[int]:
    """Return the live followers in replica order."""
    return [broker for broker in partition.replicas if broker != partition.leader and partition.replica_on(broker).alive]


def fetch_round(context: ActionContext) -> TextPrompt:
    """Ask how many records each follower gets in a fetch round.

    In a round, first the fetches of all followers arrive at the leader, and then the leader answers each of them.
    """
    partition = context.partition
    assert partition is not None
    leader, all_of_them = partition.leader, followers(partition)
    names = [f"b{broker}" for broker in all_of_them]
    who = in_a_sentence(names)
    each = "the number of records that you enter" if len(names) == 1 else "the number of records that you enter for that follower"
    example = " ".join("45678"[: len(names)])

    def wanted(text: str) -> tuple[Act, ...]:
        words = re.split(r"[\s,;]+", text) if text else ["all"] * len(names)
        if len(words) != len(names):
            raise ValueError(
                f"{who}: enter {len(names)} number{'' if len(names) == 1 else 's'}, for example {example}, or nothing for all records"
            )
        counts = {broker: None if word == "all" else count_of(word) for broker, word in zip(all_of_them, words, strict=True) if word != "-"}
        if not counts:
            raise ValueError("no follower is left to fetch")
        arrive = [acts.Arrive(broker, leader) for broker in counts]
        return (*arrive, *(acts.Answer(broker, leader, count) for broker, count in counts.items()))

    return TextPrompt(
        "round",
        f"{who} fetch from b{leader}",
        f"Each fetch arrives at the leader, which answers with {each}, for example {example}. "
        "To return all records, leave the line empty. To skip a follower, enter -. Other partitions in the same fetch return at most that many records.",
        "",
        wanted,
    )


def step(context: ActionContext) -> Question:
    """Ask which single step the selected broker takes."""
    broker = context.broker
    assert broker is not None
    dead = "its process is not running" if broker.state is BrokerState.STOPPED else None
    one = broker.id

    def counted(name: str, title: str, act: type[acts.Fetch] | type[acts.Answer]) -> TextPrompt:
        def wanted(text: str) -> tuple[Act, ...]:
            return (act(one, records=count_of(text) if text else None),)

        return TextPrompt(
            name, title, "Enter the maximum number of records per partition. To return all records, leave the line empty.", "", wanted
        )

    options = (
        Option("f", f"b{one} fetches …", (), "the leader answers immediately, with the number of records that you "
            "enter", dead, counted("fetch", f"b{one} fetches", acts.Fetch)),
        Option("r", f"b{one}'s fetch arrives", (acts.Arrive(one),), "the fetch waits at the leader", dead),
        Option(
            "a", f"b{one}'s fetch is answered …", (), "the answer contains the leader's current records and HW", dead,
            counted("answer", f"b{one}'s fetch is answered", acts.Answer),
        ),
        Option("l", f"the answer to b{one} is lost", (acts.Answer(one, lost=True),), "the leader has sent it, but the follower gets nothing", dead),
        Option("x", f"the controller fences b{one}", (acts.Fence(one),), "as when its session expires"),
        Option("b", f"b{one} restarts immediately", (acts.Bounce(one),), "the controller does not notice", dead),
        Option("w", f"b{one} writes its checkpoint", (acts.Checkpoint(one),), "saves its high watermarks to disk", dead),
        Option("i", f"b{one} checks its ISRs", (acts.CheckIsr(one),), "removes replicas that have not caught up", dead),
    )  # fmt: skip
    return Question(f"b{one} by hand", "The step takes effect immediately.", options)
