"""Settings for transaction coordinators, group coordinators, and their topics."""

from __future__ import annotations

from typing import Final

from core.kafka.settings.setting import LONGEST_MS, MAX_INT, Setting

COORDINATOR_SETTINGS: Final = (
    Setting(
        "transaction.max.timeout.ms", "int", 900_000, "broker", False,
        "The maximum transaction.timeout.ms that a producer can request.", least=1, since="0.11",
    ),
    Setting(
        "transactional.id.expiration.ms", "int", 604_800_000, "broker", False,
        "The time without transactions after which a transaction coordinator forgets a transactional.id. Before 3.4, leaders also forget idle producers after this time.",
        least=1, since="0.11",
    ),
    Setting(
        "producer.id.expiration.ms", "int", 86_400_000, "broker", True,
        "The idle time after which a partition forgets a producer's sequence numbers.", least=1, since="3.6",
    ),
    Setting(
        "producer.id.expiration.check.interval.ms", "int", 600_000, "broker", False,
        "The interval at which a broker checks for producers that have been idle for too long.", least=1, since="3.6",
    ),
    Setting(
        "offsets.topic.num.partitions", "int", 50, "broker", False, "The number of partitions of __consumer_offsets.", least=1, most=1_000,
    ),
    Setting(
        "offsets.topic.replication.factor", "int", 3, "broker", False, "The replication factor of __consumer_offsets.", least=1, most=1_000,
    ),
    Setting(
        "offsets.commit.timeout.ms", "int", 5_000, "broker", False,
        "How long a group coordinator waits until the offsets that a client commits are replicated.", least=1,
    ),
    Setting(
        "offsets.retention.minutes", "int", 10_080, "broker", False,
        "The time after which the committed offsets of an empty group expire. Before 2.1, this time begins when the offsets are committed, even if the group is active.",
        least=1, older_defaults=(("1.1", 1_440),), since="0.9",
    ),
    Setting(
        "offsets.retention.check.interval.ms", "long", 600_000, "broker", False,
        "The interval at which a group coordinator checks for expired offsets.", least=1, most=LONGEST_MS, since="0.9",
    ),
    Setting(
        "group.min.session.timeout.ms", "int", 6_000, "broker", False, "The minimum session.timeout.ms that a member of a group can request.",
        since="0.9",
    ),
    Setting(
        "group.max.session.timeout.ms", "int", 1_800_000, "broker", False, "The maximum session.timeout.ms that a member of a group can request.",
        older_defaults=(("0.9", 30_000), ("2.1", 300_000)), since="0.9",
    ),
    Setting(
        "group.initial.rebalance.delay.ms", "int", 3_000, "broker", False,
        "The time that a group coordinator waits for more members before the first rebalance of an empty group. Each new member extends this time.",
        since="0.11",
    ),
    Setting(
        "group.max.size", "int", MAX_INT, "broker", False, "The maximum number of members of a group.", least=1, since="2.4",
    ),
    Setting(
        "group.consumer.heartbeat.interval.ms", "int", 5_000, "broker", False,
        "The time between two heartbeats from a member that uses the consumer protocol. The coordinator sends this value to the members.", least=1,
        since="4.0",
    ),
    Setting(
        "group.consumer.session.timeout.ms", "int", 45_000, "broker", False,
        "The time without a heartbeat after which the coordinator removes a member that uses the consumer protocol.", least=1,
        since="4.0",
    ),
    Setting(
        "group.consumer.max.size", "int", MAX_INT, "broker", False, "The maximum number of members in a group that uses the consumer protocol.", least=1,
        since="4.0",
    ),
    Setting(
        "group.consumer.assignors", "list", "uniform,range", "broker", False,
        "The assignors that coordinators offer to groups that use the consumer protocol. The first one is the default.", words=("uniform", "range"),
        since="4.0",
    ),
    Setting(
        "group.consumer.migration.policy", "word", "bidirectional", "broker", False,
        "Whether a classic group becomes a consumer group when a member that uses the consumer protocol joins (upgrade), and whether it becomes a "
        "classic group again when the last such member leaves (downgrade).", words=("bidirectional", "upgrade", "downgrade", "disabled"),
        since="4.0",
    ),
    Setting(
        "group.consumer.assignment.interval.ms", "int", 1_000, "broker", False,
        "The minimum time between two target assignments in a group that uses the consumer protocol.", since="4.3",
    ),
    Setting(
        "transaction.state.log.num.partitions", "int", 50, "broker", False, "The number of partitions of __transaction_state.", least=1, most=1_000,
        since="0.11",
    ),
    Setting(
        "transaction.state.log.replication.factor", "int", 3, "broker", False, "The replication factor of __transaction_state.", least=1, most=1_000,
        since="0.11",
    ),
    Setting(
        "transaction.state.log.min.isr", "int", 2, "broker", False, "The value of min.insync.replicas for __transaction_state.", least=1,
        since="0.11",
    ),
    Setting(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms", "int", 10_000, "broker", False,
        "The interval at which a transaction coordinator checks for transactions that have timed out.", least=1, older_defaults=(("2.4", 60_000),),
        since="0.11",
    ),
    Setting(
        "transaction.remove.expired.transaction.cleanup.interval.ms", "int", 3_600_000, "broker", False,
        "The interval at which a transaction coordinator checks for transactional IDs that have expired.", least=1, since="0.11",
    ),
    Setting(
        "transaction.partition.verification.enable", "boolean", True, "broker", True,
        "Whether a leader, before it appends the first batch of a transaction, asks the transaction coordinator to confirm that the partition is part of this transaction (KIP-890).",
        since="3.6",
    ),
)  # fmt: skip
