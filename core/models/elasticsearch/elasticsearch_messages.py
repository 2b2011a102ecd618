"""The messages between the nodes of a cluster."""

from __future__ import annotations

from typing import NamedTuple

from core.models.client_messages import Row
from core.models.elasticsearch.cluster_state import ClusterState

# --- the master and the cluster state -------------------------------------------------------------------------------


class Discover(NamedTuple):
    """A node without a master asks who the master is."""


class Peers(NamedTuple):
    """The answer to `Discover`.

    Attributes:
        master: the master that the node knows; empty if the node knows none.
    """

    term: int
    master: str


class RequestJoin(NamedTuple):
    """A node wants to become the master, and reports the cluster state that it last accepted."""

    term: int
    accepted: tuple[int, int]


class JoinVote(NamedTuple):
    """The answer to `RequestJoin`.

    Attributes:
        is_new: whether the node has not been part of a cluster since its process started. If so, the shard copy on the node has to recover.
    """

    term: int
    granted: bool
    is_new: bool


class JoinCluster(NamedTuple):
    """A node wants to be part of the master's cluster."""

    term: int


class Publish(NamedTuple):
    """The master proposes a cluster state."""

    state: ClusterState


class Accepted(NamedTuple):
    """The answer to `Publish`."""

    term: int
    version: int
    ok: bool


class Commit(NamedTuple):
    """A majority has accepted a cluster state, which is now in force."""

    term: int
    version: int


class Check(NamedTuple):
    """The master checks a node, or a node checks its master (`FollowersChecker`, `LeaderChecker`)."""

    term: int
    number: int
    of_master: bool


class CheckAnswer(NamedTuple):
    """The answer to `Check`.

    Attributes:
        ok: whether the two nodes are in the same cluster.
    """

    number: int
    of_master: bool
    ok: bool


class ShardFailed(NamedTuple):
    """A primary asks the master to remove a copy that did not take an operation."""

    copy: str
    primary_term: int


class ShardStarted(NamedTuple):
    """A primary tells the master that a copy has recovered."""

    copy: str
    primary_term: int


class NoLongerPrimary(NamedTuple):
    """The master or a copy refuses a primary, because there is a newer primary."""

    primary_term: int


# --- operations -----------------------------------------------------------------------------------------------------


class Op(NamedTuple):
    """An operation of the shard.

    Attributes:
        seqno: the sequence number of the operation.
        term: the primary term in which the operation was made.
        row: the document; None for a no-op that fills a gap.
    """

    seqno: int
    term: int
    row: Row | None


class PrimaryWrite(NamedTuple):
    """A coordinating node sends a client's write to the primary."""

    number: int
    row: Row

    @property
    def rows(self) -> int:
        """The number of rows that the message carries."""
        return 1


class PrimaryWritten(NamedTuple):
    """The primary and all copies that are in sync have written the row."""

    number: int


class PrimaryFailed(NamedTuple):
    """The primary could not write the row, or does not know whether the row will be kept. The coordinating node retries the write."""

    number: int
    reason: str


class PrimaryRefused(NamedTuple):
    """The primary permanently refuses the write, because too few copies are active. The write has no effect."""

    number: int
    reason: str


class Replicate(NamedTuple):
    """The primary sends an operation and the global checkpoint to a copy."""

    op: Op
    primary_term: int
    global_checkpoint: int

    @property
    def rows(self) -> int:
        """The number of rows that the message carries."""
        return int(self.op.row is not None)


class Resync(NamedTuple):
    """A new primary sends all operations above its global checkpoint (`PrimaryReplicaSyncer`)."""

    ops: tuple[Op, ...]
    primary_term: int
    global_checkpoint: int

    @property
    def rows(self) -> int:
        """The number of rows that the message carries."""
        return len(self.ops)


class Replicated(NamedTuple):
    """A copy confirms that it has the operations.

    Attributes:
        seqno: the sequence number of the operation that the copy acknowledges; -1 for a resync or a recovery.
        local_checkpoint: the highest sequence number up to which the copy has all operations.
    """

    seqno: int
    primary_term: int
    local_checkpoint: int


class GlobalCheckpoint(NamedTuple):
    """The primary tells the copies the global checkpoint when no write is in progress."""

    primary_term: int
    global_checkpoint: int


# --- recovery -------------------------------------------------------------------------------------------------------


class RecoveryStart(NamedTuple):
    """The primary asks a copy that is not in sync which operations the copy has."""

    primary_term: int


class RecoveryFrom(NamedTuple):
    """A copy reports its global checkpoint and the term of the operation at this checkpoint. The copy has all operations up to the
    checkpoint.
    """

    primary_term: int
    checkpoint: int
    term: int


class RecoveryOps(NamedTuple):
    """The primary sends the data that the copy lacks.

    Attributes:
        whole: whether the copy drops its own data and takes whole files from the primary.
    """

    ops: tuple[Op, ...]
    primary_term: int
    global_checkpoint: int
    whole: bool

    @property
    def rows(self) -> int:
        """The number of rows that the message carries."""
        return len(self.ops)
