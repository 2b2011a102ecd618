"""A cluster with two brokers and one partition, stepped by hand. Within some bounds, anything can happen in any order.

The acts are: a new producer sends a record, a follower fetches, a broker's process or machine fails and returns, and the controller
notices. The search tries all orders of the acts, and all orders of the responses to followers relative to everything else. A response may
also never arrive. All other messages arrive immediately, and the controller immediately notices which process ended. Only a follower can
return before that, because no release guards against a leader that continues in its epoch with a shorter log. Virtual time does not
advance.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import attrs

from core.kafka import events
from core.kafka.broker.broker import Broker
from core.kafka.broker.broker_state import BrokerState
from core.kafka.ids import TopicPartition
from core.kafka.messages import FetchResponse, OffsetsForLeaderEpochResponse
from core.kafka.release import Release
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.fingerprint_fields import LAB_FIELDS
from core.lab.spec import BrokerSpec, ClusterSpec, ControlPlane, Pace
from core.sim.events import kind_of
from core.sim.exploration.choices import Choice, act
from core.sim.exploration.search import Outcome, search
from core.sim.state.fingerprint import Fingerprints

TP: Final = TopicPartition("orders", 0)

ORDERED_FREELY: Final = frozenset({FetchResponse, OffsetsForLeaderEpochResponse})
"""Messages whose delivery is a separate choice."""

SPEC: Final = ClusterSpec(
    (BrokerSpec(1), BrokerSpec(2)),
    (TopicSpec("orders", assignment=(PartitionSpec((2, 1)),)),),
    pace=Pace.BY_HAND,
    control_plane=ControlPlane.KRAFT,
    settings=(("unclean.leader.election.enable", "false"),),
)


@attrs.define
class Left:
    """How often each type of act can still occur."""

    records: int
    fetches: int
    failures: int


class Exploration:
    """A cluster, and what may happen to it.

    Attributes:
        power: whether machines lose power just after the checkpoints were written; otherwise, processes are restarted or killed.
    """

    def __init__(self, release: str, left: Left, *, power: bool) -> None:
        self._told: list[Any] = []
        self.cluster = Cluster(SPEC, Release.named(release), sink=self._told.append)
        self.cluster.delivers_at_once = False
        self.left = left
        self.power = power

    def search(self, limit: int = 100_000) -> Outcome:
        """Search for an acknowledged record that is lost, or for replicas that diverge."""
        self._told.clear()
        return search(self.cluster, self.harm, self.acts, also=self.also(), first=arrives_at_once, limit=limit, table=LAB_FIELDS)

    def also(self) -> tuple[object, ...]:
        """Return the state that counts in addition to the state of the nodes."""
        return (self.left,) if self.power else (self.left, self.cluster.account.partitions)

    def fingerprints(self) -> Fingerprints:
        """Return the fingerprints of the complete state."""
        return Fingerprints(self.cluster, *self.also(), table=LAB_FIELDS)

    def harm(self) -> str:
        """Return the harm that events have reported since the last call."""
        told = [event[3] for event in self._told if (event[3] == events.RecordsDiverged.kind if self.power else _loses_acknowledged(event))]
        self._told.clear()
        return told[0] if told else ""

    def acts(self) -> list[Choice]:
        """Return all acts that are possible now."""
        left = self.left
        leader = self.cluster.brokers.get(self.cluster.controller.registry.partitions[TP].leader)
        found: list[Choice] = []
        if left.records and leader is not None:
            produce = acts.Produce("orders", 1, acks="all", idempotence=False, producer=f"p{left.records}")
            found.append(self._act("produce", produce, "records"))
        for broker in self.cluster.brokers.values():
            if broker.context.state is BrokerState.STOPPED:
                found.append(self._act(f"start {broker.id}", acts.Start(broker.id)))
                continue
            if left.fetches and any(fetcher.states and not fetcher.in_flight for fetcher in broker.fetcher_manager.fetchers.values()):
                found.append(self._act(f"fetch {broker.id}", acts.Fetch(broker.id), "fetches"))
            if left.failures:
                found += self._failures(broker)
        return found

    def _failures(self, broker: Broker) -> list[Choice]:
        number = broker.id
        follows = number != self.cluster.controller.registry.partitions[TP].leader
        if not self.power:
            found = [self._act(f"kill {number}", acts.Kill(number), "failures", ends=number)]
            return [*found, self._act(f"bounce {number}", acts.Bounce(number), "failures")] if follows else found
        end = broker.disk.logs[TP].leo
        kept = acts.PowerLoss(number, unflushed="kept")
        found = [self._act(f"power loss {number}", kept, "failures", checkpoint=number, ends=number)]
        if end and follows:
            bounce = acts.Bounce(number, keep=((TP, end - 1),), clean=False)
            found.append(self._act(f"bounce {number} without its newest record", bounce, "failures", checkpoint=number))
        return found

    def _act(self, name: str, what: acts.Act, counted: str = "", checkpoint: int = 0, ends: int = 0) -> Choice:
        return act(name, partial(self._do, what, counted, checkpoint, ends))

    def _do(self, what: acts.Act, counted: str, checkpoint: int, ends: int) -> None:
        if counted:
            setattr(self.left, counted, getattr(self.left, counted) - 1)
        if checkpoint:
            self.cluster.do(acts.Checkpoint(checkpoint))
        self.cluster.do(what)
        if ends:
            self.cluster.do(acts.Fence(ends))


def arrives_at_once(choice: Choice) -> bool:
    """Return whether a choice must come first, because its order relative to other choices does not matter."""
    return choice.entry is not None and type(choice.entry.message) not in ORDERED_FREELY


def _loses_acknowledged(event: Any) -> bool:
    return kind_of(event) == events.RecordsLost.kind and events.RecordsLost(event).lost_acknowledged > 0
