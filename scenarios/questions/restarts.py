"""Which brokers can be stopped, and in which order they can be restarted."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Sequence
from itertools import combinations
from typing import Final

import attrs

from core.kafka.broker.broker_state import BrokerState
from core.kafka.ids import broker_address
from core.lab.acts import Kill, Shutdown, Start
from core.lab.views.partition_view import PartitionView
from core.sim.units import SECOND
from scenarios.cut_sets.standing import Harm
from scenarios.questions.asked import BY_RULE, Answer, AskedCluster, Branch, Slices, listed, partitions, seconds

PATIENCE: Final = 600 * SECOND
"""The longest time that a restarted broker gets to come back into all ISRs, in µs of virtual time."""

AFTERWARDS: Final = 60 * SECOND
"""How long a copy runs after brokers were lost, in µs of virtual time."""


@attrs.frozen
class Without:
    """What a cluster lacks while some brokers are down.

    Attributes:
        dark: the partitions that nobody can read or write: no member of the ISR or ELR is left.
        refusing: the partitions whose leaders refuse writes with acks=all.
        unclean: the partitions that a replica outside the ISR would lead, because unclean.leader.election.enable is on.
        majority: whether the controllers still have a majority.
    """

    dark: tuple[PartitionView, ...]
    refusing: tuple[PartitionView, ...]
    unclean: tuple[PartitionView, ...]
    majority: bool

    @property
    def harmless(self) -> bool:
        """Whether clients notice nothing but changes of leaders."""
        return self.majority and not self.dark and not self.refusing and not self.unclean


def without(asked: AskedCluster, down: Collection[int]) -> Without:
    """Return what the cluster lacks if some more brokers are stopped, once the controller has noticed.

    What a partition depends on says `Standing`.
    """
    found: dict[Harm | None, list[PartitionView]] = {harm: [] for harm in (None, *Harm)}
    for one, standing in zip(asked.view.partitions, asked.standings, strict=True):
        found[standing.harm_without(down)].append(one)
    dark, refusing, unclean = (tuple(found[harm]) for harm in (Harm.NO_LEADER, Harm.REFUSES, Harm.LOSES))
    return Without(dark, refusing, unclean, keeps_majority(asked, down))


def made_worse(asked: AskedCluster, down: Collection[int]) -> Without:
    """Return what the cluster would lack if some more brokers were stopped, and does not lack already."""
    now, then = without(asked, ()), without(asked, down)
    dark = {one.tp for one in now.dark}
    lacking = dark | {one.tp for one in (*now.refusing, *now.unclean)}
    return Without(
        tuple(one for one in then.dark if one.tp not in dark),
        tuple(one for one in then.refusing if one.tp not in lacking),
        tuple(one for one in then.unclean if one.tp not in lacking),
        then.majority or not now.majority,
    )


def _is_worse(then: Harm | None, now: Harm | None) -> bool:
    """Return whether a partition is worse off than now, as `made_worse` tells it of all partitions."""
    return then is not None and (now is None if then is not Harm.NO_LEADER else now is not Harm.NO_LEADER)


def keeps_majority(asked: AskedCluster, down: Collection[int]) -> bool:
    """Return whether the controllers have a majority while some more brokers are down."""
    voters = asked.view.voters
    stopped = {broker_address(broker) for broker in down}
    alive = [voter for voter in voters if voter.role != "stopped" and voter.name not in stopped]
    return not voters or len(alive) > len(voters) // 2


def safe_sets(asked: AskedCluster, size: int) -> list[tuple[int, ...]]:
    """Return the sets of so many live brokers that can be down at the same time without making anything worse, in order."""
    up = sorted(asked.up())
    unsafe: set[tuple[int, ...]] = set()
    alone = {broker for broker in up if keeps_majority(asked, ()) and not keeps_majority(asked, (broker,))}
    for one, standing in zip(asked.view.partitions, asked.standings, strict=True):
        now = standing.harm_without(())
        alone.update(broker for broker in one.replicas if broker not in alone and _is_worse(standing.harm_without((broker,)), now))
    if size == 1:
        return [(broker,) for broker in up if broker not in alone]
    live = frozenset(up)
    for one in asked.view.partitions:
        members = sorted(live.intersection(one.isr))
        needed = max(one.min_isr, 1) if len(members) >= one.min_isr else 1  # a partition that refuses writes already can only become dark
        if len(members) - size < needed:
            unsafe.update(combinations(members, size))
    return [
        chosen
        for chosen in combinations([broker for broker in up if broker not in alone], size)
        if chosen not in unsafe and keeps_majority(asked, chosen)
    ]


def may_i_stop(asked: AskedCluster, words: Sequence[str]) -> Answer:
    """Say whether brokers can be stopped together, what refuses or is dark if not, and what can be stopped instead."""
    wanted = asked.brokers(words)
    worse, now = made_worse(asked, wanted), without(asked, ())
    names = listed([f"b{broker}" for broker in wanted])
    lines = [*_lacking(worse), *already(asked)]
    led = sum(one.leader in wanted for one in asked.view.partitions)
    if worse.harmless:
        fine = f"with {names} down, every partition keeps a leader and accepts writes with acks=all."
        verdict = f"Yes: {fine}" if now.harmless else f"Yes: stopping {names} makes nothing worse than it is."
        lines.append(f"{led:,} partition{'' if led == 1 else 's'} will get another leader; clients look for it, which takes a moment.")
        spare = [one for one in asked.view.partitions if len(asked.up().difference(wanted).intersection(one.isr)) == one.min_isr]
        if spare:
            lines.append(f"No other broker may fail meanwhile: at min.insync.replicas then are {partitions(spare)}.")
    else:
        verdict = f"No: do not stop {names}{' together' if len(wanted) > 1 else ''}."
        lines += _remedies(asked, (*worse.dark, *worse.refusing))
        lines += _instead(asked, len(wanted))
    if not asked.view.voters and not asked.cluster.zookeeper:
        lines.append("The quorum of controllers is not part of this cluster; see that it keeps a majority.")
    return Answer(verdict, tuple(lines), BY_RULE, f"{asked.play()}, then press d (shut down) or k (kill) on {names}")


def _lacking(lacks: Without) -> Iterable[str]:
    if not lacks.majority:
        yield "The controllers would lose their majority: no election and no ISR change would be possible."
    if lacks.dark:
        yield f"Without a leader, so neither readable nor writable: {partitions(lacks.dark)}."
    if lacks.refusing:
        yield f"Writes with acks=all refused (NOT_ENOUGH_REPLICAS): {partitions(lacks.refusing)}."
    if lacks.unclean:
        yield f"Led by a replica that is not in sync, so acknowledged records are lost (unclean.leader.election.enable): {partitions(lacks.unclean)}."


def _remedies(asked: AskedCluster, hurt: Sequence[PartitionView]) -> Iterable[str]:
    """Say what to do first for partitions that would suffer."""
    spare = no_spare(hurt)
    if spare:
        yield (
            f"With as many replicas as min.insync.replicas, so that none of their brokers may ever be down: {partitions(spare)}. Add "
            "replicas, or lower min.insync.replicas for that time."
        )
    behind = [one for one in hurt if one not in spare and asked.up().intersection(one.replicas) - set(one.isr)]
    if behind:
        late = sorted({broker for one in behind for broker in asked.up().intersection(one.replicas) - set(one.isr)})
        yield f"Wait until {listed([f'b{broker}' for broker in late])} is in the ISR again of {partitions(behind)}, and ask again."


def no_spare(among: Sequence[PartitionView]) -> list[PartitionView]:
    """Return the partitions with so few replicas that each broker of theirs is needed for writes with acks=all."""
    return [one for one in among if len(one.replicas) <= max(one.min_isr, 1)]


def already(asked: AskedCluster) -> Iterable[str]:
    """Yield what the cluster lacks already, whoever is stopped."""
    now = without(asked, ())
    if not now.majority:
        yield "Already so: the controllers have no majority."
    if now.dark or now.unclean:
        yield f"Already so: no member of the ISR is alive for {partitions((*now.dark, *now.unclean))}."
    if now.refusing:
        yield f"Already so: writes with acks=all are refused for {partitions(now.refusing)}."


def _instead(asked: AskedCluster, size: int) -> Iterable[str]:
    single = safe_sets(asked, 1)
    if size > 1 and len(asked.up()) <= 200:
        pairs = safe_sets(asked, 2)
        shown = "; ".join(f"b{first} and b{second}" for first, second in pairs[:6])
        more = "" if len(pairs) <= 6 else f"; and {len(pairs) - 6:,} more"
        yield f"Safe pairs: {shown}{more}." if pairs else "No two brokers can be down at the same time."
    yield f"Safe alone: {listed([f'b{broker}' for (broker,) in single])}." if single else "No broker can be stopped now."


def restart_order(asked: AskedCluster) -> tuple[int, ...]:
    """Return the live brokers in the order of a rolling restart: the active controller last, and before it the other controllers."""
    voters = {voter.name for voter in asked.view.voters}
    address = {broker: broker_address(broker) for broker in asked.up()}
    return tuple(sorted(address, key=lambda broker: (address[broker] == asked.view.controller, address[broker] in voters, broker)))


def rolling_restart(asked: AskedCluster, words: Sequence[str]) -> Slices:
    """Restart all live brokers, or those that are named, one after another in a copy, and say how long each must be waited for."""
    order = brokers_or_all(asked, words)
    branch = yield from asked.branch()
    yield from branch.run(2 * SECOND)
    lines, waits, failed = [], 0, ""
    for done, broker in enumerate(order):
        asked.progress = done / len(order)
        begun = branch.cluster.now
        refused = branch.do(Shutdown(broker)) or (yield from _wait_for_stop(branch, broker)) or branch.do(Start(broker))
        took = None if refused else (yield from branch.settled(broker, PATIENCE))
        if refused or took is None:
            failed = f"b{broker}: {refused or f'not back in all ISRs after {seconds(PATIENCE)}'}"
            lines.append(failed)
            break
        waits += branch.cluster.now - begun
        lines.append(f"b{broker}: shut down and start, then wait {seconds(branch.cluster.now - begun)} until it is in sync again")
    yield from branch.run(2 * SECOND)
    felt = [line.strip() for line in branch.felt()]
    lines += [f"clients: {line}" for line in felt]
    verdict = (
        f"Not like this: {failed}."
        if failed
        else f"Restart in the order {listed([f'b{broker}' for broker in order])}; with an empty backlog, that takes {seconds(waits)}."
    )
    spare = [one for one in no_spare(asked.view.partitions) if set(order).intersection(one.replicas)]
    if spare and not failed:
        verdict += f" Meanwhile, {len(spare):,} partition{' refuses' if len(spare) == 1 else 's refuse'} writes with acks=all."
    lines += _remedies(asked, spare)
    lines.append("On a real cluster, wait for UnderReplicatedPartitions 0 before the next broker, however long that takes.")
    return Answer(
        verdict,
        tuple(lines),
        branch.how("each broker was restarted when the one before was in sync"),
        f"{asked.play()}, then press d (shut down) and s (start) on one broker after another",
    )


def _wait_for_stop(branch: Branch, broker: int) -> Generator[None, None, str]:
    """Run until a broker's process has ended. Return why it did not; empty if it did."""
    for _ in range(1_200):
        if branch.cluster.brokers[broker].context.state is BrokerState.STOPPED:
            return ""
        yield from branch.run(SECOND // 10)
    return "its controlled shutdown does not end"


def brokers_or_all(asked: AskedCluster, words: Sequence[str]) -> tuple[int, ...]:
    """Return the brokers that a person named, or all live ones in the order of a rolling restart."""
    return asked.brokers(words) if words else restart_order(asked)


def brokers_to_lose(asked: AskedCluster, words: Sequence[str]) -> tuple[int, ...]:
    """Return the brokers that a person named after the word `lose`."""
    return asked.brokers([word for word in words if word not in ("lose", "we", "i")])


def what_if_lose(asked: AskedCluster, words: Sequence[str]) -> Slices:
    """Kill brokers in a copy, and say what happens within a minute."""
    wanted = brokers_to_lose(asked, words)
    lacks = without(asked, wanted)
    names = listed([f"b{broker}" for broker in wanted])
    branch = yield from asked.branch()
    yield from branch.run(2 * SECOND)
    for broker in wanted:
        branch.do(Kill(broker))
    begun = branch.cluster.now
    for _ in branch.run(AFTERWARDS):
        asked.progress = (branch.cluster.now - begun) / AFTERWARDS
        yield
    if lacks.harmless:
        verdict = f"Without {names}, every partition has a leader and accepts writes again, as soon as the controller has noticed."
    else:
        dark, refusing = len(lacks.dark), len(lacks.refusing)
        verdict = (
            f"Without {names}, {dark:,} partition{' has' if dark == 1 else 's have'} no leader, and {refusing:,} "
            f"refuse{'s' if refusing == 1 else ''} writes with acks=all."
        )
    dead = [f"b{broker}" for broker in wanted if broker not in asked.up()]
    lines = [f"Down already: {listed(dead)}."] if dead else []
    lines += [*_lacking(made_worse(asked, wanted)), *already(asked), *(line.strip() for line in branch.told())]
    return Answer(
        verdict, tuple(lines), branch.how(f"2 s of normal work, then kill -9 of {names}, then {AFTERWARDS // SECOND} s"), asked.play()
    )


def zones(asked: AskedCluster, words: Sequence[str]) -> Answer:
    """Say for each rack what the cluster lacks without it."""
    racks: dict[str, list[int]] = {}
    for broker in asked.view.brokers:
        racks.setdefault(broker.rack or "", []).append(broker.id)
    if set(racks) == {""}:
        return Answer(
            "The brokers have no racks (broker.rack), so Kafka does not spread replicas over zones.",
            ("Set broker.rack on each broker to its zone, and reassign the partitions; new topics are then spread.",),
            BY_RULE,
            "isrlab play a2-racks",
        )
    now = without(asked, ())
    fine = "all partitions keep a leader and accept writes" if now.harmless else "nothing gets worse than it is"
    lines, bad = [], 0
    for rack, members in sorted(racks.items()):
        worse = made_worse(asked, members)
        bad += not worse.harmless
        name = f"zone {rack} ({listed([f'b{broker}' for broker in members])})" if rack else f"no zone ({listed(members)})"
        lines.append(f"without {name}: {fine if worse.harmless else ' '.join(_lacking(worse))}")
    lines += already(asked)
    crowded = [one for one in asked.view.partitions if len(one.replicas) > 1 and len({_rack_of(racks, r) for r in one.replicas}) == 1]
    if crowded:
        lines.append(f"All replicas in one zone: {partitions(crowded)}.")
    verdict = "Any one zone can fail." if not bad else f"{bad} of {len(racks)} zones must not fail."
    return Answer(verdict, tuple(lines), BY_RULE, asked.play())


def _rack_of(racks: dict[str, list[int]], broker: int) -> str:
    return next((rack for rack, members in racks.items() if broker in members), "")
