"""How acts configure consumers as members of groups: the consumers that `join-group` starts, and those in services and processes."""

from __future__ import annotations

import attrs

from core.kafka.clients.client_settings import CONSUMER
from core.kafka.clients.group_member.assignors import assignors_of, default_assignors
from core.kafka.clients.group_member.member_config import MemberConfig, Reset
from core.lab import acts
from core.lab.act_handlers.clients import config_of
from core.lab.acts.applications import StartService
from core.lab.cluster_nodes import ClusterNodes
from core.sim.errors import ActRefused

Joining = acts.JoinGroup | acts.StartProcess | StartService
"""An act that starts members of groups."""


def check_membership(cluster: ClusterNodes, act: Joining) -> None:
    """Check the fields of an act that describe the membership in a group.

    Raises:
        ActRefused: a word in the act is not valid, or the release does not support it.
    """
    release = cluster.release
    if not release.consumer_groups:
        raise ActRefused(f"release {release.name} has no group coordinator; use 0.9 or later")
    if cluster.by_hand:
        raise ActRefused("members of groups need time to pass; use a cluster with 'pace: timeline'")
    known = assignors_of(release)
    for name in act.assignors:
        if name not in known:
            raise ActRefused(f"release {release.name} has the assignors {', '.join(known)}, not {name}")
    if act.instance_id is not None and not release.static_members:
        raise ActRefused(f"release {release.name} has no static members; omit 'instance-id', or use 2.4 or later (KIP-345)")
    if act.instance_id == "":
        raise ActRefused("the instance ID must not be empty")
    if act.protocol not in ("classic", "consumer"):
        raise ActRefused(f"protocol must be classic or consumer, not {act.protocol}")
    if act.protocol == "consumer" and not release.consumer_protocol:
        raise ActRefused(f"release {release.name} has only the classic protocol; omit 'protocol', or use 4.0 or later (KIP-848)")
    if act.protocol == "consumer" and act.assignors:
        raise ActRefused("in the consumer protocol, the coordinator assigns the partitions; omit 'assignors', or name a 'remote-assignor'")
    if act.protocol == "classic" and act.remote_assignor is not None:
        raise ActRefused("'remote-assignor' needs 'protocol: consumer'")


def check_no_membership(act: acts.StartProcess | StartService, remedy: str) -> None:
    """Check that an act without group members has no fields that describe a membership.

    Raises:
        ActRefused: the act has a field that describes a membership. The error message says how to correct the act.
    """
    if act.assignors or act.protocol != "classic" or act.remote_assignor is not None or act.instance_id is not None:
        raise ActRefused(f"'assignors', 'protocol', 'remote-assignor', and 'instance-id' are for members of groups; {remedy}")


def member_config(cluster: ClusterNodes, act: Joining, group: str, topics: tuple[str, ...], *, any_kind: bool = False) -> MemberConfig:
    """Return the configuration of a consumer that an act starts as a member of a group.

    If `any_kind` is set, the act can also contain settings of producers.

    Raises:
        ActRefused: a setting is unknown or wrong.
    """
    release = cluster.release
    return MemberConfig(
        config_of(cluster, CONSUMER, act.config, any_kind=any_kind),
        group,
        topics,
        () if act.protocol == "consumer" else act.assignors or default_assignors(release),
        act.instance_id or "",
        "" if release.reads_from_followers else None,
        commits_epochs=release.validates_positions,
        consumer_protocol=act.protocol == "consumer",
        remote_assignor=act.remote_assignor or "",
    )


def worker_membership(
    cluster: ClusterNodes,
    act: acts.StartProcess | StartService,
    group: str,
    topic: str,
    instance_id: str,
) -> MemberConfig:
    """Return the configuration of the consumer in one worker of a service, or in a process. Whether it reads only committed records follows
    from how the worker or process delivers (`ConsumingProcess`).

    Raises:
        ActRefused: a setting is unknown or wrong.
    """
    found = member_config(cluster, act, group, (topic,), any_kind=True)
    return attrs.evolve(found, instance_id=instance_id, reset=Reset(str(act.reset)))
