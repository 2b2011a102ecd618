"""The rules of each Kafka release. Each rule that changed between releases is a field of `Release`.

Code that applies a rule reads its field, for example `release.truncation` or `release.strict_min_isr`, and never compares versions. The
definition of each field specifies the releases in which the rule is in force. The docstring of `Release` lists the source of each rule.
"""

from __future__ import annotations

import difflib
import enum
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar

import attrs

from core.sim.repr_mixin import ReprMixin

T = TypeVar("T")


class Truncation(enum.IntEnum):
    """How a follower determines the offset to which it truncates its log before it fetches from a leader."""

    HIGH_WATERMARK = 0
    """The follower truncates to its own high watermark (before 0.11)."""
    EPOCH = 1
    """The follower sends a single OffsetsForLeaderEpoch request. The response contains an end offset, but no epoch (KIP-101, 0.11)."""
    EPOCH_ROUNDS = 2
    """The response to OffsetsForLeaderEpoch also contains the epoch. The follower repeats OffsetsForLeaderEpoch until both logs contain the
    epoch in the response (KIP-279, 2.0)."""
    ON_FETCH = 3
    """The fetch contains the last fetched epoch, and the response contains the diverging epoch (KIP-595; used by the fetcher since 2.8)."""


class HighWatermarkRule(enum.IntEnum):
    """The replicas that determine the high watermark, which is the smallest of their LEOs (`Partition#maybeIncrementLeaderHW`)."""

    ISR = 0
    """The high watermark waits for ISR members (up to 0.10.1)."""
    ISR_OR_RECENT = 1
    """The high watermark waits for ISR members and for replicas that were caught up within replica.lag.time.max.ms (0.10.2 to 3.2)."""
    MAXIMAL_ISR_OR_CAUGHT_UP = 2
    """The high watermark waits for ISR members, pending members, and replicas that are caught up by time or by LEO (since 3.3)."""


class IsrOrder(enum.IntEnum):
    """The order in which a leader lists the members of an ISR that it has changed (`core.kafka.broker.isr_order`)."""

    INSERTION_TRIE = 0
    """Up to Kafka 2.5, up to four members are in insertion order, and more than four are in the order of Scala 2.12's hash trie."""
    INSERTION_TRIE_2_13 = 1
    """From Kafka 2.6 to 4.1, up to four members are in insertion order, and more than four are in the order of Scala 2.13's hash trie."""
    HASH_TABLE = 2
    """All members are in the iteration order of a hash table, which is ascending if the ids are small (since 4.2)."""


class GroupsTool(enum.IntEnum):
    """The output format of `kafka-consumer-groups`. Each format includes the changes in the earlier formats, unless stated otherwise."""

    COMMAS = 0
    """In the output of `--describe`, columns are separated by commas (0.9)."""
    FIXED_WIDTHS = 1
    """In the output of `--describe`, columns have fixed widths (0.10.2)."""
    VIEWS = 2
    """`--describe` supports `--members` and `--state`, and each column is as wide as its longest value (KIP-175, 1.1)."""
    GROUP_COLUMN = 3
    """`--describe` accepts several groups, and its tables begin with the column GROUP (KIP-222, between 2.0.1 and 2.3.1)."""
    JAVA = 4
    """`kafka-consumer-groups` is rewritten in Java and prints partitions in hash-table order, `--list` supports `--type`, and the table of offsets
    does not end with a line break (3.8, seen in 3.9.1).
    """
    EPOCHS = 5
    """`--verbose` prints epochs (KIP-1099, 4.0)."""
    SORTED = 6
    """`--describe` sorts each member's partitions, and prints `-` for a partition that has no leader (4.3)."""


class DeadTarget(enum.IntEnum):
    """What happens if a partition is reassigned to a broker that is not alive."""

    FAILED = 0
    """`kafka-reassign-partitions` requests the reassignment, but the reassignment fails in the controller (before 0.10.1)."""
    AWAITED = 1
    """The reassignment starts, but does not complete until the target broker is alive (0.10.1 and 0.10.2)."""
    NOT_EXISTENT = 2
    """`kafka-reassign-partitions` reads the live brokers from ZooKeeper and refuses the reassignment if a target broker is not alive (0.11
    to 2.5).
    """
    UNKNOWN = 3
    """`kafka-reassign-partitions` asks the cluster for its brokers and refuses the reassignment if a target broker is not among them
    (KIP-455, 2.6).
    """


class ReassignmentCompletion(enum.IntEnum):
    """The replicas that must be in the ISR before a KRaft controller completes a reassignment
    (`PartitionReassignmentReplicas#maybeCompleteReassignment`)."""

    ADDED = 0
    """The added replicas (up to 3.7)."""
    ALL_TARGETS = 1
    """All target replicas (3.9 to 4.2)."""
    ADDED_OR_ALL_TARGETS = 2
    """The added replicas, or all target replicas if the reassignment removes more replicas than it adds (4.3)."""


class UnknownProducer(enum.IntEnum):
    """A leader's response if its log does not know a batch's producer and the batch does not begin with sequence number 0."""

    OUT_OF_ORDER = 0
    """OUT_OF_ORDER_SEQUENCE_NUMBER (0.11)."""
    REFUSED = 1
    """UNKNOWN_PRODUCER_ID (1.0 to 2.4)."""
    ACCEPTED = 2
    """The leader appends a batch from an unknown producer (KIP-360, 2.5)."""


class StickyAlgorithm(enum.IntEnum):
    """The algorithm of the sticky assignors for members that all subscribe to the same topics."""

    GENERAL = 0
    """The general algorithm, which is also used if members subscribe to different topics (before 2.6)."""
    MAXIMUM_QUOTA = 1
    """Each member keeps as many partitions as the maximum quota allows, and later gives up some of them to members that have too few
    (KAFKA-9987, 2.6)."""
    EXPECTED_MEMBERS = 2
    """A member keeps as many partitions as the maximum quota allows, unless the expected number of members already do so (KAFKA-12464,
    3.0)."""


_NAMES: Final = (
    "0.8.2", "0.9", "0.10.2", "0.11", "1.1", "2.0", "2.1", "2.4", "2.7", "2.8", "3.3", "3.6", "3.7", "3.9", "4.0", "4.1", "4.2", "4.3",
)  # fmt: skip
"""The names of the releases, oldest first."""


_RECORDED: Final = {
    "0.9": "0.9.0.1", "0.10.2": "0.10.2.2", "0.11": "0.11.0.3", "1.1": "1.1.1", "2.0": "2.0.1", "2.1": "2.1.1", "2.4": "2.4.1", "2.7": "2.7.2", "2.8": "2.8.2",
    "3.3": "3.3.2", "3.6": "3.6.2", "3.7": "3.7.2", "3.9": "3.9.1", "4.0": "4.0.1", "4.1": "4.1.1", "4.2": "4.2.0", "4.3": "4.3.1",
}  # fmt: skip
"""The patch release with which real clusters were recorded, by release."""


def _by_release(at_first: T, *changes: tuple[str, T]) -> T:
    """Return a field whose value is `at_first` in the oldest release and changes in the given releases."""

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
        name: the name of the release, such as `0.10.2` or `4.3`.
        order: the position of the release in the order of releases, which is used only to look up defaults.
        patch: the patch release that real clusters were recorded with (`tests/fidelity`), such as `2.7.2`; empty if there is no recording.
        unknown_producer: the response if the log does not know a batch's producer and the batch does not begin with sequence number 0.
        marker_only_is_unknown: if only a transaction marker for a producer is left in the log, the producer gets UNKNOWN_PRODUCER_ID
            (KAFKA-7298, 2.0.1 to 2.4).
        retained_batches: the number of batches from each producer that a leader can recognize as duplicates (KAFKA-5494, 1.0).
        markers_have_timestamps: a marker counts as activity by its producer. Before 2.4.1, if only a transaction marker for a producer is
            left in the log, the producer's state expires at the next check (KAFKA-9144, 2.4.1).
        producers_outlive_segments: a log knows a producer until the producer expires. Before 2.4, the log forgets a producer when the log
            start moves past its last record, or when the log is loaded from a snapshot with such a producer (KAFKA-7190, 2.4).
        ignores_empty_transactions: a marker whose producer has no open transaction is not recorded as a transaction. Before 2.8, a marker
            whose producer has no open transaction is recorded as a transaction that has no records, and an ABORT marker gets an entry in
            the transaction index (KAFKA-10702, 2.8).
        producer_expiration_setting: the setting that determines when a leader forgets an idle producer (KIP-854, 3.4).
        transactions: producers can have a transactional.id, and consumers can have an isolation level (KIP-98, 0.11).
        idempotent_in_flight: the number of batches per partition that an idempotent producer can have in flight (KAFKA-5494, 1.0).
        refuses_more_in_flight: a producer that is idempotent by default cannot have more than 5 batches in flight. Before 4.0, a higher value
            of max.in.flight.requests.per.connection makes it a producer without idempotence (KAFKA-13598, 4.0).
        limited_calls: the calls of a transactional producer that fail if they have no result after max.block.ms: initTransactions
            (KAFKA-6446, 2.0), commitTransaction and abortTransaction (KAFKA-7763, 2.3), and sendOffsetsToTransaction (KAFKA-10309, 2.7). Other
            calls wait without a limit.
        timed_out_call_must_be_repeated: after a call of a transactional producer has timed out, the application must make the same call
            again before any other call, even if the first call has succeeded in the meantime (KAFKA-13412, 3.2). Before 3.2, a call that
            has succeeded in the meantime cannot be made again.
        retries_first_partition_soon: a producer repeats the first AddPartitionsToTxn of a transaction after 20 ms while the previous
            transaction is being completed (KAFKA-5477, 1.0).
        bumps_producer_epoch: a producer that does not know whether a batch was appended continues in a new epoch (KIP-360, 2.5). Before
            2.5, if an idempotent producer does not know whether a batch was appended, it gets a new producer ID; for a transactional
            producer, this situation is a fatal error.
        producer_fenced: coordinators respond to a fenced producer with PRODUCER_FENCED, so INVALID_PRODUCER_EPOCH from a leader is no
            longer fatal (KIP-588, 2.7).
        invalid_transition_is_fatal: an invalid state transition of a transactional producer is fatal (KAFKA-14831, 3.6).
        unknown_producer_is_fatal: INVALID_PRODUCER_ID_MAPPING is again fatal for a transactional producer (KIP-1050, 4.1).
        end_txn_epoch_must_match: the producer epoch in EndTxn must equal the epoch that the coordinator knows (KAFKA-9600, 2.6).
        fence_survives_failed_append: if a coordinator fails to write that it aborts a transaction, the next attempt does not bump the
            producer epoch again (KAFKA-9666, 2.6).
        tests_pending_first: the coordinator checks for a pending transition before it checks the producer ID and epoch (KAFKA-18660, 4.0).
        timeout_fences_producer: when the coordinator aborts a transaction that has timed out, it bumps the producer epoch (KAFKA-6119,
            0.11.0.2 and 1.0).
        verifies_transactions: before a leader appends the first batch of a transaction, it asks the coordinator whether the partition
            belongs to the transaction (KIP-890, 3.6).
        verifies_current_epoch: a leader refuses a batch from an old producer epoch without asking the coordinator (KAFKA-18042, 4.1).
        checks_epoch_before_guard: a leader checks the producer epoch of a batch before its verification guard (KAFKA-19690, 4.1.1).
        transaction_abortable: a batch that fails the verification of its transaction gets TRANSACTION_ABORTABLE or, before 3.8,
            INVALID_TXN_STATE (KIP-890, 3.8).
        answers_producer_fenced: a coordinator responds to a fenced producer with PRODUCER_FENCED or, before 2.7, with
            INVALID_PRODUCER_EPOCH (KIP-588, 2.7).
        ignores_late_marker_answers: a coordinator ignores responses to markers from a previous coordinator epoch. Before 3.8, a response to
            a late marker can cause the coordinator to forget the markers from the current epoch, so that the transaction never completes
            (KAFKA-16352, 3.8).
        expires_uninitialized_ids: a transactional ID that never got a producer epoch expires like any other ID (KAFKA-14880, 3.4.1).
        transaction_feature: the release has the feature `transaction.version`, which a cluster can raise or lower (4.0,
            `core.kafka.features`).
        transaction_version: the level of the feature `transaction.version` in a new cluster. At level 2, each transaction has its own
            producer epoch, and leaders add partitions to transactions (KIP-890, 4.0).
        marker_epoch_must_rise: with transaction.version 2, the epoch of a marker must be greater than the producer's epoch (KIP-1228, 4.2).
        skips_markers_of_offline_partitions: if a partition has no leader, a coordinator assumes that the partition has been deleted, and
            skips its marker (KAFKA-20734, 4.3).
        stable_offsets: OffsetFetch can require stable offsets. If an open transaction contains an offset for a partition, the partition
            then has no committed offset until the transaction has ended (KIP-447, 2.5).
        transactional_commits_name_members: TxnOffsetCommit contains the member and its generation, and the coordinator checks them
            (KIP-447, 2.5).
        verifies_offset_commits: a group coordinator verifies TxnOffsetCommit in the same way as a leader verifies a produce request (KAFKA-15784, 3.7).
        commits_below_min_isr: a group coordinator appends offsets even if the ISR of their partition is smaller than min.insync.replicas.
            The offset commit then waits for the high watermark (KIP-848's coordinator, 4.0).
        responses_wait_for_writes: a group coordinator responds only when all records that it has written so far are committed, even if the
            request writes nothing (`CoordinatorRuntime`, 4.0). Before 4.0, a response waits only if its request writes records.
        plain_commits_unstable: an offset that is being committed outside of a transaction is also unstable (before 4.0).
        unknown_group_not_found: if OffsetCommit contains a generation and the group is unknown, the error is GROUP_ID_NOT_FOUND; before
            4.0, it is ILLEGAL_GENERATION.
        consumer_groups: brokers coordinate consumer groups (the new consumer, 0.9). Before 0.9, consumers coordinate themselves through
            ZooKeeper.
        requires_member_id: a dynamic member first gets a member ID, and then joins with it (KIP-394, 2.2).
        new_members_expire: a new member waits for its first generation for at most 5 minutes (KAFKA-7610, 2.2).
        delays_first_rebalance: a group that was empty waits for more members before its first generation (KIP-134, 0.11).
        limits_group_size: group.max.size limits the number of members (KIP-389, 2.2).
        static_members: a member with a group.instance.id keeps its place when its process restarts (KIP-345, 2.3).
        skips_assignment: a static group leader that rejoins is told that it is still the leader, and keeps the assignment (KIP-814, 3.2).
            Before 3.2, a static group leader that rejoins is not told that it is still the group leader.
        stores_new_groups: a coordinator writes a group to the log when it assigns the first member ID (KIP-848's coordinator, 4.0).
        syncs_expire: a member that does not sync within the rebalance timeout is removed (KAFKA-12890, 3.0).
        heartbeats_while_completing: the coordinator accepts a heartbeat while the group is waiting for the assignment (KAFKA-10122, 2.7).
        checks_protocol_of_sync: SyncGroup contains the name of the group's assignor, and the coordinator checks it (KIP-559, 2.5).
        background_heartbeats: consumers send heartbeats while they are processing records, and leave the group after max.poll.interval.ms
            (KIP-62, 0.10.1). Before 0.10.1, consumers send heartbeats only in poll(), and rejoin within session.timeout.ms.
        sticky_assignor: consumers support the assignor `sticky` (KIP-54, 0.11).
        cooperative_rebalances: consumers support the assignor `cooperative-sticky`, with which they keep partitions during a rebalance
            (KIP-429, 2.4).
        cooperative_by_default: the default of partition.assignment.strategy is range and cooperative-sticky (KAFKA-12477, 3.0). Before 3.0,
            the default of partition.assignment.strategy is range.
        owners_name_generations: subscriptions contain the generation of the owned partitions (KIP-792, 3.2).
        resets_by_duration: auto.offset.reset can be a duration (KIP-1106, 4.0).
        offsets_expire_with_group: the retention time of committed offsets begins when the group becomes empty (KIP-211, 2.1). Before 2.1,
            the retention time begins when the offsets are committed, even if the group has members.
        keyless_error: the error that is returned if a record without a key is written to a compacted topic (KIP-467, 2.4).
        cleans_below_high_watermark: the log cleaner does not clean records above the high watermark (KAFKA-13194, 3.1).
        delete_horizon_in_batches: a batch that contains tombstones, or a marker whose transaction has no records left, carries the time
            after which the cleaner can remove the tombstones or the marker (KIP-534, 3.1). Before 3.1, the cleaner uses the modification
            times of segments to decide when it can remove tombstones and markers.
        cleans_with_whole_index: when the cleaner cleans part of a segment, it knows the aborted transactions in the whole segment
            (KAFKA-13727, 2.8.2).
        cleaner_carries_transactions: the cleaner remembers a segment's transactions when it cleans the next segment (KAFKA-8351, 2.3).
            Before 2.3, the cleaner can remove the COMMIT marker of a transaction whose records are in an earlier segment.
        cleaner_skips_gaps: a cleaning pass ends at the next segment even if the last offsets in a segment are missing (KAFKA-8764, 2.4.1).
            Before 2.4.1, the cleaner repeatedly cleans the same part of the log.
        marker_keys_do_not_count: a record whose key equals a marker's key does not replace the marker (KAFKA-14055, 3.3).
        keeps_batch_of_last_sequence: the cleaner keeps an empty batch if the batch ends with its producer's last sequence number (before
            2.2.1, KAFKA-8335). Since 2.2.1, the cleaner keeps the batch that contains the producer's last offset.
        keeps_last_batch_of_round: the cleaner keeps the last batch in the range that it cleans, even if the batch has no records left
            (KAFKA-17076, 4.0).
        truncation: how a follower determines the offset to which it truncates its log.
        high_watermark: the replicas that determine the high watermark, which is the smallest of their LEOs.
        isr_order: the order in which a leader lists the members of an ISR that it has changed.
        maximal_isr: the high watermark already waits for a replica while its addition to the ISR is pending (KIP-497, 2.7).
        hw_needs_eligible: a replica outside the ISR holds back the high watermark only if it is eligible for the ISR (KAFKA-15021, 3.6).
        strict_min_isr: the high watermark does not advance while the ISR is smaller than min.insync.replicas (KIP-966, 3.7).
        capped_min_isr: the effective min.insync.replicas is at most the replication factor (KAFKA-15583, 3.7).
        epoch_at_start: a new leader immediately records the start offset of its epoch, even before its first record. A new leader also
            answers requests for epochs that are older than all epochs that it knows (KIP-279, 2.0). Before 2.0, an epoch starts with its
            first record, and the leader cannot answer a request for an older epoch.
        truncates_unused_epochs: a follower whose log ends before the truncation point still drops epoch entries that start at the end of its
            log, which it recorded as a leader that appended nothing. Before 2.6.1, such an entry stays, and the follower can ask the leader
            for this epoch again and again, and never return to the ISR (`Log#truncateTo`, KAFKA-10706, 2.6.1).
        hides_stale_hw: while a new leader's high watermark is below the start of its epoch, the leader does not return its end offset to
            clients (KIP-207, 2.2).
        hw_completes_fetch: a leader completes a follower's fetch immediately if the follower does not have the latest high watermark
            (KIP-392, 2.4; reverted in 2.6, KAFKA-9952).
        halts_on_truncation: if a broker's log is longer than its leader's log, the broker halts instead of truncating the log, unless
            unclean leader election is enabled (up to 1.1, KAFKA-2015).
        halved_isr_check: `isr-expiration` runs twice per replica.lag.time.max.ms (0.10.2). Before 0.10.2, `isr-expiration` runs only once
            per replica.lag.time.max.ms.
        caught_up_as_of_last_fetch: if a follower's fetch reaches the LEO that the leader had at the previous fetch, the follower counts as
            caught up at the time of the previous fetch (KAFKA-4485, 0.10.2). Before 0.10.2, a follower counts as caught up only if it
            fetches from the log end, so it can leave the ISR even though it is never far behind.
        expand_needs_epoch_start: a replica can join the ISR only if it has reached the start offset of the leader's epoch (KAFKA-7128,
            2.0).
        shrink_spares_equal_leo: a follower whose LEO equals the leader's LEO is never removed from the ISR (KAFKA-7152, 2.1).
        sessions_keep_epochs: a leader remembers the leader epochs of the partitions in a fetch session. Before 2.5, it forgets them, so that
            it fences only the fetch that begins a session (KAFKA-9338, 2.5).
        fetch_epoch_fencing: fetches carry the leader epoch, and a leader refuses requests with other epochs (KIP-320, 2.1).
        truncation_epoch_fencing: OffsetsForLeaderEpoch and ListOffsets requests carry the leader epoch, and a leader refuses requests with
            other epochs (KIP-320, 2.1).
        hw_same_epoch: only fetches in the leader's own epoch affect the high watermark and the ISR. In Kafka, `hw_same_epoch` follows from
            epoch fencing; in isrlab, it can also be switched off separately (KIP-320, 2.1).
        truncate_on_epoch_change: a follower that has missed an epoch truncates its log again, even if the leader is the same (KAFKA-7164;
            isrlab models it for Kafka 2.0 and later).
        truncate_in_next_epoch: a follower truncates its log again even if it has not missed an epoch, so it truncates in every new epoch
            (KAFKA-7164, as fixed in 2.1).
        isr_eligibility: fenced brokers and brokers in controlled shutdown cannot join an ISR (KIP-841, 3.3).
        broker_epoch_in_isr: an ISR change contains the broker epochs of the members, and stale epochs are refused (KIP-903, 3.5).
        alter_partition_v2: AlterPartition identifies topics by their IDs, and has new error codes (version 2, 3.3).
        partition_epoch_check: an ISR change that is not based on the partition's current state is refused (KIP-497; in earlier releases,
            the version of the znode ensures this).
        bump_epoch_on_shrink: an ISR shrink raises the leader epoch. Each attempt to remove the last member raises the leader epoch, too,
            although the last member stays in the ISR, so its controlled shutdown raises the leader epoch twice (KRaft before 3.6,
            KAFKA-15021).
        registration_leaves_isrs: when the process of a broker registers anew, the KRaft controller removes the broker from all ISRs, as if
            it were fenced (KAFKA-18106, 4.0).
        bump_epoch_on_removal: if the controller itself shrinks an ISR, the leader epoch rises (the ZooKeeper controller's LeaderAndIsr,
            before 2.8).
        request_time_leo: the leader takes a follower's LEO from the offset that the follower fetches from, and not from the records that
            the leader sends to it (in all Kafka releases).
        ignores_diverging_fetch: a fetch that is answered with a diverging epoch does not count as progress (KAFKA-13141).
        recovery_state: an uncleanly elected leader is marked RECOVERING (KIP-704, 3.2).
        survives_failed_dir: a broker that has a failed log directory continues to use its other directories (KIP-112, 1.0). With KRaft, a
            broker can continue only since 3.7; before 3.7, a KRaft broker can have only one log directory (KIP-858).
        fences_periodically: the KRaft controller checks for stale brokers eight times per session timeout, so a broker can be fenced late
            by up to an eighth of the timeout (KAFKA-17793, 4.0). Before 4.0, the controller checks at the time at which the oldest session
            might have expired.
        applies_unclean_setting: the controller applies unclean.leader.election.enable. Before 3.9, KRaft controllers ignore this setting, and
            only an administrator can request an unclean election (KAFKA-12670, 3.9).
        elects_unclean_later: the KRaft controller periodically checks whether unclean leader election has been enabled (KAFKA-12670,
            3.9).
        pre_vote: a voter of the metadata quorum asks the others whether they would elect it before it raises the epoch (KIP-996, 4.0).
        check_quorum: the active controller resigns if a majority of the voters has not fetched from it for 1.5 times
            controller.quorum.fetch.timeout.ms (KAFKA-15489, 3.7).
        elr_feature: the release has the feature `eligible.leader.replicas.version`, which can be turned on or off in a cluster (4.0,
            `core.kafka.features`).
        elr: the controller keeps eligible leader replicas (KIP-966; enabled in new clusters since 4.1).
        unclean_broker_leaves_elr: a broker that registers after an unclean shutdown leaves the ELR (KIP-966, with ELR).
        elect_from_isr: in a clean election, the leader comes from the ISR or the ELR (in all Kafka releases). If `elect_from_isr` is
            switched off, the replica that has the longest log becomes leader. If two logs are equally long, the replica whose last record
            has the higher leader epoch becomes leader.
        counts_lag: a follower that is more than replica.lag.max.messages behind leaves the ISR. In contrast, replica.lag.time.max.ms does
            not affect a follower that keeps fetching, however slowly it catches up (before 0.9, KAFKA-1546).
        zookeeper: the controller is a broker that is elected through ZooKeeper (isrlab uses ZooKeeper for Kafka releases before 3.3).
            In KRaft mode, the controller is the leader of the KRaft quorum.
        empties_isr: the ZooKeeper controller removes also the last member from an ISR if unclean leader election is enabled for the topic
            (before 1.1, `KafkaController#removeReplicaFromIsr`). Since 1.1, the last member stays.
        shutdown_follows_isr: when a broker shuts down, the next leader is the first member of the ISR. Since 0.10, it is the first assigned
            replica that is in the ISR (`ControlledShutdownLeaderSelector`).
        preferred_leader_is_online: in a requested election of the preferred leader, the controller takes a partition for online if ZooKeeper
            names the preferred replica as its leader, although this leader is dead (before 1.1, `PartitionStateMachine#handleStateChange`).
            When the leader returns, it leads in the same epoch.
        elects_preferred_again: a requested election of the preferred leader also writes a new leader epoch for a partition that the preferred
            leader already leads (`PartitionStateMachine#leaderForPreferredReplica`, 1.1 to 2.1).
        takes_out_dead_at_start: a new ZooKeeper controller removes dead brokers from ISRs and replaces dead leaders (KAFKA-3143, 2.3).
            Before 2.3, a failed broker is removed from ISRs only by the controller that was active when the broker failed.
        alters_reassignments: a running reassignment can be canceled or replaced (KIP-455, 2.4). Before 2.4, `kafka-reassign-partitions`
            does not start a reassignment while another one is running.
        reassignment_completion: the replicas that must be in the ISR before a KRaft controller completes a reassignment. A ZooKeeper
            controller waits for all target replicas.
        dead_target: what happens if a reassignment assigns a partition to a broker that is not alive.
        leader_writes_isr: a leader writes its ISR to ZooKeeper itself, and the controller learns about it later (before 2.7, KIP-497).
        waits_for_stopped_fetchers: a broker that stops a fetcher because of a LeaderAndIsr request waits until the fetch in flight has a
            response, has timed out, or has lost its connection, and handles no other request of the controller in the meantime
            (KAFKA-6051, 1.1).
        publishes_isr_changes: a leader that writes its ISR publishes the change in /isr_change_notification (KAFKA-1367, 0.9). Before 0.9,
            the controller learns about the ISR changes of a partition only while the partition is being reassigned.
        reliable_leader_epochs: clients ignore what metadata says about a partition if its leader epoch is older than the newest one that they
            have seen (`Metadata#lastSeenLeaderEpochs`, `MetadataResponse#hasReliableLeaderEpochs`, 2.4). Before 2.4, clients believe every
            response.
        metadata_topic_ids: metadata contains the IDs of topics, so clients notice that a topic was deleted and created again (KIP-516,
            2.8). Before 2.8, they ignore such a topic until its leader epochs are as new as those of the deleted topic.
        validates_positions: when a consumer learns about a new leader, it requests the end offset of the leader epoch of the last record
            that it has read. If the epoch ends below the consumer's position, the consumer goes back to the end of the epoch. A consumer
            that starts at a committed offset ignores metadata that is older than the epoch of this offset (KIP-320, 2.3).
        keeps_paused_records: when a consumer pauses a partition, it keeps the records that it has already fetched (KAFKA-7548). Before 2.4,
            a consumer that pauses a partition drops its fetched records, and fetches them again later.
        skips_buffered_brokers: while fetched records of a partition that is not paused are waiting for poll(), the consumer does not fetch
            other partitions from the broker that sent these records (KAFKA-17182, 4.0).
        finds_by_time: ListOffsets finds the first record at or after a timestamp (KIP-79, 0.10.1). Before 0.10.1, ListOffsets searches the
            modification times of segments.
        reads_from_followers: consumers send their rack, and followers serve consumers that send their rack (KIP-392, 2.4).
        controller_epoch_fencing: brokers refuse requests from a controller whose epoch is older than the latest one that they know (in all
            Kafka releases).
        clients_ask_api_versions: on each new connection, clients ask for the broker's API versions before they send the first request
            (`NetworkClient#handleInitiateApiVersionRequests`, KIP-97, 0.10.2). Fetchers of brokers do not.
        newer_clients: producers double their retry backoff (KIP-580), and retry immediately when they learn about a new leader
            (KAFKA-15415, 3.7).
        sticky_partitioner: producers send records that have no key to one partition until its batch is full or sent (KIP-480, 2.4).
        partitions_by_bytes: producers switch to another partition after batch.size bytes, and prefer partitions that have short queues
            (KIP-794, 3.3).
        transactions_tool: the release has `kafka-transactions` (KIP-664, 3.0).
        transactions_tool_filters_duration: `kafka-transactions list` has the option `--duration-filter` (KIP-994, 3.8).
        groups_tool: the output format of `kafka-consumer-groups`.
        groups_tool_resets: `kafka-consumer-groups` supports `--reset-offsets` (KIP-122, 0.11).
        groups_tool_lists_states: `kafka-consumer-groups --list` supports `--state` (KIP-518, 2.6).
        describe_asks_brokers: `kafka-topics` sends its requests to brokers, lists topics in the order of a hash table, and fails if
            `--topic` matches no topic (2.2). Before 2.2, `kafka-topics` reads ZooKeeper, sorts the topics, prints nothing if no topic
            matches, and takes ReplicationFactor from the head of a map of the partitions.
        describe_hashes_case_class: the head of that map follows from the hash of a Scala case class (`kafka.common.TopicAndPartition`). From
            0.11 to 2.1, recordings show the order of `TopicPartition#hashCode`.
        describe_topic_id: `kafka-topics --describe` prints TopicId (2.8).
        describe_elr: `kafka-topics --describe` prints Elr and LastKnownElr (3.8).
        describe_spaced: `kafka-topics --describe` prints `Topic: t` in the topic's summary line; before 2.2, it prints `Topic:t`.
        describe_no_leader: the text that `kafka-topics --describe` prints for a partition that has no leader: `none` or, before 2.2, the
            leader in ZooKeeper, which is `-1`.
        describe_reassignment: `kafka-topics --describe` prints Adding Replicas and Removing Replicas, and does not count the replicas that a
            reassignment is adding in ReplicationFactor and for `--under-replicated-partitions` (2.6). Before 2.6, the tool counts all
            current replicas.
        sticky_algorithm: the algorithm of the sticky assignors for members that all subscribe to the same topics.
        rack_aware_assignors: client-side assignors prefer partitions that have a replica in the member's rack (KIP-881, 3.5).
        claims_by_partition: of two members that claim the same partition, sticky assignors prefer the one with the higher generation
            (KAFKA-14639, 3.5). Before 3.5, only the members that report the highest generation own any partitions.
        sorts_owned_partitions: a member that owns too many partitions keeps those that have the lowest numbers, across all topics
            (KAFKA-16277, 3.7.1). Before 3.7.1, a member that owns too many partitions keeps the partitions that it reports first.
        extra_goes_to_any_member: with the server-side assignor `uniform`, any member can have one more partition than other members. Before
            4.1, only the first members of the group can have an extra partition (KAFKA-18688, 4.1).
        shrinks_offsets_topic: if fewer brokers than offsets.topic.replication.factor are alive when the topic `__consumer_offsets` is
            created, the topic gets only one replica for each live broker. Since 0.11, the creation of the topic fails, and each
            FindCoordinator request tries to create the topic again (KAFKA-3959, 0.11).
        consumer_protocol: brokers coordinate groups for which they assign the partitions themselves (KIP-848, 4.0; the early access in 3.7
            is not modeled).
        stores_subscription_metadata: a coordinator stores the topics of a consumer group in a separate record. Since 4.1, the record of the
            group epoch contains a hash of the topics.
        spaces_assignments: a coordinator computes a consumer group's target assignment at most once per
            group.consumer.assignment.interval.ms (4.3).
        consumer_groups_begin_at: the epoch of a consumer group before its first member joins (1 since 4.3).
    """

    name: str
    order: int
    patch: str = attrs.field(default=attrs.Factory(lambda self: _RECORDED.get(self.name, ""), takes_self=True))
    unknown_producer: UnknownProducer = _by_release(
        UnknownProducer.OUT_OF_ORDER, ("1.1", UnknownProducer.REFUSED), ("2.7", UnknownProducer.ACCEPTED)
    )
    marker_only_is_unknown: bool = _by_release(False, ("2.1", True), ("2.7", False))
    retained_batches: int = _by_release(1, ("1.1", 5))
    markers_have_timestamps: bool = _since("2.4")
    producers_outlive_segments: bool = _since("2.4")
    ignores_empty_transactions: bool = _since("2.8")
    producer_expiration_setting: str = _by_release("transactional.id.expiration.ms", ("3.6", "producer.id.expiration.ms"))
    transactions: bool = _since("0.11")
    idempotent_in_flight: int = _by_release(1, ("1.1", 5))
    refuses_more_in_flight: bool = _since("4.0")
    limited_calls: tuple[str, ...] = _by_release(
        (),
        ("2.0", ("initTransactions",)),
        ("2.4", ("initTransactions", "commitTransaction", "abortTransaction")),
        ("2.7", ("initTransactions", "commitTransaction", "abortTransaction", "sendOffsetsToTransaction")),
    )
    timed_out_call_must_be_repeated: bool = _since("3.3")
    retries_first_partition_soon: bool = _since("1.1")
    bumps_producer_epoch: bool = _since("2.7")
    producer_fenced: bool = _since("2.7")
    invalid_transition_is_fatal: bool = _since("3.6")
    unknown_producer_is_fatal: bool = _since("4.1")
    end_txn_epoch_must_match: bool = _since("2.7")
    fence_survives_failed_append: bool = _since("2.7")
    tests_pending_first: bool = _since("4.0")
    timeout_fences_producer: bool = _since("1.1")
    verifies_transactions: bool = _since("3.6")
    verifies_current_epoch: bool = _since("4.1")
    checks_epoch_before_guard: bool = _since("4.1")
    transaction_abortable: bool = _since("3.9")
    answers_producer_fenced: bool = _since("2.7")
    ignores_late_marker_answers: bool = _since("3.9")
    expires_uninitialized_ids: bool = _since("3.6")
    transaction_feature: bool = _since("4.0")
    transaction_version: int = _by_release(0, ("4.0", 2))
    marker_epoch_must_rise: bool = _since("4.2")
    skips_markers_of_offline_partitions: bool = _since("4.3")
    stable_offsets: bool = _since("2.7")
    transactional_commits_name_members: bool = _since("2.7")
    verifies_offset_commits: bool = _since("3.7")
    commits_below_min_isr: bool = _since("4.0")
    responses_wait_for_writes: bool = _since("4.0")
    plain_commits_unstable: bool = _until("4.0")
    unknown_group_not_found: bool = _since("4.0")
    consumer_groups: bool = _since("0.9")
    shrinks_offsets_topic: bool = _until("0.11")
    requires_member_id: bool = _since("2.4")
    new_members_expire: bool = _since("2.4")
    delays_first_rebalance: bool = _since("0.11")
    limits_group_size: bool = _since("2.4")
    static_members: bool = _since("2.4")
    skips_assignment: bool = _since("3.3")
    stores_new_groups: bool = _since("4.0")
    syncs_expire: bool = _since("3.3")
    heartbeats_while_completing: bool = _since("2.7")
    checks_protocol_of_sync: bool = _since("2.7")
    background_heartbeats: bool = _since("0.10.2")
    sticky_assignor: bool = _since("0.11")
    cooperative_rebalances: bool = _since("2.4")
    cooperative_by_default: bool = _since("3.3")
    owners_name_generations: bool = _since("3.3")
    resets_by_duration: bool = _since("4.0")
    offsets_expire_with_group: bool = _since("2.1")
    keyless_error: str = _by_release("CORRUPT_MESSAGE", ("2.4", "INVALID_RECORD"))
    cleans_below_high_watermark: bool = _since("3.3")
    delete_horizon_in_batches: bool = _since("3.3")
    cleans_with_whole_index: bool = _since("2.8")
    cleaner_carries_transactions: bool = _since("2.4")
    cleaner_skips_gaps: bool = _since("2.4")
    marker_keys_do_not_count: bool = _since("3.3")
    keeps_batch_of_last_sequence: bool = _until("2.4")
    keeps_last_batch_of_round: bool = _since("4.0")
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
    truncates_unused_epochs: bool = _since("2.7")
    hides_stale_hw: bool = _since("2.4")
    hw_completes_fetch: bool = _by_release(False, ("2.4", True), ("2.7", False))
    halts_on_truncation: bool = _until("2.0")
    halved_isr_check: bool = _since("0.10.2")
    caught_up_as_of_last_fetch: bool = _since("0.10.2")
    expand_needs_epoch_start: bool = _since("2.0")
    shrink_spares_equal_leo: bool = _since("2.1")
    fetch_epoch_fencing: bool = _since("2.1")
    sessions_keep_epochs: bool = _since("2.7")
    truncation_epoch_fencing: bool = _since("2.1")
    hw_same_epoch: bool = _since("2.1")
    truncate_on_epoch_change: bool = _since("2.0")
    truncate_in_next_epoch: bool = _since("2.1")
    isr_eligibility: bool = _since("3.3")
    broker_epoch_in_isr: bool = _since("3.6")
    alter_partition_v2: bool = _since("3.3")
    partition_epoch_check: bool = True
    bump_epoch_on_shrink: bool = _by_release(False, ("2.8", True), ("3.6", False))
    registration_leaves_isrs: bool = _since("4.0")
    bump_epoch_on_removal: bool = _until("2.8")
    request_time_leo: bool = True
    ignores_diverging_fetch: bool = True
    recovery_state: bool = _since("3.3")
    survives_failed_dir: bool = _by_release(False, ("1.1", True), ("3.3", False), ("3.7", True))
    fences_periodically: bool = _since("4.0")
    applies_unclean_setting: bool = _by_release(True, ("3.3", False), ("3.9", True))
    elects_unclean_later: bool = _since("3.9")
    pre_vote: bool = _since("4.0")
    check_quorum: bool = _since("3.7")
    elr_feature: bool = _since("4.0")
    elr: bool = _since("4.1")
    unclean_broker_leaves_elr: bool = _since("4.0")
    elect_from_isr: bool = True
    counts_lag: bool = _until("0.9")
    zookeeper: bool = _until("3.3")
    empties_isr: bool = _until("1.1")
    shutdown_follows_isr: bool = _until("0.10.2")
    preferred_leader_is_online: bool = _until("1.1")
    elects_preferred_again: bool = _by_release(False, ("1.1", True), ("2.4", False))
    takes_out_dead_at_start: bool = _since("2.4")
    alters_reassignments: bool = _since("2.4")
    reassignment_completion: ReassignmentCompletion = _by_release(
        ReassignmentCompletion.ADDED, ("3.9", ReassignmentCompletion.ALL_TARGETS), ("4.3", ReassignmentCompletion.ADDED_OR_ALL_TARGETS)
    )
    dead_target: DeadTarget = _by_release(
        DeadTarget.FAILED, ("0.10.2", DeadTarget.AWAITED), ("0.11", DeadTarget.NOT_EXISTENT), ("2.7", DeadTarget.UNKNOWN)
    )
    leader_writes_isr: bool = _until("2.7")
    waits_for_stopped_fetchers: bool = _until("1.1")
    publishes_isr_changes: bool = _since("0.9")
    reliable_leader_epochs: bool = _since("2.4")
    metadata_topic_ids: bool = _since("2.8")
    validates_positions: bool = _since("2.4")
    keeps_paused_records: bool = _since("2.4")
    skips_buffered_brokers: bool = _since("4.0")
    finds_by_time: bool = _since("0.10.2")
    reads_from_followers: bool = _since("2.4")
    controller_epoch_fencing: bool = True
    clients_ask_api_versions: bool = _since("0.10.2")
    newer_clients: bool = _since("3.7")
    sticky_partitioner: bool = _since("2.4")
    partitions_by_bytes: bool = _since("3.3")
    transactions_tool: bool = _since("3.3")
    transactions_tool_filters_duration: bool = _since("3.9")
    groups_tool: GroupsTool = _by_release(
        GroupsTool.COMMAS, ("0.10.2", GroupsTool.FIXED_WIDTHS), ("1.1", GroupsTool.VIEWS), ("2.4", GroupsTool.GROUP_COLUMN),
        ("3.9", GroupsTool.JAVA), ("4.0", GroupsTool.EPOCHS), ("4.3", GroupsTool.SORTED),
    )  # fmt: skip
    groups_tool_resets: bool = _since("0.11")
    groups_tool_lists_states: bool = _since("2.7")
    describe_asks_brokers: bool = _since("2.4")
    describe_hashes_case_class: bool = _until("0.11")
    describe_topic_id: bool = _since("2.8")
    describe_elr: bool = _since("3.9")
    describe_spaced: bool = _since("2.4")
    describe_no_leader: str = _by_release("-1", ("2.4", "none"))
    describe_reassignment: bool = _since("2.7")
    sticky_algorithm: StickyAlgorithm = _by_release(
        StickyAlgorithm.GENERAL, ("2.7", StickyAlgorithm.MAXIMUM_QUOTA), ("3.3", StickyAlgorithm.EXPECTED_MEMBERS)
    )
    rack_aware_assignors: bool = _since("3.6")
    claims_by_partition: bool = _since("3.6")
    sorts_owned_partitions: bool = _since("3.7")
    extra_goes_to_any_member: bool = _since("4.1")
    consumer_protocol: bool = _since("4.0")
    stores_subscription_metadata: bool = _until("4.1")
    spaces_assignments: bool = _since("4.3")
    consumer_groups_begin_at: int = _by_release(0, ("4.3", 1))

    @property
    def controller(self) -> str:
        """The kind of control plane, which is `zookeeper` or `kraft`."""
        return "zookeeper" if self.zookeeper else "kraft"

    def without(self, guards: Iterable[str]) -> Release:
        """Return this release with some guards switched off. The name of the returned release lists the guards that are switched off.

        Raises:
            ValueError: a given name is not the name of a guard. The error message suggests a similar name, if there is one.
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
            changes["elr_feature"] = False  # no feature level can switch it on again
        return attrs.evolve(self, name=self.name + "".join(f" without {guard}" for guard in off), **changes)

    def has(self, guard: str) -> bool:
        """Return whether a guard (one of `GUARDS`) is in force."""
        return bool(getattr(self, guard.replace("-", "_")))

    @staticmethod
    def named(name: str) -> Release:
        """Return the release that has the given name.

        Raises:
            ValueError: no release has the given name. The error message lists the known releases.
        """
        found = RELEASES.get(name)
        if found is None:
            near = difflib.get_close_matches(name, RELEASES, n=1, cutoff=0.6)
            hint = f"did you mean {near[0]}? " if near else ""
            raise ValueError(f"unknown release '{name}'; {hint}use one of {', '.join(RELEASES)}")
        return found


GUARDS: Final[Mapping[str, str]] = {
    "maximal-isr": "the high watermark waits for a replica while its addition to the ISR is pending",
    "hw-needs-eligible": "a replica that may not join the ISR does not hold back the high watermark",
    "strict-min-isr": "the high watermark does not advance while the ISR is smaller than min.insync.replicas",
    "capped-min-isr": "a min.insync.replicas above the replication factor counts as the replication factor",
    "epoch-at-start": "a new leader records where its epoch starts before it appends a record",
    "hides-stale-hw": "a new leader does not tell clients its end offset until its high watermark reaches its own epoch",
    "expand-needs-epoch-start": "a replica joins the ISR only when it has reached the start of the leader's epoch",
    "shrink-spares-equal-leo": "a follower that has everything that the leader has is not removed from the ISR",
    "fetch-epoch-fencing": "a leader refuses fetches that carry another leader epoch",
    "truncation-epoch-fencing": "a leader refuses questions about epochs and offsets that carry another leader epoch",
    "hw-same-epoch": "only fetches in the leader's own epoch move the high watermark and the ISR",
    "truncate-on-epoch-change": "a follower that has missed an epoch truncates its log again, even if the leader is the same",
    "isr-eligibility": "fenced brokers, and brokers that are shutting down, cannot join an ISR",
    "broker-epoch-in-isr": "an ISR change is refused if a member has restarted in the meantime",
    "partition-epoch-check": "an ISR change is refused if it is not based on the current state of the partition",
    "request-time-leo": "a leader believes that a follower has records only when the follower's next fetch says so",
    "ignores-diverging-fetch": "a fetch that is answered with a diverging epoch does not count as progress",
    "elr": "the controller remembers eligible leader replicas when the ISR is smaller than min.insync.replicas",
    "unclean-broker-leaves-elr": "a broker that returns from an unclean shutdown is no longer an eligible leader replica",
    "elect-from-isr": "in a clean election, the leader comes from the ISR or the ELR",
    "validates-positions": "a consumer asks a new leader whether the log still contains what it has read",
    "controller-epoch-fencing": "brokers refuse requests from a controller that was replaced",
    "zookeeper": "the controller is elected through ZooKeeper; without it, KRaft with the other rules of the release",
}
"""The rules that can be switched off one by one, to show the purpose of each rule, with what each rule does. The name of a guard is the name of
its field, with dashes instead of underscores; the docstring of `Release` says more."""

RELEASES: Final = {name: Release(name, order) for order, name in enumerate(_NAMES)}
"""The known releases, by name, oldest first."""

CURRENT: Final = RELEASES[_NAMES[-1]]
"""The newest release, which is the default."""
