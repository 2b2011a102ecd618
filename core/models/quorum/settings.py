"""The settings of the majority log."""

from __future__ import annotations

import attrs

from core.sim.units import SECOND, US_PER_MS


@attrs.frozen
class QuorumSettings:
    """The settings of a majority log. The default values come from the Raft paper.

    Attributes:
        nodes: the number of nodes of the majority log.
        heartbeat: the time between two heartbeats of a leader, in µs.
        election_min, election_max: the bounds on the random time that a node waits without a leader before it starts an election, in µs.
        check_quorum: whether a leader that has not heard from a majority for `election_max` steps down.
        lease: whether nodes ignore candidates while they hear from a leader. Lease-based reads depend on this setting.
        automatic: whether nodes start elections and send heartbeats automatically. A search sets `automatic` to False, and decides by
            itself when elections start and heartbeats are sent.
        forwards: whether a follower forwards writes and linearizable reads to the leader, as etcd's servers do. Otherwise, it refuses them
            and names the leader.
        commit_old_terms: whether a leader commits entries of earlier terms by counting their copies. Raft requires the value False, because
            entries of earlier terms can still be overwritten.
        compare_logs: whether a node votes only for candidates whose log is at least as new as its own. Raft requires the value True.
        vote_once: whether a node votes only once per term. Raft requires the value True.
    """

    nodes: int = 3
    heartbeat: int = 50 * US_PER_MS
    election_min: int = 150 * US_PER_MS
    election_max: int = 300 * US_PER_MS
    check_quorum: bool = True
    lease: bool = False
    automatic: bool = True
    forwards: bool = True
    commit_old_terms: bool = False
    compare_logs: bool = True
    vote_once: bool = True

    @property
    def request_limit(self) -> int:
        """The time after which a server gives up on a client's request, in µs (etcd's `ReqTimeout`: 5 s and two election timeouts)."""
        return 5 * SECOND + 2 * self.election_max
