"""The membership of a consumer, in the protocol that the consumer uses (Kafka: group.protocol)."""

from __future__ import annotations

from core.kafka.clients.group_member.abstract_membership import Application
from core.kafka.clients.group_member.consumer_coordinator import ConsumerCoordinator
from core.kafka.clients.group_member.member_config import MemberConfig
from core.kafka.clients.group_member.membership_manager import MembershipManager
from core.kafka.release import Release

Membership = ConsumerCoordinator | MembershipManager
"""A membership in the classic protocol or in the consumer protocol."""


def new_membership(client: Application, does: MemberConfig, release: Release) -> Membership:
    """Return the membership of a consumer that has not joined its group yet."""
    return MembershipManager(client, does, release) if does.consumer_protocol else ConsumerCoordinator(client, does, release)
