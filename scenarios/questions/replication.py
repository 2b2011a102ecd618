"""Why replicas and groups are behind, and what holds back the high watermark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from core.kafka.broker.broker_state import BrokerState
from core.kafka.health import PartitionStatus, is_under_replicated
from core.kafka.ids import NO_LEADER, TopicPartition, broker_address
from core.lab.views.group_view import GroupView
from core.lab.views.partition_view import PartitionView
from scenarios.questions.asked import BY_RULE, Answer, AskedCluster, listed, seconds

SESSION: Final = {True: "zookeeper.session.timeout.ms", False: "broker.session.timeout.ms"}
"""The setting after which a silent broker counts as dead, with ZooKeeper and without it."""


UNEVEN: Final = 0.8
"""The share of a group's lag from which it counts as the lag of a single partition."""


def partition_named(asked: AskedCluster, words: Sequence[str]) -> PartitionView:
    """Return the partition that a person named.

    Raises:
        ValueError: there is no such partition, or none was named.
    """
    names = [word for word in words if word not in ("hw", "lso", "of")]
    if len(names) != 1:
        raise ValueError("name one partition, for example orders-0")
    for one in asked.view.partitions:
        if str(one.tp) == names[0]:
            return one
    raise ValueError(f"'{names[0][:60]}' is not a partition; there are {listed([one.tp for one in asked.view.partitions])}")


def why_absent(asked: AskedCluster, one: PartitionView, broker: int) -> str:
    """Return why a replica is not in the ISR, in words."""
    return _hindrance(asked, one, broker) or "it fetches, and joins the ISR when it has reached the high watermark"


def _why_behind(asked: AskedCluster, one: PartitionView, broker: int) -> str:
    """Return why the high watermark waits for a replica, in words."""
    leading = asked.cluster.brokers[one.leader].partitions.get(one.tp)
    known = None if leading is None else leading.replica(broker)
    hindrance = _hindrance(asked, one, broker)
    if hindrance or broker not in one.isr or known is None:
        return hindrance or why_absent(asked, one, broker)
    if known.leo < one.replica_on(broker).leo:
        return f"its last fetch asked for offset {known.leo:,}, so the leader does not know more; its next fetch tells the leader the rest"
    return "it fetches; the leader learns that it has more records when it fetches again after them"


def _hindrance(asked: AskedCluster, one: PartitionView, broker: int) -> str:
    """Return what keeps a replica from keeping up with its leader, in words; empty if nothing does."""
    found = next((each for each in asked.view.brokers if each.id == broker), None)
    replica = next((each for each in one.replica_views if each.broker == broker), None)
    if found is None:
        return "the broker is not part of the cluster any more"
    if found.state is BrokerState.STOPPED:
        return "its process is not running"
    if found.state is not BrokerState.RUNNING:
        return f"its process is {found.state.value}"
    if replica is not None and not replica.dir_online:
        return f"its log directory {replica.dir} has failed"
    if found.fenced:
        return "the controller has fenced it"
    leader = one.leader
    if leader != NO_LEADER and (
        (broker_address(broker), broker_address(leader)) in asked.view.cut_links
        or (broker_address(leader), broker_address(broker)) in asked.view.cut_links
    ):
        return f"its link to the leader b{leader} is cut"
    if found.disk_delay_us:
        return f"its disk is slow ({seconds(found.disk_delay_us)} more for each write)"
    if replica is not None and replica.fetch_state not in ("fetching", "idle"):
        return f"its fetcher is {replica.fetch_state}"
    if replica is not None and one.committed > replica.leo:
        return f"it still lacks {one.committed - replica.leo:,} records, which it copies"
    return ""


def who_holds(asked: AskedCluster, words: Sequence[str]) -> Answer:
    """Say which replicas the high watermark of a partition waits for, and why, or what holds back its last stable offset."""
    one = partition_named(asked, words)
    return _who_holds_lso(asked, one) if "lso" in words else _who_holds_hw(asked, one)


def _who_holds_lso(asked: AskedCluster, one: PartitionView) -> Answer:
    show = f"{asked.play()}, then 9"
    if one.held_back_at is None:
        return Answer(f"Nobody: the last stable offset of {one.tp} is its high watermark, {one.committed:,}.", (), BY_RULE, show)
    ended = one.status is PartitionStatus.READS_HELD
    lines = [
        "No coordinator will end the transaction: it hangs, until somebody aborts it (kafka-transactions abort)."
        if ended
        else "Its coordinator ends it when its producer commits or aborts, or after its timeout (transaction.timeout.ms)."
    ]
    verdict = (
        f"A transaction: read_committed consumers of {one.tp} stop at {one.held_back_at:,}, {one.committed - one.held_back_at:,} below the "
        f"high watermark, for {seconds(one.held_us)} already."
    )
    return Answer(verdict, tuple(lines), BY_RULE, show)


def _who_holds_hw(asked: AskedCluster, one: PartitionView) -> Answer:
    if one.offline:
        return Answer(f"{one.tp} has no leader, so its high watermark does not move.", (), BY_RULE, f"{asked.play()}, then w")
    leader = one.replica_on(one.leader)
    if not leader.leo:
        nothing = "The output of kafka-topics has no offsets. Start a load and disturb a replica (keys l and z), or add a load to a script."
        return Answer(f"Nobody: the log of {one.tp} is empty here.", (nothing,), BY_RULE, asked.play())
    held = [] if one.held_back_at is None else [f"Consumers with read_committed see less: ask who-holds lso {one.tp}."]
    if leader.hw >= leader.leo:
        return Answer(f"Nobody: everything in {one.tp} is committed, up to offset {leader.hw:,}.", tuple(held), BY_RULE, asked.play())
    lines = held
    for broker in one.slowest_replicas:
        replica = one.replica_on(broker)
        lines.append(f"b{broker} has records up to {replica.leo:,}; {_why_behind(asked, one, broker)}")
    if len(one.isr) < one.min_isr and asked.cluster.release.strict_min_isr:
        lines.append(
            f"The ISR {list(one.isr)} is smaller than min.insync.replicas ({one.min_isr}); under this release the high watermark does not move then."
        )
    lag_max = asked.cluster.settings.us("replica.lag.time.max.ms", broker=one.leader)
    session, setting = time_until_noticed(asked), SESSION[asked.cluster.zookeeper]
    running = {broker.id for broker in asked.view.brokers if broker.state is BrokerState.RUNNING}
    silent = [broker for broker in one.slowest_replicas if broker not in running]
    if silent and session < lag_max:
        lines.append(
            f"If {listed([f'b{broker}' for broker in silent])} stays silent for {setting} ({seconds(session)}), the controller removes it from the "
            "ISR, and the high watermark moves on."
        )
    if len(silent) < len(one.slowest_replicas) or session >= lag_max:
        lines.append(
            f"If a follower stays behind for replica.lag.time.max.ms ({seconds(lag_max)}), the leader removes it from the ISR, and the high "
            "watermark moves on."
        )
    holders = listed([f"b{broker}" for broker in one.slowest_replicas])
    verdict = f"{holders}: the high watermark of {one.tp} is {leader.hw:,}, {leader.leo - leader.hw:,} behind the leader's log end."
    return Answer(verdict, tuple(lines), BY_RULE, f"{asked.play()}, then Enter on {one.tp}")


def why_under_replicated(asked: AskedCluster, words: Sequence[str]) -> Answer:
    """Say which replicas are missing from ISRs, by what keeps them out."""
    found = [one for one in asked.view.partitions if is_under_replicated(one) or one.offline]
    if words:
        wanted = partition_named(asked, words)
        found = [one for one in found if one.tp == wanted.tp]
    if not found:
        return Answer("Nothing is under-replicated: every replica is in sync.", (), BY_RULE, asked.play())
    reasons: dict[tuple[int, str], list[TopicPartition]] = {}
    for one in found:
        for broker in one.replicas:
            if broker not in one.isr or one.offline:
                reasons.setdefault((broker, why_absent(asked, one, broker)), []).append(one.tp)
    lines = [
        f"b{broker}: {why}; {len(tps):,} partition{'' if len(tps) == 1 else 's'}: {listed(tps)}"
        for (broker, why), tps in sorted(reasons.items(), key=lambda each: -len(each[1]))[:20]
    ]
    offline = sum(one.offline for one in found)
    under = len(found) - offline
    verdict = "1 partition is under-replicated" if under == 1 else f"{under:,} partitions are under-replicated"
    verdict += f", and {offline:,} ha{'s' if offline == 1 else 've'} no leader." if offline else "."
    return Answer(verdict, tuple(lines), BY_RULE, f"{asked.play()}, then w on a partition")


def group_named(asked: AskedCluster, words: Sequence[str]) -> GroupView:
    """Return the group that a person named.

    Raises:
        ValueError: there is no such group, or none was named.
    """
    groups = {group.name: group for group in asked.view.groups}
    if len(words) != 1 or words[0] not in groups:
        raise ValueError(f"name one group; there are {listed(sorted(groups)) or 'none'}")
    return groups[words[0]]


def why_lag(asked: AskedCluster, words: Sequence[str]) -> Answer:
    """Say how far a group is behind, where, and what is in its way."""
    group = group_named(asked, words)
    ends = {one.tp: one for one in asked.view.partitions}
    owners = {tp: member.client for member in group.members for tp in member.assignment}
    lags = sorted(((ends[tp].committed - offset, tp) for tp, offset in group.offsets if tp in ends), reverse=True)
    total = sum(max(lag, 0) for lag, _ in lags)
    lines = [f"state {group.state}, {len(group.members)} member{'' if len(group.members) == 1 else 's'}, coordinator b{group.coordinator}"]
    if not group.members:
        lines.append("No member reads: nobody has joined, or all have left or were removed.")
    elif group.state != "Stable":
        lines.append("The group is rebalancing; its members do not process until it ends.")
    uneven = len(lags) > 1 and lags[0][0] > UNEVEN * total > 0
    for lag, tp in lags[:5]:
        one = ends[tp]
        if lag <= 0:
            continue
        hints = []
        if one.offline or one.status is PartitionStatus.LEADER_UNAVAILABLE:
            hints.append("the partition has no working leader")
        if one.held_back_at is not None:
            hints.append(f"an open transaction holds back read_committed at offset {one.held_back_at:,} for {seconds(one.held_us)} already")
        if tp not in owners and group.members:
            hints.append("no member owns it")
        if uneven and tp == lags[0][1] and tp in owners and not hints:
            hints.append(
                f"that is {lag / total:.0%} of all: only one member reads a partition, so more members do not help; see whether some keys get "
                "most of the records"
            )
        owner = f", owned by {owners[tp]}" if tp in owners else ""
        lines.append(f"{tp}: {lag:,} records behind{owner}{''.join(f'; {hint}' for hint in hints)}")
    rates = sum(producer.rate for producer in asked.view.producers)
    if total and rates and not uneven:
        lines.append(f"Producers send {rates:,} records/s; the lag falls only if the group processes more than that.")
    verdict = f"Group {group.name} is {total:,} records behind." if total else f"Group {group.name} has no lag."
    return Answer(verdict, tuple(lines), BY_RULE, f"{asked.play()}, then 0")


def time_until_noticed(asked: AskedCluster) -> int:
    """Return how long the controller takes to notice a broker that dies without a word, in µs."""
    return asked.cluster.settings.us(SESSION[asked.cluster.zookeeper])
