"""Acts on consumers that are members of groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs

from core.kafka import events
from core.kafka.applications.processes.consuming_process import ConsumingProcess
from core.kafka.clients.group_member.group_member import GroupMember
from core.kafka.clients.group_member.member_config import CommitMode, MemberConfig, Reset, reset_duration
from core.kafka.clients.group_member.member_removal import MemberRemoval
from core.lab import acts
from core.lab.act_handlers import find
from core.lab.act_handlers.clients import check_client
from core.lab.act_handlers.internal_topics import check_offsets_topic
from core.lab.act_handlers.memberships import check_membership, member_config
from core.lab.cluster_nodes import ClusterNodes
from core.sim.disturbances import SLOW, STALLED
from core.sim.errors import ActRefused


def _check(cluster: ClusterNodes, act: acts.JoinGroup) -> None:
    """Check the fields of an act that accept only fixed words.

    Raises:
        ActRefused: a word in the act is not valid, or the release does not support it.
    """
    release = cluster.release
    check_membership(cluster, act)
    if not act.topics:
        raise ActRefused("a consumer subscribes to at least 1 topic")
    if not act.allow_missing_topics:
        for topic in act.topics:
            find.topic(cluster, topic)
    if act.protocol == "classic" and act.member_id is not None:
        raise ActRefused("'member-id' needs 'protocol: consumer'")
    if act.commit not in tuple(CommitMode):
        raise ActRefused(f"commit must be {', '.join(CommitMode)}, not {act.commit}")
    if act.isolation not in ("read_uncommitted", "read_committed"):
        raise ActRefused(f"isolation must be read_uncommitted or read_committed, not {act.isolation}")
    if act.isolation == "read_committed" and not release.transactions:
        raise ActRefused(f"release {release.name} has no transactions; omit 'isolation', or use 0.11 or later (KIP-98)")
    if act.on_error not in ("close", "stop"):
        raise ActRefused(f"on-error must be close or stop, not {act.on_error}")
    if not act.group:
        raise ActRefused("the group must not be empty")


def _reset(cluster: ClusterNodes, text: str) -> tuple[Reset, int]:
    """Return the policy and the duration of auto.offset.reset.

    Raises:
        ActRefused: there is no reset policy with this name.
    """
    if text in (Reset.EARLIEST, Reset.LATEST, Reset.NONE):
        return Reset(text), 0
    if not text.startswith(Reset.BY_DURATION):
        raise ActRefused(f"reset must be earliest, latest, none, or by_duration:PT1H, not {text}")
    if not cluster.release.resets_by_duration:
        raise ActRefused(f"release {cluster.release.name} cannot reset by duration; use 4.0 or later (KIP-1106)")
    try:
        return Reset.BY_DURATION, reset_duration(text)
    except ValueError as wrong:
        raise ActRefused(str(wrong)) from None


def _config(cluster: ClusterNodes, act: acts.JoinGroup) -> MemberConfig:
    policy, duration = _reset(cluster, str(act.reset))
    found = member_config(cluster, act, str(act.group), tuple(dict.fromkeys(act.topics)))
    return attrs.evolve(
        found,
        rack=None if found.rack is None else find.rack(cluster, act.consumer, act.rack),
        reset=policy,
        reset_duration=duration,
        read_committed=act.isolation == "read_committed",
        commits=CommitMode(str(act.commit)),
        member_id=act.member_id or "",
    )


def _join(cluster: ClusterNodes, act: acts.JoinGroup) -> find.CheckThenDo:
    _check(cluster, act)
    former = cluster.clients.member(act.consumer)
    if former is None:
        check_client(cluster, act.consumer, act.topics[0], GroupMember, "consumer of a group")
    elif former.running:
        raise ActRefused(f"consumer {act.consumer} is already running; close or kill it first, or give the other consumer another name")
    does = _config(cluster, act)
    check_offsets_topic(cluster)
    yield
    member = GroupMember(act.consumer, does, cluster.release, cluster.clients.context())
    member.poll_time, member.record_time = act.poll_time, act.record_time
    member.coordinator.assign_time = act.assign_time
    member.closes_on_error = act.on_error == "close"
    if act.crash_after_records is not None:
        member.crash_after = act.crash_after_records
    if former is not None:
        cluster.paused.pop(former.address, None)
        member.succeed(former)
    cluster.clients.add(member, by_hand=cluster.by_hand)
    member.start()


def running_member(cluster: ClusterNodes, name: str) -> GroupMember:
    """Return the running consumer with the given name that belongs to a group.

    Raises:
        ActRefused: no running consumer of a group has this name. The error message names the running consumers.
    """
    member = cluster.clients.member(name)
    if member is None or not member.running:
        running = [client.name for client in cluster.clients.values() if isinstance(client, GroupMember) and client.running]
        raise ActRefused(f"there is no running consumer {name} in a group; {find.existing('running ones', running)}")
    return member


def _awake(cluster: ClusterNodes, name: str) -> GroupMember:
    """Return a running consumer that is not frozen.

    Raises:
        ActRefused: there is no such consumer.
    """
    member = running_member(cluster, name)
    if member.address in cluster.paused:
        raise ActRefused(f"consumer {name} is frozen; thaw it first, or kill it")
    return member


def _close(cluster: ClusterNodes, act: acts.CloseConsumer) -> find.CheckThenDo:
    member = _awake(cluster, act.consumer)
    yield
    member.close()


def _kill(cluster: ClusterNodes, act: acts.KillConsumer) -> find.CheckThenDo:
    member = running_member(cluster, act.consumer)
    yield
    frozen = cluster.paused.pop(member.address, None)
    member.kill(frozen_at=None if frozen is None else frozen[0])


def _freeze(cluster: ClusterNodes, act: acts.FreezeConsumer) -> find.CheckThenDo:
    member = _awake(cluster, act.consumer)
    yield
    cluster.journal.cause = cluster.journal.emit(events.MemberFrozen.kind, member.name, member.does.group)
    cluster.pause(member.address)


def _thaw(cluster: ClusterNodes, act: acts.ThawConsumer) -> find.CheckThenDo:
    member = running_member(cluster, act.consumer)
    if member.address not in cluster.paused:
        raise ActRefused(f"consumer {act.consumer} is not frozen")
    yield
    since = cluster.resume(member.address)
    journal = cluster.journal
    member.thawed(journal.now - since)
    journal.cause = journal.emit(events.MemberThawed.kind, member.name, member.does.group, journal.now - since)


def _application(cluster: ClusterNodes, name: str) -> GroupMember | ConsumingProcess:
    """Return the running process, worker, or group consumer with the given name.

    Raises:
        ActRefused: no process, worker, or consumer has the given name, or the consumer is frozen.
    """
    client = cluster.clients.get(name)
    return client if isinstance(client, ConsumingProcess) and client.running else _awake(cluster, name)


def _processing_time(cluster: ClusterNodes, act: acts.ProcessingTime) -> find.CheckThenDo:
    client = cluster.clients.get(act.consumer)
    member = client if isinstance(client, ConsumingProcess) and client.running else running_member(cluster, act.consumer)
    if act.poll_time is None and act.record_time is None:
        raise ActRefused("give a poll-time or a record-time")
    yield
    cluster.network.disturbances.begin(member.address, SLOW, cluster.journal.cause, cluster.now)
    member.poll_time = member.poll_time if act.poll_time is None else act.poll_time
    member.record_time = member.record_time if act.record_time is None else act.record_time


def _stall(cluster: ClusterNodes, act: acts.StallConsumer) -> find.CheckThenDo:
    member = _application(cluster, act.consumer)
    yield
    cluster.network.disturbances.begin(member.address, STALLED, cluster.journal.cause, cluster.now, cluster.now + act.stall_time)
    member.stall(act.stall_time)


def _commit(cluster: ClusterNodes, act: acts.CommitOffsets) -> find.CheckThenDo:
    member = _awake(cluster, act.consumer)
    yield
    member.commit_now()


def _partitions(
    cluster: ClusterNodes, act: acts.PausePartitions | acts.ResumePartitions, change: Callable[[GroupMember, str | None, int | None], None]
) -> find.CheckThenDo:
    member = _awake(cluster, act.consumer)
    if act.partition is not None and act.topic is None:
        raise ActRefused("'partition' needs a topic; name one in 'topic'")
    yield
    change(member, act.topic, act.partition)


def _pause_partitions(cluster: ClusterNodes, act: acts.PausePartitions) -> find.CheckThenDo:
    return _partitions(cluster, act, GroupMember.pause_partitions)


def _resume_partitions(cluster: ClusterNodes, act: acts.ResumePartitions) -> find.CheckThenDo:
    return _partitions(cluster, act, GroupMember.resume_partitions)


def _remove_member(cluster: ClusterNodes, act: acts.RemoveMember) -> find.CheckThenDo:
    if not cluster.release.static_members:
        raise ActRefused(f"release {cluster.release.name} has no static members; use 2.4 or later (KIP-345)")
    yield
    name = f"remove-{act.group}-{act.instance_id}"
    admin = MemberRemoval(name, act.group, act.instance_id, cluster.clients.context())
    former = cluster.nodes.get(name)
    if former is not None:
        admin.incarnation = former.incarnation + 1
    cluster.nodes[name] = admin
    admin.by_hand = cluster.by_hand
    admin.start()


HANDLERS: Final[find.Handlers] = {
    acts.JoinGroup: _join,
    acts.CloseConsumer: _close,
    acts.KillConsumer: _kill,
    acts.FreezeConsumer: _freeze,
    acts.ThawConsumer: _thaw,
    acts.ProcessingTime: _processing_time,
    acts.StallConsumer: _stall,
    acts.CommitOffsets: _commit,
    acts.PausePartitions: _pause_partitions,
    acts.ResumePartitions: _resume_partitions,
    acts.RemoveMember: _remove_member,
}
