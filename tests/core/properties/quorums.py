"""Random timelines of a quorum: voters are killed, paused, and cut off from each other while brokers stop and start. Timelines are plain
data, so that a failing one can be replayed.
"""

from __future__ import annotations

from typing import Final

import attrs
from hypothesis import strategies as st

from core.kafka.controller.quorum.kafka_raft_client import Role
from core.kafka.controller.quorum.raft_messages import LeaderChangeMessage
from core.kafka.ids import TopicPartition
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.errors import ActRefused
from core.sim.units import SECOND, US_PER_MS

HEALED_WITHIN: Final = 60 * SECOND
"""The virtual time within which a healed cluster must be whole again: startup, an election, a session, and the return to the ISR."""

MOST_VOTERS: Final = 5


@attrs.frozen
class QuorumLife:
    """Three brokers, `voters` controllers (in the brokers if `combined` is set), and steps of a waiting time in µs and an act."""

    voters: int
    combined: bool
    seed: int
    steps: tuple[tuple[int, acts.Act], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the voters."""
        return tuple(f"{'b' if self.combined else 'c'}{number}" for number in range(1, self.voters + 1))

    def cluster(self) -> Cluster:
        """Build the cluster with a steady load."""
        topic = TopicSpec("t", assignment=(PartitionSpec((1, 2, 3)), PartitionSpec((2, 3, 1))), config=(("min.insync.replicas", "2"),))
        brokers = tuple(BrokerSpec(broker) for broker in range(1, max(3, self.voters if self.combined else 3) + 1))
        cluster = Cluster(ClusterSpec(brokers, (topic,), controllers=self.names), seed=self.seed)
        cluster.do(acts.Load("t", 5, every=400 * US_PER_MS))
        return cluster


@st.composite
def quorum_lives(draw: st.DrawFn) -> QuorumLife:
    """Draw a timeline of at most 25 steps."""
    combined = draw(st.booleans())
    voters = draw(st.sampled_from((1, 2, 3, 3, 3, 4, 5)))
    names = [f"{'b' if combined else 'c'}{number}" for number in range(1, voters + 1)]
    name = st.sampled_from(names)
    broker = st.integers(1, 3)
    node = st.one_of(name, st.sampled_from(("b1", "b2", "b3")))
    pair = st.tuples(node, node).filter(lambda pair: pair[0] != pair[1])
    of_voters = [st.builds(act, name) for act in (acts.KillController, acts.StartController, acts.PauseController, acts.ResumeController)]
    of_brokers = [st.builds(act, broker) for act in (acts.Kill, acts.Start, acts.Shutdown, acts.Pause, acts.Resume)]
    step = st.one_of(
        *(of_brokers * 2 if combined else of_voters + of_brokers),
        st.builds(acts.Cut, pair, st.booleans()),
        st.builds(acts.Isolate, node),
        st.just(acts.Heal()),
        st.builds(acts.Hold, pair),
        st.builds(acts.Release, pair),
        st.just(acts.Set("min.insync.replicas", "1")),
        st.builds(acts.Link, pair, latency=st.sampled_from((500, 300_000, 1_500_000)), jitter=st.sampled_from((0, 100_000))),
    )
    wait = st.one_of(st.sampled_from((0, 1_500, 400_000)), st.integers(0, 15_000).map(lambda ms: ms * US_PER_MS))
    steps = draw(st.lists(st.tuples(wait, step), max_size=25))
    return QuorumLife(voters, combined, draw(st.integers(0, 1_000)), tuple(steps))


class QuorumWatch:
    """A watch that checks every voter after every step of the simulation.

    Attributes:
        leaders: the leader of each epoch; commits: the voter that committed in it.
    """

    def __init__(self) -> None:
        self.leaders: dict[int, str] = {}
        self.committed: list[object] = []

    def look(self, cluster: Cluster) -> None:
        """Check the current state against the invariants."""
        quorum = cluster.quorum
        assert quorum is not None
        for offset, entry in enumerate(self.committed):
            assert quorum.log.committed[offset] is entry, f"the committed entry at {offset} has changed"
        self.committed = list(quorum.log.committed)
        for voter in quorum.voters.values():
            if voter.role is Role.LEADER:
                assert self.leaders.setdefault(voter.epoch, voter.name) == voter.name, f"two leaders in epoch {voter.epoch}"
            for offset in range(voter.high_watermark):
                assert voter.log[offset] is quorum.log.committed[offset], f"{voter.name} commits another entry at {offset}"
            epochs = [entry.epoch for entry in voter.log]
            assert epochs == sorted(epochs), f"epochs go back in the log of {voter.name}"
        assert len({len(cluster.metadata), quorum.log.metadata_end(len(quorum.log.committed))}) == 1, "metadata changed outside the log"
        held = sum(voter.log[: len(quorum.log.committed)] == quorum.log.committed for voter in quorum.voters.values())
        assert held >= quorum.log.majority, "less than a majority holds what is committed"

    def run(self, cluster: Cluster, until: int) -> None:
        """Run the cluster to a time, and check the invariants whenever a voter's log or role can have changed."""
        seen: tuple[object, ...] = ()
        quorum = cluster.quorum
        assert quorum is not None
        while (due := cluster.next_time()) is not None and due <= until:
            cluster.step()
            now = tuple((voter.role, voter.epoch, len(voter.log), voter.high_watermark) for voter in quorum.voters.values())
            if now != seen:
                seen = now
                self.look(cluster)
        cluster.run_until(until)


def attempt(cluster: Cluster, act: acts.Act) -> None:
    """Execute an act if it is possible."""
    try:
        cluster.do(act)
    except ActRefused:
        return


def play(life: QuorumLife, watch: QuorumWatch) -> Cluster:
    """Play a life from its start to its last step."""
    cluster = life.cluster()
    for wait, act in life.steps:
        watch.run(cluster, cluster.now + wait)
        attempt(cluster, act)
    return cluster


def heal(cluster: Cluster, watch: QuorumWatch) -> dict[TopicPartition, None]:
    """Repair everything, wait until the cluster has recovered, and return the partitions that only an unclean election could repair."""
    assert cluster.view().lost == 0, "nothing that befell it loses records: no log was cut, and nobody elected outside the ISR and ELR"
    abandoned: dict[TopicPartition, None] = {}
    cluster.do(acts.StopLoad())
    for direction, link in list(cluster.network.links.items()):
        if link.held:
            cluster.do(acts.Release(direction))
        cluster.do(acts.Link(direction, latency=500, jitter=0))
    attempt(cluster, acts.Heal())
    for broker in cluster.brokers:
        attempt(cluster, acts.Resume(broker))
        attempt(cluster, acts.Start(broker))
    for name in cluster.controllers:
        attempt(cluster, acts.ResumeController(name))
        attempt(cluster, acts.StartController(name))
    end = cluster.now + HEALED_WITHIN
    while cluster.now < end:
        watch.run(cluster, min(end, cluster.now + 5 * SECOND))
        for broker in cluster.brokers:  # one that was shutting down when everything was healed
            attempt(cluster, acts.Start(broker))
        for partition in cluster.view().partitions:
            if not partition.isr and not partition.elr:
                # min.insync.replicas was set while nobody was in the ISR, which clears the ELR: only people can choose then.
                abandoned[partition.tp] = None
                attempt(cluster, acts.Elect("unclean", partition.tp))
    return abandoned


def whole(cluster: Cluster, abandoned: dict[TopicPartition, None]) -> None:
    """Assert that there is one active controller, all voters have the same log, every partition is led and in sync, and records are lost
    only where they were given up.
    """
    quorum = cluster.quorum
    assert quorum is not None
    view = cluster.view()
    assert view.majority
    assert view.active_controllers == 1
    active = quorum.active()
    assert active is not None
    for voter in quorum.voters.values():
        assert (voter.epoch, voter.leader, voter.high_watermark) == (active.epoch, active.name, len(quorum.log.committed)), voter.name
        assert voter.log == quorum.log.committed
    assert type(quorum.log.committed[0].write) is LeaderChangeMessage
    for partition in view.partitions:
        assert set(partition.isr) == {1, 2, 3}, partition
        assert partition.leader in (1, 2, 3)
        assert len({replica.leo for replica in partition.replica_views}) == 1
    for broker in cluster.brokers.values():
        assert broker.context.metadata_cache.offset == len(cluster.metadata), f"b{broker.id} has not all metadata"
        assert broker.channel.controller == active.name
    assert not [tp for tp, account in cluster.account.partitions.items() if account.lost_count and tp not in abandoned]
    assert abandoned or not cluster.account.elections.get("unclean")
