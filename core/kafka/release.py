"""Protocol profiles by Kafka release: each rule that changed over the years is a field, read where the rule is applied.

Code asks `release.truncation` or `release.strict_min_isr`, never for a version. The table at the end says, for each
release, which rule was in force; sources are in the field's docstring.
"""

from __future__ import annotations

import difflib
import enum
from collections.abc import Iterable
from typing import Any, Final, TypeVar

import attrs

from core.sim.repr_mixin import ReprMixin

T = TypeVar("T")


class Truncation(enum.IntEnum):
    """How a follower finds out what to cut from its log before it fetches from a leader."""

    HIGH_WATERMARK = 0
    """Cut to the own high watermark (before 0.11)."""
    EPOCH = 1
    """Ask OffsetsForLeaderEpoch once; the answer is an end offset without an epoch (KIP-101, 0.11)."""
    EPOCH_ROUNDS = 2
    """The answer carries the epoch it belongs to; ask again until both know it (KIP-279, 2.0)."""
    ON_FETCH = 3
    """The fetch carries the last fetched epoch and the answer a diverging epoch (KIP-595, in the fetcher from 2.8)."""


class HighWatermarkRule(enum.IntEnum):
    """Which replicas the leader takes the minimum LEO of (`Partition#maybeIncrementLeaderHW`)."""

    ISR = 0
    """Members of the ISR only (up to 0.10.1)."""
    ISR_OR_RECENT = 1
    """And replicas whose lastCaughtUpTime is within replica.lag.time.max.ms (0.10.2 to 3.2)."""
    MAXIMAL_ISR_OR_CAUGHT_UP = 2
    """The ISR with pending members, and replicas that are caught up by time or by LEO (3.3 on)."""


class IsrOrder(enum.IntEnum):
    """In which order a leader names the members of an ISR that it changes (`core.kafka.broker.isr_order`)."""

    INSERTION_TRIE = 0
    """Up to four members in the order in which they came, more of them in the order of Scala 2.12's hash trie (up to 2.5)."""
    INSERTION_TRIE_2_13 = 1
    """The same, more than four of them in the order of Scala 2.13's (2.6 to 4.1)."""
    HASH_TABLE = 2
    """In the order of a hash table: ascending, as long as the ids are small (4.2 on)."""


class DeadTarget(enum.IntEnum):
    """What becomes of a reassignment to a broker that is not alive."""

    FAILED = 0
    """The controller gives it up (before 0.10.1)."""
    AWAITED = 1
    """It runs, and waits for the broker (0.10.1 and 0.10.2)."""
    NOT_EXISTENT = 2
    """`kafka-reassign-partitions` reads the live brokers from ZooKeeper and starts nothing (0.11 to 2.5)."""
    UNKNOWN = 3
    """It asks the cluster for them and starts nothing (KIP-455's tool, 2.6)."""


_NAMES: Final = (
    "0.8.2", "0.9", "0.10.2", "0.11", "1.1", "2.0", "2.1", "2.4", "2.7", "2.8", "3.3", "3.6", "3.7", "3.9", "4.0", "4.1", "4.2", "4.3",
)  # fmt: skip
"""The releases in time order."""


def _by_release(at_first: T, *changes: tuple[str, T]) -> T:
    """A rule's value in a release: the first one, then from each release (inclusive) on that which stands with it."""

    values = [at_first] * len(_NAMES)
    for since, value in changes:
        first = _NAMES.index(since)
        values[first:] = [value] * (len(_NAMES) - first)

    def of(release: Release) -> T:
        return values[release.order]

    return attrs.field(default=attrs.Factory(of, takes_self=True))


def _since(first: str) -> bool:
    return _by_release(False, (first, True))


def _until(first_without: str) -> bool:
    return _by_release(True, (first_without, False))


@attrs.frozen(repr=False)
class Release(ReprMixin):
    """The rules of one Kafka release.

    Attributes:
        name: as people say it, `0.10.2`, `4.3`.
        order: position in time, for comparing releases in the table of defaults only.
        truncation: how a follower truncates.
        high_watermark: who takes part in the minimum.
        isr_order: in which order the leader names the members of a changed ISR.
        maximal_isr: a pending member counts for the HW at once (KIP-497, 2.7).
        hw_needs_eligible: outside the ISR only eligible replicas hold the HW back (KAFKA-15021, 3.6).
        strict_min_isr: below min.insync.replicas the HW stands still (KIP-966, 3.7).
        capped_min_isr: the effective min ISR is at most the replication factor (KAFKA-15583, 3.7).
        epoch_at_start: a new leader notes where its epoch starts at once, also before it has written anything, and answers for epochs
            older than all it knows (KIP-279, 2.0); before, an epoch begins with its first record, and such a question gets no answer.
        hides_stale_hw: a new leader whose high watermark is below the start of its epoch does not tell clients its end (KIP-207, 2.2).
        hw_completes_fetch: a leader answers a follower's fetch at once when the follower has not been sent the newest high watermark
            (KIP-392, 2.4; taken back in 2.6, KAFKA-9952).
        halts_on_truncation: a broker whose log is longer than its leader's ends rather than cut it, unless unclean election is allowed
            (to 1.1, KAFKA-2015).
        halved_isr_check: `isr-expiration` runs every half of replica.lag.time.max.ms, before every whole (0.10.2).
        caught_up_as_of_last_fetch: a follower whose fetch reaches the LEO that the leader had at the fetch before was caught up then
            (KAFKA-4485, 0.10.2); before, only a fetch from the very end counts, so that one may fall out that is never far behind.
        expand_needs_epoch_start: a replica joins the ISR only at or past the start offset of the leader's epoch
            (KAFKA-7128, 2.0).
        shrink_spares_equal_leo: a follower whose LEO equals the leader's is never removed (KAFKA-7152, 2.1).
        fetch_epoch_fencing: fetches and epoch requests carry the leader epoch and are fenced by it (KIP-320, 2.1).
        truncation_epoch_fencing: questions for truncation points and log bounds carry the leader epoch and are fenced by it (KIP-320, 2.1).
        hw_same_epoch: only fetches of the leader's own epoch count for the high watermark and the ISR; fenced fetches make sure of
            that, this is the rule by itself (KIP-320, 2.1).
        truncate_on_epoch_change: a follower that has missed an epoch truncates anew, also under the leader it had (KAFKA-7164, here from 2.0).
        truncate_in_next_epoch: so it does in the very next epoch: in every one (KAFKA-7164 as it was repaired in 2.1).
        isr_eligibility: fenced and shutting-down brokers may not join an ISR (KIP-841, 3.3).
        broker_epoch_in_isr: an ISR change names broker epochs, stale ones are refused (KIP-903, 3.5).
        alter_partition_v2: AlterPartition names topics by id and has error codes of its own (its version 2, 3.3).
        partition_epoch_check: an ISR change made from an older state of the partition is refused (KIP-497; ZooKeeper's version before).
        bump_epoch_on_shrink: an ISR shrink raises the leader epoch (KRaft before 3.6, KAFKA-15021).
        bump_epoch_on_removal: a shrink that the controller makes itself does (the ZooKeeper controller's LeaderAndIsr, before 2.8).
        request_time_leo: the leader takes a follower's LEO from what it asks, not from what it was sent (always so in Kafka; B5).
        ignores_diverging_fetch: a fetch that is answered with a diverging epoch does not count as progress (KAFKA-13141).
        recovery_state: an unclean leader is marked RECOVERING (KIP-704, 3.2).
        survives_failed_dir: a broker whose log directory fails serves on from the others (KIP-112, 1.0); not in KRaft before
            3.7, where a broker could have but one (KIP-858).
        fences_periodically: the KRaft controller looks for stale brokers eight times per session timeout, so that it fences up to an eighth
            late (KAFKA-17793, 4.0); before, it looks when the oldest session can have run out.
        elects_unclean_later: the KRaft controller looks periodically whether unclean election has been allowed meanwhile (KAFKA-12670, 3.9).
        elr_feature: the release has `eligible.leader.replicas.version`, which a cluster may turn on or off (4.0, `core.kafka.features`).
        elr: eligible leader replicas are kept (KIP-966; on for new clusters from 4.1).
        unclean_broker_leaves_elr: a broker that registers after an unclean shutdown is eligible no more (KIP-966, with ELR).
        elect_from_isr: whoever leads without loss comes from the ISR or ELR. Off, as no Kafka ever did: the longest log leads, the
            one with the higher last epoch of two that are equally long.
        counts_lag: a follower more than replica.lag.max.messages behind leaves the ISR, and one that fetches, however slowly, is not
            late (before 0.9, KAFKA-1546).
        zookeeper: the controller is a broker elected through ZooKeeper (before 3.3 here); otherwise the KRaft quorum's.
        takes_out_dead_at_start: a ZooKeeper controller that takes over takes dead brokers out of the ISRs, and their leadership from them
            (KAFKA-3143, 2.3); before, only one that was there when they died did.
        alters_reassignments: a running reassignment can be given up, or another take its place (KIP-455, 2.4); before, the tool starts none
            while any runs.
        dead_target: what becomes of a reassignment to a broker that is not alive.
        leader_writes_isr: a leader writes its ISR to ZooKeeper itself and the controller hears of it later (before 2.7, KIP-497).
        publishes_isr_changes: and it does hear, through /isr_change_notification (KAFKA-1367, 0.9); before, only of partitions that move.
        validates_positions: a consumer that hears of a new leader asks where the epoch of what it read last ends, and goes back there if that
            is below its position (KIP-320's consumer, 2.3).
        finds_by_time: ListOffsets finds the first record of a time (KIP-79, 0.10.1); before, it knew when segments were written.
        reads_from_followers: consumers tell their rack, and followers serve those that do (KIP-392, 2.4).
        controller_epoch_fencing: brokers refuse requests of a controller with an older epoch (always so in Kafka).
        newer_clients: producers double their retry back-off (KIP-580), and retry at once where they learn of another leader (KAFKA-15415, 3.7).
        describe_asks_brokers: `kafka-topics` asks the brokers (2.2), which gives topics in the order of a hash table, and refuses a `--topic`
            that none matches; before, it reads ZooKeeper, sorts them, and prints nothing.
        describe_topic_id: `kafka-topics --describe` prints TopicId (2.8).
        describe_elr: it prints Elr and LastKnownElr (3.8).
        describe_spaced: it prints `Topic: t` in the headline, `Topic:t` before 2.2.
        describe_no_leader: what stands for no leader: `none`, or `-1` before 0.11.
    """

    name: str
    order: int
    truncation: Truncation = _by_release(
        Truncation.HIGH_WATERMARK, ("0.11", Truncation.EPOCH), ("2.0", Truncation.EPOCH_ROUNDS), ("2.8", Truncation.ON_FETCH)
    )
    high_watermark: HighWatermarkRule = _by_release(
        HighWatermarkRule.ISR, ("0.10.2", HighWatermarkRule.ISR_OR_RECENT), ("3.3", HighWatermarkRule.MAXIMAL_ISR_OR_CAUGHT_UP)
    )
    isr_order: IsrOrder = _by_release(IsrOrder.INSERTION_TRIE, ("2.7", IsrOrder.INSERTION_TRIE_2_13), ("4.2", IsrOrder.HASH_TABLE))
    maximal_isr: bool = _since("2.7")
    hw_needs_eligible: bool = _since("3.6")
    strict_min_isr: bool = _since("3.7")
    capped_min_isr: bool = _since("3.7")
    epoch_at_start: bool = _since("2.0")
    hides_stale_hw: bool = _since("2.4")
    hw_completes_fetch: bool = _by_release(False, ("2.4", True), ("2.7", False))
    halts_on_truncation: bool = _until("2.0")
    halved_isr_check: bool = _since("0.10.2")
    caught_up_as_of_last_fetch: bool = _since("0.10.2")
    expand_needs_epoch_start: bool = _since("2.0")
    shrink_spares_equal_leo: bool = _since("2.1")
    fetch_epoch_fencing: bool = _since("2.1")
    truncation_epoch_fencing: bool = _since("2.1")
    hw_same_epoch: bool = _since("2.1")
    truncate_on_epoch_change: bool = _since("2.0")
    truncate_in_next_epoch: bool = _since("2.1")
    isr_eligibility: bool = _since("3.3")
    broker_epoch_in_isr: bool = _since("3.6")
    alter_partition_v2: bool = _since("3.3")
    partition_epoch_check: bool = True
    bump_epoch_on_shrink: bool = _by_release(False, ("2.8", True), ("3.6", False))
    bump_epoch_on_removal: bool = _until("2.8")
    request_time_leo: bool = True
    ignores_diverging_fetch: bool = True
    recovery_state: bool = _since("3.3")
    survives_failed_dir: bool = _by_release(False, ("1.1", True), ("3.3", False), ("3.7", True))
    fences_periodically: bool = _since("4.0")
    elects_unclean_later: bool = _since("3.9")
    elr_feature: bool = _since("4.0")
    elr: bool = _since("4.1")
    unclean_broker_leaves_elr: bool = _since("4.0")
    elect_from_isr: bool = True
    counts_lag: bool = _until("0.9")
    zookeeper: bool = _until("3.3")
    takes_out_dead_at_start: bool = _since("2.4")
    alters_reassignments: bool = _since("2.4")
    dead_target: DeadTarget = _by_release(
        DeadTarget.FAILED, ("0.10.2", DeadTarget.AWAITED), ("0.11", DeadTarget.NOT_EXISTENT), ("2.7", DeadTarget.UNKNOWN)
    )
    leader_writes_isr: bool = _until("2.7")
    publishes_isr_changes: bool = _since("0.9")
    validates_positions: bool = _since("2.4")
    finds_by_time: bool = _since("0.10.2")
    reads_from_followers: bool = _since("2.4")
    controller_epoch_fencing: bool = True
    newer_clients: bool = _since("3.7")
    describe_asks_brokers: bool = _since("2.4")
    describe_topic_id: bool = _since("2.8")
    describe_elr: bool = _since("3.9")
    describe_spaced: bool = _since("2.4")
    describe_no_leader: str = _by_release("-1", ("0.11", "none"))

    @property
    def controller(self) -> str:
        """The kind of control plane: `zookeeper` or `kraft`."""
        return "zookeeper" if self.zookeeper else "kraft"

    def without(self, guards: Iterable[str]) -> Release:
        """This release with some guards switched off; its name says which.

        Raises:
            ValueError: there is no such guard; the message names the nearest.
        """
        off = tuple(guards)
        for guard in off:
            if guard not in GUARDS:
                near = difflib.get_close_matches(guard, GUARDS, n=1, cutoff=0.5)
                raise ValueError(
                    f"unknown guard '{guard}'" + (f"; did you mean '{near[0]}'?" if near else f"; use one of {', '.join(GUARDS)}")
                )
        changes: dict[str, Any] = {guard.replace("-", "_"): False for guard in off}
        if "elr" in off:
            changes["elr_feature"] = False  # no feature level brings back what is switched off
        return attrs.evolve(self, name=self.name + "".join(f" without {guard}" for guard in off), **changes)

    def has(self, guard: str) -> bool:
        """Whether a guard (one of `GUARDS`) is in force."""
        return bool(getattr(self, guard.replace("-", "_")))

    @staticmethod
    def named(name: str) -> Release:
        """The profile of that name.

        Raises:
            ValueError: there is none; the message lists those there are.
        """
        found = RELEASES.get(name)
        if found is None:
            near = difflib.get_close_matches(name, RELEASES, n=1, cutoff=0.6)
            hint = f"did you mean {near[0]}? " if near else ""
            raise ValueError(f"unknown release '{name}'; {hint}use one of {', '.join(RELEASES)}")
        return found


GUARDS: Final = (
    "maximal-isr",
    "hw-needs-eligible",
    "strict-min-isr",
    "capped-min-isr",
    "epoch-at-start",
    "hides-stale-hw",
    "expand-needs-epoch-start",
    "shrink-spares-equal-leo",
    "fetch-epoch-fencing",
    "truncation-epoch-fencing",
    "hw-same-epoch",
    "truncate-on-epoch-change",
    "isr-eligibility",
    "broker-epoch-in-isr",
    "partition-epoch-check",
    "request-time-leo",
    "ignores-diverging-fetch",
    "elr",
    "unclean-broker-leaves-elr",
    "elect-from-isr",
    "validates-positions",
    "controller-epoch-fencing",
    "zookeeper",
)
"""The rules that can be switched off one by one, to see what each is for; the words are the fields' names with dashes."""

RELEASES: Final = {name: Release(name, order) for order, name in enumerate(_NAMES)}
"""The known profiles by name, oldest first."""

CURRENT: Final = RELEASES[_NAMES[-1]]
"""The profile used when none is named: the newest."""
