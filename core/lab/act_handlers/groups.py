"""Acts on consumers that are members of groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from core.kafka import events
from core.kafka.admin_requests import CreateTopic
from core.kafka.clients.client_config import CONSUMER
from core.kafka.clients.group_member.assignors import assignors_of, default_assignors
from core.kafka.clients.group_member.group_member import GroupMember
from core.kafka.clients.group_member.member_config import CommitMode, MemberConfig, Reset, reset_duration
from core.kafka.clients.group_member.member_removal import MemberRemoval
from core.lab import acts
from core.lab.act_handlers import find
from core.lab.act_handlers.clients import check_client, config_of
from core.lab.act_handlers.internal_topics import offsets_topic
from core.lab.cluster_nodes import ClusterNodes
from core.sim.errors import ActRefused


def _check(cluster: ClusterNodes, act: acts.JoinGroup) -> None:
    """Check the fields of an act that accept only fixed words.

    Raises:
        ActRefused: a word is not valid, or the release does not support it.
    """
    release = cluster.release
    if not release.consumer_groups:
        raise ActRefused(f"release {release.name} has no group coordinator; use 0.9 or later")
    if cluster.by_hand:
        raise ActRefused("members of groups need time to pass; use a cluster with pace: timeline")
    if not act.topics:
        raise ActRefused("a consumer subscribes to at least 1 topic")
    if not act.allow_missing_topics:
        for topic in act.topics:
            find.topic(cluster, topic)
    known = assignors_of(release)
    for name in act.assignors:
        if name not in known:
            raise ActRefused(f"release {release.name} has the assignors {', '.join(known)}, not {name}")
    if act.instance_id is not None and not release.static_members:
        raise ActRefused(f"release {release.name} has no static members; omit 'instance-id', or use 2.4 or later (KIP-345)")
    if act.protocol not in ("classic", "consumer"):
        raise ActRefused(f"protocol must be classic or consumer, not {act.protocol}")
    if act.protocol == "consumer" and not release.consumer_protocol:
        raise ActRefused(f"release {release.name} has the classic protocol only; omit 'protocol', or use 4.0 or later (KIP-848)")
    if act.protocol == "consumer" and act.assignors:
        raise ActRefused("the coordinator assigns the partitions in the consumer protocol; omit 'assignors', or name a 'remote-assignor'")
    if act.protocol == "classic" and (act.remote_assignor is not None or act.member_id is not None):
        raise ActRefused("'remote-assignor' and 'member-id' need protocol: consumer")
    if act.commit not in tuple(CommitMode):
        raise ActRefused(f"commit must be {', '.join(CommitMode)}, not {act.commit}")
    if act.isolation not in ("read_uncommitted", "read_committed"):
        raise ActRefused(f"isolation must be read_uncommitted or read_committed, not {act.isolation}")
    if act.isolation == "read_committed" and not release.transactions:
        raise ActRefused(f"release {release.name} has no transactions; omit 'isolation', or use 0.11 or later (KIP-98)")
    if act.on_error not in ("close", "stop"):
        raise ActRefused(f"on-error must be close or stop, not {act.on_error}")
    if not act.group or act.instance_id == "":
        raise ActRefused("the group and the instance ID must not be empty")


def _reset(cluster: ClusterNodes, text: str) -> tuple[Reset, int]:
    """Return the policy and the duration of auto.offset.reset.

    Raises:
        ActRefused: there is no such policy.
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
    release = cluster.release
    policy, duration = _reset(cluster, act.reset)
    return MemberConfig(
        config_of(cluster, CONSUMER, act.config),
        act.group,
        tuple(dict.fromkeys(act.topics)),
        () if act.protocol == "consumer" else act.assignors or default_assignors(release),
        act.instance_id or "",
        (act.rack or "") if release.reads_from_followers else None,
        policy,
        duration,
        act.isolation == "read_committed",
        CommitMode(act.commit),
        release.validates_positions,
        act.protocol == "consumer",
        act.remote_assignor or "",
        act.member_id or "",
    )


def _join(cluster: ClusterNodes, act: acts.JoinGroup) -> find.CheckThenDo:
    _check(cluster, act)
    former = cluster.member(act.consumer)
    if former is None:
        check_client(cluster, act.consumer, act.topics[0], GroupMember, "consumer of a group")
    elif former.running:
        raise ActRefused(f"consumer {act.consumer} is already running; close or kill it first, or give the other consumer another name")
    does, creation = _config(cluster, act), offsets_topic(cluster)
    yield
    if creation is not None:
        cluster.submit_admin_request(CreateTopic(creation))
    member = GroupMember(act.consumer, does, cluster.release, tuple(cluster.brokers), cluster.network, cluster.journal, cluster.account)
    member.delay, member.per_record = act.poll_time, act.record_time
    member.coordinator.assign_time = act.assign_time
    member.closes_on_error = act.on_error == "close"
    if act.crash_after_records is not None:
        member.crash_after = act.crash_after_records
    if former is not None:
        cluster.paused.pop(former.address, None)
        member.succeed(former)
    cluster.add_client(member)
    member.start()


def running_member(cluster: ClusterNodes, name: str) -> GroupMember:
    """Return the running consumer with the given name that belongs to a group.

    Raises:
        ActRefused: there is no such consumer. The message names the running consumers.
    """
    member = cluster.member(name)
    if member is None or not member.running:
        running = [client.name for client in cluster.clients.values() if isinstance(client, GroupMember) and client.running]
        raise ActRefused(f"no consumer {name} of a group is running; {find.existing('running ones', running)}")
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
    cluster.pause(member.address)
    cluster.journal.emit(events.MemberFrozen.kind, member.name, member.does.group)


def _thaw(cluster: ClusterNodes, act: acts.ThawConsumer) -> find.CheckThenDo:
    member = running_member(cluster, act.consumer)
    if member.address not in cluster.paused:
        raise ActRefused(f"consumer {act.consumer} is not frozen")
    yield
    since = cluster.resume(member.address)
    journal = cluster.journal
    member.thawed(journal.now - since)
    journal.cause = journal.emit(events.MemberThawed.kind, member.name, member.does.group, journal.now - since)


def _processing_time(cluster: ClusterNodes, act: acts.ProcessingTime) -> find.CheckThenDo:
    member = running_member(cluster, act.consumer)
    if act.poll_time is None and act.record_time is None:
        raise ActRefused("give a poll-time or a record-time")
    yield
    member.delay = member.delay if act.poll_time is None else act.poll_time
    member.per_record = member.per_record if act.record_time is None else act.record_time


def _stall(cluster: ClusterNodes, act: acts.StallConsumer) -> find.CheckThenDo:
    member = _awake(cluster, act.consumer)
    yield
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
    admin = MemberRemoval(name, act.group, act.instance_id, tuple(cluster.brokers), cluster.network, cluster.journal, cluster.account)
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
