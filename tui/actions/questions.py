"""Questions that actions ask. Each answer contains the acts to perform. If an answer cannot be chosen now, it also contains the reason."""

from __future__ import annotations

from typing import Final

from core.kafka.health import spare_replicas
from core.kafka.ids import CONTROLLER, broker_address
from core.lab import acts
from core.lab.acts import Act
from scenarios.releases import release_named
from tui.actions.context import ActionContext, Option, Question, TextPrompt
from tui.rendering.numbers import count_of

UNCLEAN: Final = "unclean.leader.election.enable"
MIN_ISR: Final = "min.insync.replicas"

MOST_NODES: Final = 40
"""A question about links lists at most this number of brokers, and at most this number of one-way cuts."""

RATES: Final = (10, 50, 200, 1_000, 5_000, 20_000)
"""The rates, in records per second, that a question offers for a steady load."""


def cut(context: ActionContext) -> Question:
    """Ask which link of the selected broker to cut, or to heal if the link is already cut."""
    broker = context.the_broker
    view = context.view
    here = broker_address(broker.id)
    shared = dict.fromkeys((b.id for b in view.brokers), 0)
    for partition in view.partitions:
        if broker.id in partition.replicas:
            for other in partition.replicas:
                shared[other] += 1
    near = sorted((b.id for b in view.brokers if b.id != broker.id), key=lambda other: (-shared[other], other))[:MOST_NODES]
    nodes = [(str(i) if i < 10 else "", broker_address(i), f"{shared[i]} partitions in common") for i in sorted(near)]
    controllers = [voter.name for voter in view.voters if not voter.name.startswith("b")]
    if not view.voters:
        nodes.append(("c", CONTROLLER, "heartbeats and metadata"))
    nodes += [("", name, "a controller") for name in controllers]
    nodes += [("", client.name, "a producer") for client in view.producers]
    nodes += [("", client.name, "a consumer") for client in view.consumers]
    options: list[Option] = []
    one_way: list[Option] = []
    links = set(view.cut_links)
    for key, node, note in nodes:
        if (here, node) in links or (node, here) in links:
            options.append(Option(key, f"heal {here} ↔ {node}", (acts.Heal((here, node)),), "already cut"))
        else:
            options.append(Option(key, f"cut {here} ↔ {node}", (acts.Cut((here, node)),), note))
            if node == CONTROLLER or node in controllers or node.startswith("b"):
                one_way.append(
                    Option("", f"cut only {here} → {node}", (acts.Cut((here, node), one_way=True),), "the other direction works")
                )
                one_way.append(
                    Option("", f"cut only {here} ← {node}", (acts.Cut((node, here), one_way=True),), "the other direction works")
                )
    return Question(f"Links of {here}", "Messages on a cut link wait until the link heals.", tuple(options + one_way[:MOST_NODES]))


def min_isr(context: ActionContext) -> Question:
    """Ask how many in-sync replicas an acks=all write to the selected topic needs."""
    partition = context.the_partition
    topic = partition.tp.topic
    now = int(context.setting(MIN_ISR, topic))
    most = max(len(p.replicas) for p in context.view.partitions if p.tp.topic == topic)
    capped = release_named(context.view.release).capped_min_isr
    options = tuple(
        Option(
            str(number) if number < 10 else "", f"{MIN_ISR} = {number}", (acts.Set(MIN_ISR, str(number), topic=topic),),
            _meaning(number, most, capped=capped), "current value" if number == now else None,
        )
        for number in range(1, most + 2)
    )  # fmt: skip
    return Question(f"{MIN_ISR} of {topic}", f"The current value is {now}; the topic has up to {most} replicas.", options)


def _meaning(number: int, replicas: int, *, capped: bool) -> str:
    spare = spare_replicas(number, replicas, capped=capped)
    if spare < 0:
        return "more than the replication factor: acks=all writes are refused"
    if number > replicas:
        return f"counts as {replicas}: tolerates no broker failure"
    return (
        "tolerates no broker failure"
        if spare == 0
        else "tolerates one broker failure"
        if spare == 1
        else f"tolerates {spare} broker failures"
    )


def acks(context: ActionContext) -> Question:
    """Ask which acks setting a producer should use."""
    options: list[Option] = []
    words = (("0", "does not wait"), ("1", "waits for the leader's append"), ("all", "waits for the whole ISR"))
    producers = sorted(context.view.producers, key=lambda p: (p.rate == 0, p.name))
    for number, producer in enumerate(producers):
        for value, note in words:
            now = ("all" if producer.acks < 0 else str(producer.acks)) == value
            key = value[0] if number == 0 else ""
            options.append(
                Option(key, f"{producer.name}: acks={value}", (acts.Acks(value, producer.name),), note, "current value" if now else None)
            )
    return Question("acks", "Choose which acknowledgment a producer waits for, from its next batch on.", tuple(options))


def produce(context: ActionContext) -> TextPrompt:
    """Ask how many records to produce in one burst to the selected partition."""
    partition = context.the_partition.tp
    acks_of = next(("all" if p.acks < 0 else str(p.acks) for p in context.view.producers if p.name == "producer"), "all")

    def wanted(text: str) -> tuple[Act, ...]:
        return (acts.Produce(partition.topic, count_of(text), partition=partition.partition, acks=acks_of),)

    return TextPrompt(
        "produce",
        f"Produce to {partition}",
        f"Enter the number of records in the burst, for example 10 or 5k. The producer uses acks={acks_of}.",
        "100",
        wanted,
    )


def load(context: ActionContext) -> Question:
    """Ask for the rate of the steady load on the selected topic, in records per second."""
    topic = context.the_partition.tp.topic
    running = next((p for p in context.view.producers if p.topic == topic and p.rate > 0), None)
    name = running.name if running is not None else "load"
    if running is None and any(p.name == name for p in context.view.producers):
        name = f"load-{topic}"
    acks_of = "all" if running is None or running.acks < 0 else str(running.acks)
    stop = (acts.StopLoad(name),) if running is not None else ()
    options = [Option("0", "stop", stop, "", None if running is not None else "no load is running")]
    for number, rate in enumerate(RATES, start=1):
        now = running is not None and running.rate == rate
        start = acts.Load(topic, rate, acks=acks_of, producer=name)
        options.append(Option(str(number), f"{rate:,} records/s", (*stop, start), "", "current value" if now else None))
    return Question(f"Steady load on {topic}", f"The producer {name} uses acks={acks_of}.", tuple(options))
