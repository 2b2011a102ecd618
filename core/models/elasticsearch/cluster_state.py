"""The cluster state: which node is the primary, and which copies are in sync. Only a master changes the cluster state (`ClusterState`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class ClusterState(NamedTuple):
    """A version of the cluster state.

    Attributes:
        term, version: the master's term, and the number of the version.
        nodes: the nodes that belong to the cluster in this version.
        primary_term: a number that grows with each new primary.
        primary: the node with the primary; empty if the shard is red.
        in_sync: the nodes whose copies have every acknowledged operation. Only nodes with in-sync copies can become the primary.
        started: the nodes whose copies take part in replication and answer reads.
    """

    term: int
    version: int
    nodes: tuple[str, ...]
    primary_term: int
    primary: str
    in_sync: tuple[str, ...]
    started: tuple[str, ...]

    @property
    def stamp(self) -> tuple[int, int]:
        """The key by which cluster states are ordered."""
        return self.term, self.version


EMPTY = ClusterState(0, 0, (), 0, "", (), ())
"""The state of a node that has not joined a cluster yet."""


def with_nodes(state: ClusterState, nodes: Sequence[str], preferred: str) -> ClusterState:
    """Return the cluster state after the set of nodes has changed. If the primary has left the cluster, another copy is promoted
    (`RoutingNodes.promoteReplicaToPrimary`).

    Any in-sync copy can be promoted, not only the one with the most operations. If no copy is in sync, the shard is red.

    Args:
        state: the state before the change.
        nodes: the nodes that the cluster has now.
        preferred: the node whose copy is promoted if possible. The master prefers its own copy.
    """
    started = [node for node in state.started if node in nodes]
    primary, term = state.primary, state.primary_term
    if primary not in started:
        candidates = [node for node in started if node in state.in_sync] or [node for node in state.in_sync if node in nodes]
        primary = preferred if preferred in candidates else next(iter(candidates), "")
        if primary:
            term += 1
            started += [] if primary in started else [primary]
    in_sync = [node for node in state.in_sync if node in started] if primary else state.in_sync
    return state._replace(nodes=tuple(nodes), primary=primary, primary_term=term, in_sync=tuple(in_sync), started=tuple(started))


def without_copy(state: ClusterState, copy: str) -> ClusterState:
    """Return the cluster state after a copy has failed. The copy stays on its node, but is no longer in sync (`ShardStateAction`)."""
    return state._replace(
        in_sync=tuple(node for node in state.in_sync if node != copy), started=tuple(node for node in state.started if node != copy)
    )


def with_copy(state: ClusterState, copy: str) -> ClusterState:
    """Return the cluster state after a copy has recovered and is therefore in sync."""
    in_sync = state.in_sync if copy in state.in_sync else (*state.in_sync, copy)
    started = state.started if copy in state.started else (*state.started, copy)
    return state._replace(in_sync=in_sync, started=started)


def with_stale_primary(state: ClusterState, node: str) -> ClusterState:
    """Return the cluster state after a copy has been forced to be the primary, regardless of the operations that the copy lacks
    (allocate_stale_primary).
    """
    return state._replace(primary=node, primary_term=state.primary_term + 1, in_sync=(node,), started=(node,))
