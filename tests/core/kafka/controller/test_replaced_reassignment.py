"""A move that replaces a running one, and a move that is canceled, compared with real clusters of 4.1.1 and 2.8.2 (tests/recordings)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from core.kafka.ids import NO_LEADER, TopicPartition
from core.kafka.release import RELEASES
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.errors import ActRefused
from core.sim.units import SECOND

RECORDINGS: Final = Path(__file__).parents[3] / "recordings"

Row = tuple[int, tuple[int, ...], list[int], list[int], list[int], list[int]]
"""(leader, replicas, ISR, adding, removing, ELR), with every list except the replicas in ascending order."""


def recorded(name: str, topic: str) -> list[Row]:
    """Return the successive states that a recording shows of the only partition of a topic, without repetitions."""
    rows: list[Row] = []
    for line in (RECORDINGS / name).read_text().splitlines():
        if line.startswith(f"\tTopic: {topic}\t"):
            columns = dict(re.findall(r"\t([A-Za-z ]+): ([^\t]*)", line))
            ids = {column: [int(one) for one in columns.get(column, "").split(",") if one.strip()] for column in columns if column != "Topic"
                   and column not in ("Partition", "Leader")}  # fmt: skip
            leader = NO_LEADER if columns["Leader"] == "none" else int(columns["Leader"])
            rows.append(
                (leader, tuple(ids["Replicas"]), sorted(ids["Isr"]), sorted(ids.get("Adding Replicas", [])),
                 sorted(ids.get("Removing Replicas", [])), ids.get("Elr", []))
            )  # fmt: skip
    return [row for index, row in enumerate(rows) if index == 0 or rows[index - 1] != row]


class Moves:
    """A cluster of brokers 1 to 4 with one partition `t-0`. Cut links hold followers back, as throttles do on the real cluster."""

    def __init__(self, release: str, replicas: tuple[int, ...], config: tuple[tuple[str, str], ...] = ()) -> None:
        self.tp = TopicPartition("t", 0)
        self.told: list[tuple] = []
        spec = ClusterSpec(
            tuple(BrokerSpec(broker) for broker in (1, 2, 3, 4)),
            (TopicSpec("t", assignment=(PartitionSpec(replicas),), config=config),),
            (("auto.leader.rebalance.enable", False),),
        )
        self.cluster = Cluster(spec, RELEASES[release], sink=self.told.append)
        self.do(acts.Produce("t", 400))

    def do(self, *what: acts.Act, then: int = 4 * SECOND) -> Row:
        """Do something, let some time pass, and return the partition's state."""
        for act in what:
            self.cluster.do(act)
        self.cluster.run_until(self.cluster.now + then)
        return self.row

    def hold_back(self, follower: int) -> None:
        """Prevent a follower from fetching."""
        for other in {1, 2, 3, 4} - {follower}:
            self.cluster.do(acts.Cut((f"b{follower}", f"b{other}")))

    def let_on(self, follower: int) -> None:
        """Allow a follower to fetch again."""
        for other in {1, 2, 3, 4} - {follower}:
            self.cluster.do(acts.Heal((f"b{follower}", f"b{other}")))

    @property
    def row(self) -> Row:
        """Return the state in the form of `recorded`."""
        view = self.cluster.partition_view(self.tp)
        return view.leader, view.replicas, sorted(view.isr), sorted(view.adding), sorted(view.removing), list(view.elr)


@pytest.mark.parametrize("release", ["3.3", "3.9", "4.1", "4.3"])
def test_kraft_keeps_all_replicas_until_the_new_target_is_in_sync(release: str) -> None:
    """The dropped replica 2 continues to lead, and the whole old list is removed at the end."""
    moves = Moves(release, (1,))
    moves.hold_back(4)
    seen = [moves.do(acts.Reassign(moves.tp, (2, 4)))]
    seen.append(moves.do(acts.Elect("preferred", moves.tp)))
    moves.hold_back(3)
    seen.append(moves.do(acts.Reassign(moves.tp, (3,))))
    moves.let_on(3)
    seen.append(moves.do())
    assert seen == recorded("moves-4.1.1.txt", "foo")
    assert moves.cluster.account.lost == 0


def test_kraft_does_not_set_a_list_that_comes_out_empty() -> None:
    """The move goes to 1 and 3, and then to 1, 2, and 3. Nothing more is to be removed, so the first move's removal of 2 remains."""
    moves = Moves("4.1", (1, 2))
    moves.hold_back(3)
    seen = [moves.do(acts.Reassign(moves.tp, (1, 3)))]
    seen.append(moves.do(acts.Reassign(moves.tp, (1, 2, 3))))
    moves.let_on(3)
    seen.append(moves.do())
    assert seen == recorded("moves-4.1.1.txt", "bar")


def test_a_move_that_is_given_up_leaves_what_it_was_adding_in_the_elr() -> None:
    moves = Moves("4.1", (1, 2), (("min.insync.replicas", "2"),))
    moves.hold_back(4)
    seen = [moves.do(acts.Reassign(moves.tp, (3, 4)))]
    seen.append(moves.do(acts.Kill(2), then=12 * SECOND))
    seen.append(moves.do(acts.CancelReassignment(moves.tp)))
    assert seen == recorded("moves-4.1.1.txt", "baz")
    assert moves.tp not in moves.cluster.brokers[3].disk.logs


def test_a_former_leader_is_elected_by_nobody_where_a_reassignment_begins() -> None:
    """`#changePartitionReassignment` elects as ONLINE, even if the topic allows unclean election."""
    moves = Moves("4.1", (1, 2), (("unclean.leader.election.enable", "false"),))
    moves.do(acts.Kill(2), then=12 * SECOND)
    moves.do(acts.Kill(1), then=12 * SECOND)
    moves.do(acts.Set("unclean.leader.election.enable", "true", topic="t"), then=0)
    leader, replicas, *_ = moves.do(acts.Reassign(moves.tp, (3, 4)), then=SECOND)
    assert (leader, replicas) == (NO_LEADER, (3, 4, 1, 2))


@pytest.mark.parametrize("release", ["2.4", "2.7", "2.8"])
def test_zookeeper_takes_the_dropped_replicas_out_of_leadership_and_isr(release: str) -> None:
    """The dropped replica 2 led. There is no leader, whichever broker starts, until the next broker fails. Then the move completes."""
    moves = Moves(release, (1,))
    moves.hold_back(3)
    seen = [moves.do(acts.Reassign(moves.tp, (2, 3)))]
    seen.append(moves.do(acts.Elect("preferred", moves.tp)))
    seen.append(moves.do(acts.Reassign(moves.tp, (4,)), then=30 * SECOND))
    assert moves.tp not in moves.cluster.brokers[2].disk.logs, "StopReplica has deleted it"
    moves.do(acts.Shutdown(3), then=30 * SECOND)
    seen.append(moves.row)
    assert seen == recorded("moves-2.8.2.txt", "foo")
    assert moves.cluster.account.lost == 0


def test_zookeeper_raises_the_epoch_for_each_replica_that_leaves_the_isr() -> None:
    """[1, 2] to [3, 4]: the epoch is raised when the move begins (1), when 3 is elected (2), and when 1 (3) and 2 (4) leave the ISR
    (`#doRemoveReplicasFromIsr`).
    """
    moves = Moves("2.8", (1, 2))
    moves.do(acts.Reassign(moves.tp, (3, 4)), then=10 * SECOND)
    isrs = [(event[7], tuple(sorted(event[10]))) for event in moves.told if event[3] == "partition-changed"]
    assert list(dict.fromkeys(isrs))[-3:] == [(2, (1, 2, 3, 4)), (3, (2, 3, 4)), (4, (3, 4))]
    assert moves.row[:3] == (3, (3, 4), [3, 4])


def test_a_cancelled_move_of_zookeeper_elects_from_the_origin() -> None:
    """There is no leader after 2 was dropped. When the move is canceled, a leader is immediately elected among the original replicas."""
    moves = Moves("2.8", (1,))
    moves.hold_back(3)
    moves.do(acts.Reassign(moves.tp, (2, 3)))
    assert moves.do(acts.Elect("preferred", moves.tp))[0] == 2
    assert moves.do(acts.CancelReassignment(moves.tp))[:4] == (1, (1,), [1], [])


def test_before_2_4_a_running_move_has_to_come_to_its_end() -> None:
    moves = Moves("2.1", (1,))
    moves.hold_back(3)
    moves.do(acts.Reassign(moves.tp, (2, 3)))
    with pytest.raises(ActRefused, match="There is an existing assignment running"):
        moves.cluster.do(acts.Reassign(moves.tp, (4,)))
    with pytest.raises(ActRefused, match=r"releases before 2\.4 cannot cancel"):
        moves.cluster.do(acts.CancelReassignment(moves.tp))


@pytest.mark.parametrize(
    ("release", "words"),
    [
        ("0.9", r"Only 2 replicas out of the new set of replicas 2,3 for partition \[t,0\] to be reassigned are alive"),
        ("1.1", "The proposed assignment contains non-existent brokerIDs: 3"),
        ("2.4", "The proposed assignment contains non-existent brokerIDs: 3"),
        ("2.8", "Unknown broker id 3"),
        ("4.1", "Unknown broker id 3"),
    ],
)
def test_a_dead_target_is_refused(release: str, words: str) -> None:
    moves = Moves(release, (1,))
    moves.do(acts.Kill(3), then=30 * SECOND)
    seq = moves.cluster.journal.seq
    with pytest.raises(ActRefused, match=words):
        moves.cluster.do(acts.Reassign(moves.tp, (2, 3)))
    assert moves.cluster.journal.seq == seq


@pytest.mark.parametrize("release", ["3.3", "3.9", "4.3"])
def test_the_admin_api_accepts_a_dead_target(release: str) -> None:
    """`ReplicationControlManager#validateManualPartitionAssignment` wants registered brokers, not live ones (3.9.1-501)."""
    moves = Moves(release, (1,))
    moves.do(acts.Kill(3), then=30 * SECOND)
    moves.do(acts.Reassign(moves.tp, (2, 3), admin_api=True))
    view = moves.cluster.partition_view(moves.tp)
    assert (view.leader, view.replicas, view.adding, view.removing) == (1, (2, 3, 1), (2, 3), (1,))
    moves.do(acts.Start(3), then=60 * SECOND)
    assert moves.row[:3] == (2, (2, 3), [2, 3])


@pytest.mark.parametrize(
    ("release", "words"),
    [
        ("2.1", r"the Admin API can reassign partitions only since 2\.4"),
        ("2.4", r"Replica assignment has brokers that are not alive\. Replica list: \[2, 3\], live broker list: \[1, 2, 4\]"),
        ("2.8", r"Replica assignment has brokers that are not alive\. Replica list: \[2, 3\], live broker list: \[1, 2, 4\]"),
    ],
)
def test_a_zookeeper_controller_refuses_a_dead_target_of_the_admin_api(release: str, words: str) -> None:
    moves = Moves(release, (1,))
    moves.do(acts.Kill(3), then=30 * SECOND)
    with pytest.raises(ActRefused, match=words):
        moves.cluster.do(acts.Reassign(moves.tp, (2, 3), admin_api=True))


def test_in_0_10_2_a_dead_target_is_awaited() -> None:
    moves = Moves("0.10.2", (1,))
    moves.do(acts.Kill(3), then=30 * SECOND)
    assert moves.do(acts.Reassign(moves.tp, (2, 3)))[3] == [2, 3]
    moves.do(acts.Start(3), then=60 * SECOND)
    assert moves.row[:3] == (2, (2, 3), [2, 3])


@pytest.mark.parametrize("release", ["3.3", "3.9", "4.3"])
def test_a_broker_deletes_a_replica_that_was_removed_while_it_was_dead(release: str) -> None:
    """`BrokerMetadataPublisher#findStrayPartitions`, `ReplicaManager#deleteStrayReplicas` (3.9.1-501)."""
    moves = Moves(release, (1, 2))
    moves.do(acts.Kill(1), then=30 * SECOND)
    moves.do(acts.Reassign(moves.tp, (2, 3)), then=10 * SECOND)
    assert moves.tp in moves.cluster.brokers[1].disk.logs
    moves.do(acts.Start(1), then=30 * SECOND)
    assert moves.tp not in moves.cluster.brokers[1].disk.logs
    assert moves.row[:3] == (2, (2, 3), [2, 3])
