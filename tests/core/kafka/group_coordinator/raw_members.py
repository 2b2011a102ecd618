"""Clients that send single requests of the classic protocol to a group coordinator."""

from __future__ import annotations

from typing import Any

from core.kafka import errors
from core.kafka.group_coordinator.classic_group.classic_group import ClassicGroup
from core.kafka.group_coordinator.classic_group.classic_group_messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    Subscription,
    SyncGroupRequest,
)
from core.kafka.group_coordinator.group_metadata import GroupMetadata
from core.kafka.group_coordinator.group_requests import GroupMembership, OffsetCommitRequest, OffsetToCommit
from core.kafka.ids import TopicPartition
from core.kafka.release import RELEASES
from core.kafka.topic_spec import TopicSpec
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.journal import Sink, null_sink
from core.sim.units import SECOND, US_PER_MS
from tests.core.kafka.group_coordinator.raw_client import RawClient

GROUP = "g"


class Group:
    """A cluster with one group, whose members send only the requests that a test chooses. Times are in ms after the start."""

    def __init__(self, release: str = "4.1", *, sink: Sink = null_sink, **settings: object) -> None:
        given = {"group.min.session.timeout.ms": 1, **{name.replace("_", "."): value for name, value in settings.items()}}
        topics = (TopicSpec("foo", 2, 3), TopicSpec("bar", 2, 3), TopicSpec("__consumer_offsets", 1, 3))
        spec = ClusterSpec(tuple(BrokerSpec(broker) for broker in (1, 2, 3)), topics, settings=tuple(given.items()))
        self.cluster = Cluster(spec, RELEASES[release], sink=sink)
        self.cluster.run_until(SECOND)
        self.broker = RawClient(self.cluster, "probe").group_coordinator()
        self.began = self.cluster.now

    def at(self, ms: int) -> Group:
        """Run until the given time."""
        self.cluster.run_until(self.began + ms * US_PER_MS)
        return self

    def member(self, name: str, **fields: Any) -> Member:
        """Create a client."""
        return Member(self, name, **fields)

    @property
    def metadata(self) -> GroupMetadata:
        return self.cluster.brokers[self.broker].groups.groups.caches[0].groups[GROUP]

    @property
    def state(self) -> ClassicGroup:
        return self.metadata.classic

    def form(self, *members: Member) -> None:
        """Let members form a generation in which the first one has all partitions."""
        numbers = [member.join() for member in members]
        self.cluster.run_until(self.cluster.now + 7 * SECOND)
        for member, number in zip(members, numbers, strict=True):
            member.joined(number)
        self.sync(*members)

    def sync(self, *members: Member) -> None:
        """Let members sync. The leader assigns everything to itself."""
        leader = next(member for member in members if member.member_id == self.state.leader)
        numbers = [member.sync(leader is member) for member in members]
        self.cluster.run_until(self.cluster.now + 20 * US_PER_MS)
        for member, number in zip(members, numbers, strict=True):
            assert member.answer(number).error == errors.NONE


class Member:
    """A client.

    Attributes:
        raw: the client that sends the requests.
        member_id: its member ID; empty if it has none.
        generation: its generation.
    """

    def __init__(
        self,
        group: Group,
        name: str,
        instance: str = "",
        session: int = 5000,
        rebalance: int = 10_000,
        protocols: tuple[str, ...] = ("range",),
    ) -> None:
        self.group = group
        self.raw = RawClient(group.cluster, name)
        self.instance = instance
        self.session, self.rebalance, self.protocols = session, rebalance, protocols
        self.topics = ("foo",)
        self.member_id = ""
        self.generation = -1

    def answer(self, number: int) -> Any:
        """Return the response to a request; None if there is none yet."""
        return self.raw.responses.get(number)

    def first_join(self) -> Any:
        """Ask for a member ID, and return the response."""
        number = self._join("")
        self.group.cluster.run_until(self.group.cluster.now + 10 * US_PER_MS)
        return self.answer(number)

    def _join(self, member_id: str) -> int:
        protocols = tuple((name, Subscription(self.topics)) for name in self.protocols)
        fields = (self.raw.address, GROUP, member_id, self.instance, self.session * US_PER_MS, self.rebalance * US_PER_MS, protocols)
        return self.raw.start(self.group.broker, JoinGroupRequest, *fields)

    def join(self) -> int:
        """Send a JoinGroup, after a first one for a member ID if the member is dynamic and has none."""
        if not self.member_id and not self.instance and self.group.cluster.release.requires_member_id:
            response = self.first_join()
            assert response.error == errors.MEMBER_ID_REQUIRED
            self.member_id = response.member_id
        return self._join(self.member_id)

    def joined(self, number: int) -> Any:
        """Take over the response to a JoinGroup, which must have succeeded."""
        response = self.answer(number)
        assert response is not None
        assert response.error == errors.NONE
        self.member_id, self.generation = response.member_id, response.generation
        return response

    def sync(self, leads: bool = False, tps: tuple[TopicPartition, ...] = (TopicPartition("foo", 0),)) -> int:
        """Send a SyncGroup."""
        assignments = ((self.member_id, tps),) if leads else ()
        fields = (GROUP, self.generation, self.member_id, self.instance, self.group.state.protocol or self.protocols[0], assignments)
        return self.raw.start(self.group.broker, SyncGroupRequest, *fields)

    def heartbeat(self, generation: int | None = None) -> str:
        """Send a Heartbeat and return its error."""
        wanted = self.generation if generation is None else generation
        return self._ask(HeartbeatRequest, GROUP, wanted, self.member_id, self.instance).error

    def commit(self, offset: int = 5, *, offsets: tuple[OffsetToCommit, ...] = ()) -> str:
        """Send an OffsetCommit and return its error."""
        membership = GroupMembership(self.member_id, self.generation, self.instance)
        given = offsets or ((TopicPartition("foo", 0), offset, -1),)
        return self._ask(OffsetCommitRequest, self.raw.address, GROUP, membership, given).error

    def leave(self, *members: tuple[str, str]) -> Any:
        """Send a LeaveGroup for this member, or for others, and return the response."""
        return self._ask(LeaveGroupRequest, GROUP, members or ((self.member_id, self.instance),))

    def _ask(self, kind: type, *fields: object) -> Any:
        return self.raw.ask(self.group.broker, kind, *fields)
