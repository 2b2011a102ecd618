"""Votes and pre-votes (KIP-996) by the cases of Kafka's `KafkaRaftClientTest` and `KafkaRaftClientPreVoteTest`: which voters vote for a
candidate, and that asking them in advance changes no epoch.
"""

from __future__ import annotations

from typing import Any

import pytest

from core.kafka import errors, events
from core.kafka.controller.quorum.kafka_raft_client import KafkaRaftClient, Role
from core.kafka.controller.quorum.raft_messages import QuorumFetchRequest, QuorumFetchResponse, VoteRequest, VoteResponse
from core.kafka.release import RELEASES
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND


class Quorum:
    """A cluster with the controllers c1 (active in epoch 1), c2, and c3."""

    def __init__(self, release: str = "4.3") -> None:
        self.events: list[tuple[Any, ...]] = []
        topic = TopicSpec("t", assignment=(PartitionSpec((1,)),))
        spec = ClusterSpec((BrokerSpec(1),), (topic,), controllers=("c1", "c2", "c3"))
        self.cluster = Cluster(spec, RELEASES[release], 4, self.events.append)
        self.cluster.run_until(3 * SECOND)

    def voter(self, name: str) -> KafkaRaftClient:
        assert self.cluster.quorum is not None
        return self.cluster.quorum.voters[name]

    def wait(self, seconds: int) -> None:
        self.cluster.run_until(self.cluster.now + seconds * SECOND)

    def candidacies(self) -> list[tuple[Any, ...]]:
        """Return the voters that have raised the epoch, with the epochs."""
        return [event[4:6] for event in self.events if event[3] == events.ControllerCandidate.kind]

    def ask(self, candidate: str, voter: str, *, epoch: int = 1, last_epoch: int = 1, behind: int = 0, pre: bool = True) -> VoteResponse:
        """Send a vote request from one voter to another. Return the response, which the first voter does not handle. `behind` is the number
        of entries by which the candidate's log is shorter than the voter's.
        """
        host = self.voter(candidate).host
        found: list[VoteResponse] = []
        kept = host.handlers[VoteResponse]
        host.handlers[VoteResponse] = lambda response, sender: found.append(response)
        host.send(voter, VoteRequest(epoch, candidate, last_epoch, len(self.voter(voter).log) - behind, pre))
        self.cluster.run_until(self.cluster.now + SECOND // 10)
        host.handlers[VoteResponse] = kept
        (response,) = found
        return response


@pytest.fixture
def quorum() -> Quorum:
    return Quorum()


def state_of(voter: KafkaRaftClient) -> tuple[Role, int, str, str]:
    return voter.role, voter.epoch, voter.leader, voter.voted_for


# The voter, when it is asked in advance


def test_a_follower_that_fetches_from_its_leader_refuses(quorum: Quorum) -> None:
    """`FollowerState#canGrantVote`."""
    before = state_of(quorum.voter("c3"))
    assert before[:3] == (Role.FOLLOWER, 1, "c1")
    assert quorum.ask("c2", "c3") == VoteResponse(1, "c1", granted=False, pre=True)
    assert state_of(quorum.voter("c3")) == before


def test_a_follower_that_has_not_fetched_from_its_leader_yet_grants(quorum: Quorum) -> None:
    """`FollowerState#canGrantVote`: the leader that it knows from disk might be gone."""
    quorum.cluster.do(acts.KillController("c3"))
    quorum.cluster.do(acts.Cut(("c1", "c3")))
    quorum.cluster.do(acts.StartController("c3"))
    quorum.cluster.run_until(quorum.cluster.now + quorum.cluster.spec.startup)
    assert state_of(quorum.voter("c3"))[:3] == (Role.FOLLOWER, 1, "c1")
    assert quorum.ask("c2", "c3") == VoteResponse(1, "c1", granted=True, pre=True)
    assert quorum.voter("c3").role is Role.FOLLOWER
    quorum.cluster.do(acts.Heal())
    quorum.cluster.run_until(quorum.cluster.now + SECOND)
    assert state_of(quorum.voter("c3"))[:3] == (Role.FOLLOWER, 1, "c1")
    assert not quorum.ask("c2", "c3").granted, "now it has fetched"


def test_a_leader_refuses(quorum: Quorum) -> None:
    """`LeaderState#canGrantVote`."""
    assert quorum.ask("c2", "c1") == VoteResponse(1, "c1", granted=False, pre=True)
    assert quorum.voter("c1").role is Role.LEADER


@pytest.mark.parametrize("role", [Role.UNATTACHED, Role.PROSPECTIVE, Role.CANDIDATE])
def test_a_voter_without_a_leader_grants_as_often_as_it_is_asked(quorum: Quorum, role: Role) -> None:
    """`UnattachedState`, `ProspectiveState`, and `CandidateState#canGrantVote`: a vote in the epoch does not matter, and none is given."""
    voter = quorum.voter("c3")
    voter._transition_to_unattached()
    voter.role, voter.voted_for = role, "c3"
    before = state_of(voter)
    for candidate in ("c1", "c2", "c1"):
        assert quorum.ask(candidate, "c3", epoch=voter.epoch) == VoteResponse(voter.epoch, "", granted=True, pre=True)
        assert state_of(voter) == before


@pytest.mark.parametrize(("last_epoch", "behind", "granted"), [(1, 0, True), (1, 1, False), (0, -5, False), (2, 1, True)])
def test_a_log_that_is_behind_is_refused(quorum: Quorum, last_epoch: int, behind: int, granted: bool) -> None:
    """`testRejectPreVoteIfRemoteLogIsNotUpToDate`: the last epoch decides, and then the length."""
    voter = quorum.voter("c3")
    voter._enter_epoch(2)
    assert quorum.ask("c2", "c3", epoch=2, last_epoch=last_epoch, behind=behind).granted is granted


def test_an_older_epoch_is_refused(quorum: Quorum) -> None:
    """`testHandleInvalidPreVoteRequestWithOlderEpoch`."""
    voter = quorum.voter("c3")
    voter._enter_epoch(2)
    assert quorum.ask("c2", "c3", epoch=1) == VoteResponse(2, "", granted=False, pre=True)
    assert state_of(voter)[:3] == (Role.UNATTACHED, 2, "")


def test_a_higher_epoch_ends_the_epoch_of_a_follower(quorum: Quorum) -> None:
    """`testHandlePreVoteRequestAsFollower`: the follower becomes unattached in the higher epoch, and grants."""
    assert quorum.ask("c2", "c3", epoch=2) == VoteResponse(2, "", granted=True, pre=True)
    assert state_of(quorum.voter("c3")) == (Role.UNATTACHED, 2, "", "")


# The voter, when it is asked for its vote


def test_the_first_candidate_of_an_epoch_gets_the_vote(quorum: Quorum) -> None:
    """`testHandleVoteRequestWithHigherEpoch`, `testVoteRequestWithSameEpochAndVotedCandidate`: a repeated request gets the vote again."""
    assert quorum.ask("c2", "c3", epoch=2, pre=False) == VoteResponse(2, "", granted=True, pre=False)
    assert state_of(quorum.voter("c3")) == (Role.UNATTACHED, 2, "", "c2")
    assert not quorum.ask("c1", "c3", epoch=2, pre=False).granted
    assert quorum.ask("c2", "c3", epoch=2, pre=False).granted
    assert quorum.ask("c1", "c3", epoch=3, pre=False).granted, "each epoch has its own vote"
    assert state_of(quorum.voter("c3")) == (Role.UNATTACHED, 3, "", "c1")


def test_no_vote_in_an_epoch_that_has_a_leader(quorum: Quorum) -> None:
    """`testVoterRespondsToVoteRequestWithLeader`: not even for a candidate that this voter has voted for."""
    voter = quorum.voter("c3")
    voter.voted_for = "c2"
    assert quorum.ask("c2", "c3", pre=False) == VoteResponse(1, "c1", granted=False, pre=False)
    assert state_of(voter) == (Role.FOLLOWER, 1, "c1", "c2")


def test_no_vote_for_a_log_that_is_behind(quorum: Quorum) -> None:
    """`testVoteRequestWithOlderLog`: the epoch of the request counts nevertheless, so the voter has lost its leader."""
    assert quorum.ask("c2", "c3", epoch=2, behind=1, pre=False) == VoteResponse(2, "", granted=False, pre=False)
    assert state_of(quorum.voter("c3")) == (Role.UNATTACHED, 2, "", "")


def test_no_vote_in_an_older_epoch(quorum: Quorum) -> None:
    voter = quorum.voter("c3")
    voter._enter_epoch(3)
    assert quorum.ask("c2", "c3", epoch=2, pre=False) == VoteResponse(3, "", granted=False, pre=False)
    assert state_of(voter) == (Role.UNATTACHED, 3, "", "")


# The candidate


def test_a_voter_that_is_cut_off_does_not_raise_the_epoch(quorum: Quorum) -> None:
    """KIP-996: when the voter returns, it follows the leader, which it has not disturbed."""
    quorum.cluster.do(acts.Isolate("c3"))
    quorum.wait(60)
    assert state_of(quorum.voter("c3"))[:2] == (Role.PROSPECTIVE, 1)
    quorum.cluster.do(acts.Heal())
    quorum.wait(10)
    assert [state_of(quorum.voter(name))[:3] for name in ("c1", "c2", "c3")] == [
        (Role.LEADER, 1, "c1"), (Role.FOLLOWER, 1, "c1"), (Role.FOLLOWER, 1, "c1"),
    ]  # fmt: skip
    assert quorum.candidacies() == []


def test_a_voter_that_misses_only_the_leader_does_not_raise_the_epoch(quorum: Quorum) -> None:
    """KIP-996: the other follower still fetches from the leader, and refuses."""
    quorum.cluster.do(acts.Cut(("c1", "c3")))
    quorum.wait(60)
    assert (quorum.voter("c1").role, quorum.voter("c2").leader, quorum.voter("c3").role) == (Role.LEADER, "c1", Role.PROSPECTIVE)
    assert quorum.candidacies() == []


def test_a_majority_that_would_vote_for_it_makes_a_candidate(quorum: Quorum) -> None:
    """`KafkaRaftClient#transitionToCandidate`: only then does the voter raise the epoch, vote for itself, and ask for votes."""
    quorum.cluster.do(acts.Isolate("c3"))
    voter = quorum.voter("c3")
    quorum.wait(10)
    assert voter.role is Role.PROSPECTIVE
    voter._handle_vote_response(VoteResponse(1, "", granted=False, pre=True), "c2")
    assert state_of(voter)[:2] == (Role.PROSPECTIVE, 1)
    voter._handle_vote_response(VoteResponse(1, "", granted=True, pre=False), "c2")
    assert state_of(voter)[:2] == (Role.PROSPECTIVE, 1), "this is the response to a real vote"
    voter._handle_vote_response(VoteResponse(1, "", granted=True, pre=True), "c2")
    assert state_of(voter) == (Role.CANDIDATE, 2, "", "c3")
    voter._handle_vote_response(VoteResponse(1, "", granted=True, pre=True), "c2")
    assert voter.role is Role.CANDIDATE, "a late pre-vote is no vote"
    voter._handle_vote_response(VoteResponse(2, "", granted=True, pre=False), "c2")
    assert state_of(voter) == (Role.LEADER, 2, "c3", "c3")


def test_a_response_that_names_the_silent_leader_does_not_bring_it_back(quorum: Quorum) -> None:
    """A prospective voter keeps the leader that it has lost (`ProspectiveState#leaderId`). It follows another leader, which a response
    names, at once (`KafkaRaftClient#maybeHandleCommonResponse`)."""
    quorum.cluster.do(acts.Isolate("c3"))
    voter = quorum.voter("c3")
    quorum.wait(10)
    voter._handle_vote_response(VoteResponse(1, "c1", granted=False, pre=True), "c2")
    assert state_of(voter)[:3] == (Role.PROSPECTIVE, 1, "")
    voter._handle_vote_response(VoteResponse(1, "c2", granted=False, pre=True), "c2")
    assert state_of(voter)[:3] == (Role.FOLLOWER, 1, "c2")


def test_after_the_death_of_the_leader_one_election_is_enough(quorum: Quorum) -> None:
    quorum.cluster.do(acts.KillController("c1"))
    quorum.wait(20)
    assert len(quorum.candidacies()) == 1
    assert {quorum.voter(name).epoch for name in ("c2", "c3")} == {2}
    assert {quorum.voter(name).role for name in ("c2", "c3")} == {Role.LEADER, Role.FOLLOWER}


def test_before_4_0_a_voter_that_is_cut_off_raises_the_epoch_and_unseats_the_leader_when_it_returns() -> None:
    """Pre-votes are KIP-996 (4.0). Before, `pollFollowerAsVoter` makes a voter a candidate as soon as it misses its leader."""
    for release, disturbed in (("3.6", True), ("3.9", True), ("4.0", False)):
        quorum = Quorum(release)
        for other in ("c1", "c2"):
            quorum.cluster.do(acts.Cut(("c3", other)))
        quorum.wait(12)
        assert (quorum.voter("c3").epoch > 1) == disturbed, release
        quorum.cluster.do(acts.Heal())
        quorum.wait(12)
        assert (quorum.voter("c1").epoch > 1) == disturbed, release
        assert [voter.name for voter in map(quorum.voter, ("c1", "c2", "c3")) if voter.role is Role.LEADER], release


def test_before_3_7_a_leader_without_a_majority_stays_active() -> None:
    """`LeaderState#timeUntilCheckQuorumExpires` is KAFKA-15489 (3.7)."""
    for release, resigns in (("3.3", False), ("3.6", False), ("3.7", True), ("4.3", True)):
        quorum = Quorum(release)
        for other in ("c2", "c3"):
            quorum.cluster.do(acts.Cut(("c1", other)))
        quorum.wait(12)
        assert (quorum.voter("c1").role is not Role.LEADER) == resigns, release
        assert Role.LEADER in (quorum.voter("c2").role, quorum.voter("c3").role), release


# Fetches


@pytest.mark.parametrize(
    ("voter", "epoch", "end", "last_epoch", "response"),
    [
        ("c2", 1, 0, 0, (1, "c1", errors.NOT_LEADER_OR_FOLLOWER, -1, 0)),
        ("c1", 0, 0, 0, (1, "c1", errors.NOT_LEADER_OR_FOLLOWER, -1, 0)),
        ("c1", 2, 0, 0, (2, "", errors.NOT_LEADER_OR_FOLLOWER, -1, 0)),
        ("c1", 1, 1_000, 1, (1, "c1", errors.NONE, 1, None)),
        ("c1", 1, 1_000, 0, (1, "c1", errors.NONE, 0, 0)),
    ],
    ids=["follower", "older-epoch", "newer-epoch", "beyond-the-end", "other-epoch"],
)
def test_what_a_fetch_gets_that_the_voter_does_not_serve(
    quorum: Quorum, voter: str, epoch: int, end: int, last_epoch: int, response: tuple[Any, ...]
) -> None:
    """`KafkaRaftClient#handleFetchRequest`: only a leader in the same epoch serves fetches; a log that it does not have diverges."""
    host, length = quorum.voter("c3").host, len(quorum.voter(voter).log)
    found: list[QuorumFetchResponse] = []
    host.handlers[QuorumFetchResponse] = lambda message, sender: found.append(message)
    host.send(voter, QuorumFetchRequest(77, epoch, "c3", end, last_epoch, 0))
    quorum.cluster.run_until(quorum.cluster.now + SECOND // 10)
    (told,) = (each for each in found if each.number == 77)
    expected = (*response[:4], length if response[4] is None else response[4])
    assert (told.epoch, told.leader, told.error, told.diverging_epoch, told.diverging_end) == expected
    assert told.entries == ()
