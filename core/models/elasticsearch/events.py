"""The events of the Elasticsearch model."""

from __future__ import annotations

from core.sim.events import DETAIL, NOTABLE, Event
from core.sim.units import format_duration


class MasterElected(Event, kind="master-elected", source="Coordinator#becomeLeader", level=NOTABLE):
    """A node became the master."""

    node: str
    term: int
    votes: int

    template = "{node} becomes the master in term {term} with {votes} votes"


class MasterLost(Event, kind="master-lost", source="Coordinator#becomeCandidate", level=NOTABLE):
    """A node no longer has a master."""

    node: str
    master: str
    reason: str

    def sentence(self) -> str:
        if self.node == self.master:
            return f"{self.node} is no longer the master: {self.reason}"
        return f"{self.node} no longer follows the master {self.master}: {self.reason}"


class StateCommitted(Event, kind="cluster-state-committed", source="Publication#handlePublishResponse"):
    """A majority accepted a cluster state."""

    master: str
    term: int
    version: int
    primary: str
    primary_term: int
    in_sync: str
    because: str

    def sentence(self) -> str:
        primary = f"the primary is {self.primary} (term {self.primary_term})" if self.primary else "the shard has no primary"
        return f"cluster state {self.version} of {self.master} is in force: {primary}, in-sync copies: [{self.in_sync}]; {self.because}"


class NodeLost(Event, kind="node-lost", source="FollowersChecker", level=NOTABLE):
    """The master removed a node."""

    master: str
    node: str
    reason: str

    template = "{master} removes {node} from the cluster: {reason}"


class OpIndexed(Event, kind="op-indexed", source="IndexShard#applyIndexOperation", level=DETAIL):
    """A copy indexed an operation."""

    node: str
    seqno: int
    term: int
    key: str
    version: int

    def sentence(self) -> str:
        what = f"version {self.version} of {self.key}" if self.version else "a no-op"
        return f"{self.node} indexes {what} as operation {self.seqno} of term {self.term}"


class CopyFailed(Event, kind="copy-failed", source="ReplicationOperation#failShardIfNeeded", level=NOTABLE):
    """A primary asked the master to remove a copy."""

    primary: str
    copy: str
    reason: str

    template = "{primary} asks the master to remove the copy of {copy}, before any write is acknowledged without it: {reason}"


class PrimaryPromoted(Event, kind="primary-promoted", source="IndexShard#updateShardState", level=NOTABLE):
    """A copy became the primary."""

    node: str
    term: int
    no_ops: int
    resent: int

    template = (
        "{node} is the primary of term {term}: it fills {no_ops} gaps with no-ops and sends the other copies {resent} operations again"
    )


class PrimaryDeposed(Event, kind="primary-deposed", source="ReplicationOperation#onNoLongerPrimary", level=NOTABLE):
    """A primary learned that there is a newer primary."""

    node: str
    term: int
    writes: int

    template = "{node} is no longer the primary of term {term}; the coordinating nodes retry its {writes} open writes"


class RolledBack(Event, kind="rolled-back", source="IndexShard#resetEngineToGlobalCheckpoint", level=NOTABLE):
    """A copy dropped operations above the global checkpoint."""

    node: str
    checkpoint: int
    dropped: int

    template = "{node} rolls back {dropped} operations above the global checkpoint {checkpoint}, and takes those of the new primary instead"


class Recovered(Event, kind="recovered", source="RecoverySourceHandler#recoverToTarget", level=NOTABLE):
    """A primary sent a copy the data that the copy lacked."""

    primary: str
    copy: str
    ops: int
    whole: bool
    away_us: int

    def sentence(self) -> str:
        how = "whole files with" if self.whole else "only the missing"
        away = f" after {format_duration(self.away_us)}" if self.away_us else ""
        return f"{self.primary} sends {self.copy} {how} {self.ops} operations{away}"


class TranslogLost(Event, kind="translog-lost", source="index.translog.durability", level=NOTABLE):
    """Operations that had not been synced were lost when the power failed."""

    node: str
    lost: int

    template = "{lost} operations of {node} had not been synced to disk and are gone"


EVENTS = (
    MasterElected, MasterLost, StateCommitted, NodeLost, OpIndexed, CopyFailed, PrimaryPromoted, PrimaryDeposed, RolledBack, Recovered, TranslogLost,
)  # fmt: skip
"""The kinds of events of the model."""
