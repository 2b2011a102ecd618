"""What the settings of a cluster promise, what they make clients wait for, and whether the cluster is ready for an upgrade."""

from __future__ import annotations

from collections.abc import Sequence

from core.kafka.health import PartitionStatus
from core.kafka.release import Truncation
from core.lab.views.cluster_view import ClusterView
from core.lab.views.partition_view import PartitionView
from scenarios.questions.asked import BY_RULE, Answer, AskedCluster, listed, partitions, seconds
from scenarios.questions.replication import time_until_noticed
from scenarios.questions.restarts import restart_order, safe_sets


def _by_topic(view: ClusterView) -> dict[str, list[PartitionView]]:
    found: dict[str, list[PartitionView]] = {}
    for one in view.partitions:
        found.setdefault(one.tp.topic, []).append(one)
    return found


def is_acks_all_safe(asked: AskedCluster, words: Sequence[str]) -> Answer:
    """Say for each topic how many brokers can be lost before a write that was acknowledged with acks=all is lost."""
    topics = _by_topic(asked.view)
    if any(word not in topics for word in words):
        raise ValueError(f"'{next(word for word in words if word not in topics)[:60]}' is not a topic; there are {listed(sorted(topics))}")
    release, settings = asked.cluster.release, asked.cluster.settings
    groups: dict[tuple[str, ...], list[str]] = {}
    safe = True
    for topic, found in topics.items():
        if words and topic not in words:
            continue
        copies = min(min(one.min_isr for one in found), min(len(one.replicas) for one in found))
        said = [f"acknowledged when at least {copies} of {len(found[0].replicas)} replicas have it"]
        said.append(
            f"survives the loss of {copies - 1} disk{'' if copies == 2 else 's'}"
            if copies > 1
            else "one lost disk can lose it, once the ISR has shrunk to the leader"
        )
        unclean = settings.flag("unclean.leader.election.enable", topic=topic) and release.applies_unclean_setting
        if unclean:
            said.append("unclean.leader.election.enable can elect a replica without it")
        safe = safe and copies > 1 and not unclean
        groups.setdefault(tuple(said), []).append(topic)
    lines = [f"{listed(names)}: {'; '.join(said)}" for said, names in groups.items()]
    if release.truncation is Truncation.HIGH_WATERMARK:
        safe = False
        lines.append(
            f"Under {release.name}, followers truncate to their high watermark, which can lose acknowledged records (KIP-101, since 0.11)."
        )
    lines.append(
        "The records are in the page cache when they are acknowledged: a power loss of all these brokers at once can lose them (flush.messages)."
    )
    verdict = (
        "Yes, with acks=all: no single broker can lose an acknowledged write."
        if safe
        else "Not in every topic: a single failure can lose acknowledged writes."
    )
    return Answer(verdict, tuple(lines), BY_RULE, "isrlab play f1-acks")


def which_setting_stalls(asked: AskedCluster, words: Sequence[str]) -> Answer:
    """Say which setting decides how long clients wait, for the partitions that do not serve now, and for a broker that fails next."""
    settings, release = asked.cluster.settings, asked.cluster.release
    lag_max, noticed = settings.us("replica.lag.time.max.ms"), time_until_noticed(asked)
    lines = []
    bad = [one for one in asked.view.partitions if not one.status.served]
    for status, verbs, text in (
        (
            PartitionStatus.OFFLINE,
            "has have",
            "no leader: unclean.leader.election.enable decides whether a replica that is not in sync may lead",
        ),
        (
            PartitionStatus.LEADER_UNAVAILABLE,
            "has have",
            f"a dead leader that the controller notices after {seconds(noticed)} ({_session(asked)})",
        ),
        (PartitionStatus.UNDER_MIN_ISR, "refuses refuse", "writes with acks=all: min.insync.replicas is larger than the ISR"),
        (
            PartitionStatus.STALLED,
            "waits wait",
            f"for a replica that does not fetch: replica.lag.time.max.ms ({seconds(lag_max)}) ends that, or the controller",
        ),
    ):
        found = [one for one in bad if one.status is status]
        if found:
            lines.append(f"{partitions(found)} {verbs.split()[len(found) > 1]} {text}")
    lines.append(f"If a leader dies: its partitions are dark for {_session(asked)} = {seconds(noticed)}, plus the time of the election.")
    lines.append(
        f"If a follower dies or hangs: writes with acks=all wait until it leaves the ISR, after {_session(asked)} = {seconds(noticed)} or replica.lag.time.max.ms = {seconds(lag_max)}, whichever is first."
    )
    lines.append("The producer gives up after delivery.timeout.ms (2m00s by default), counted from send().")
    tight = [one for one in asked.view.partitions if one.min_isr >= len(one.replicas) > 1]
    if tight:
        lines.append(f"min.insync.replicas equals the replication factor: one stopped broker stops writes of {partitions(tight)}")
    verdict = (
        f"{len(bad):,} partition{' does' if len(bad) == 1 else 's do'} not serve writes with acks=all now."
        if bad
        else "Nothing stalls now; this is what decides when a broker fails."
    )
    return Answer(verdict, tuple(lines), f"{BY_RULE} ({release.name})", asked.play())


def _session(asked: AskedCluster) -> str:
    return "zookeeper.session.timeout.ms" if asked.cluster.zookeeper else "broker.session.timeout.ms"


def before_upgrade(asked: AskedCluster, words: Sequence[str]) -> Answer:
    """Check whether a rolling upgrade can begin."""
    view = asked.view
    stops, notes = [], []
    offline = [one for one in view.partitions if one.offline]
    missing = [one for one in view.partitions if not one.offline and len(one.isr) < len(one.replicas) - len(one.adding)]
    moving = [one for one in view.partitions if one.adding or one.removing]
    if offline:
        stops.append(f"without a leader: {partitions(offline)}")
    if missing:
        stops.append(f"under-replicated: {partitions(missing)}")
    if moving:
        stops.append(f"being reassigned: {partitions(moving)}")
    down = [broker.id for broker in view.brokers if not broker.up]
    if down:
        stops.append(f"not up: {listed([f'b{broker}' for broker in down])}")
    if view.voters and any(voter.role == "stopped" for voter in view.voters):
        stops.append("a controller is down: the quorum has no spare left, or fewer than usual")
    alone = {broker for (broker,) in safe_sets(asked, 1)}
    risky = sorted(asked.up() - alone)
    if risky:
        stops.append(f"cannot be stopped without harm: {listed([f'b{broker}' for broker in risky])} (ask may-i-stop {risky[0]})")
    elsewhere = [one for one in view.partitions if one.replicas and one.leader != one.replicas[0] and not one.offline]
    if elsewhere:
        notes.append(f"not led by their preferred replica: {partitions(elsewhere)}; elect preferred leaders afterwards")
    notes.append(
        f"order: {listed([f'b{broker}' for broker in restart_order(asked)])}, each after the one before is in sync (ask rolling-restart)"
    )
    notes.append("keep the old metadata.version (inter.broker.protocol.version before KRaft) until all brokers run the new release")
    verdict = (
        "Yes, a rolling upgrade can begin." if not stops else f"Not yet: {len(stops)} thing{'' if len(stops) == 1 else 's'} to mend first."
    )
    return Answer(verdict, (*(f"✗ {line}" for line in stops), *(f"· {line}" for line in notes)), BY_RULE, "isrlab play h3-rolling-restart")
