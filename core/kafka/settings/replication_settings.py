"""Settings for replication, leadership, controllers, and threads."""

from __future__ import annotations

from typing import Final

from core.kafka.settings.setting import MAX_LONG, Setting

REPLICATION_SETTINGS: Final = (
    Setting("min.insync.replicas", "int", 1, "topic", True, "The minimum number of in-sync replicas that a write with acks=all requires.", least=1),
    Setting(
        "unclean.leader.election.enable", "boolean", False, "topic", True,
        "Whether a replica outside the ISR can become leader when no member of the ISR is alive. Records that this replica lacks are lost.", older_defaults=(("0.10.2", True),),
    ),
    Setting(
        "replica.lag.time.max.ms", "long", 30_000, "broker", False,
        "The time after which a follower that has not caught up with its leader is removed from the ISR. Leaders check for such followers periodically, so the removal can take up to 1.5 times as long.",
        least=1, most=MAX_LONG, older_defaults=(("2.4", 10_000),),
    ),
    Setting(
        "replica.lag.max.messages", "long", 4_000, "broker", False,
        "The number of missing records above which a follower is removed from the ISR. This setting exists only in releases before 0.9.", least=1, most=MAX_LONG,
        until="0.8.2",
    ),
    Setting(
        "replica.fetch.wait.max.ms", "int", 500, "broker", False,
        "The maximum time that a leader delays its response to a follower's fetch if there are no new records.",
    ),
    Setting("replica.fetch.min.bytes", "int", 1, "broker", False, "The number of bytes at which a leader stops waiting and responds to a follower's fetch."),
    Setting("replica.fetch.max.bytes", "int", 1_048_576, "broker", False, "The maximum number of bytes per partition in a response to a follower."),
    Setting("replica.fetch.response.max.bytes", "int", 10_485_760, "broker", False, "The maximum total number of bytes in a response to a follower.", since="0.10.2"),
    Setting("replica.fetch.backoff.ms", "int", 1_000, "broker", False, "The time that a follower waits after an error before it fetches the partition again."),
    Setting(
        "replica.socket.timeout.ms", "int", 30_000, "broker", False,
        "The time that a follower waits for a response before it closes the connection.", least=1,
    ),
    Setting(
        "num.replica.fetchers", "int", 1, "broker", True,
        "The number of threads with which a broker fetches from each of the other brokers. The partitions are distributed among these threads.", least=1, most=1_000,
    ),
    Setting(
        "replica.high.watermark.checkpoint.interval.ms", "long", 5_000, "broker", False,
        "The interval at which a broker writes its high watermarks to disk.", least=1, most=MAX_LONG,
    ),
    Setting("default.replication.factor", "int", 1, "broker", False, "The replication factor of a topic that does not specify one.", least=1),
    Setting("num.partitions", "int", 1, "broker", False, "The number of partitions of a topic that does not specify one.", least=1),
    Setting(
        "broker.heartbeat.interval.ms", "int", 2_000, "broker", False,
        "The interval at which a broker sends heartbeats to the controller.", least=1, since="2.8",
    ),
    Setting("broker.session.timeout.ms", "int", 9_000, "controller", False, "The time without a heartbeat after which the controller fences a broker.", least=1, since="2.8"),
    Setting(
        "controller.quorum.fetch.timeout.ms", "int", 2_000, "controller", False,
        "The time without contact with the quorum leader after which a voter starts an election. A leader that does not hear from a majority for 1.5 times as long resigns.",
        least=1, since="2.8",
    ),
    Setting(
        "controller.quorum.election.timeout.ms", "int", 1_000, "controller", False,
        "The time that a voter waits for votes before it starts another election. A random delay of up to the same length is added.", least=1,
        since="2.8",
    ),
    Setting(
        "delete.topic.enable", "boolean", True, "broker", False, "Whether topics can be deleted.", older_defaults=(("0.11", False),),
    ),
    Setting(
        "auto.leader.rebalance.enable", "boolean", True, "controller", False,
        "Whether the controller periodically moves leadership back to preferred leaders.",
    ),
    Setting(
        "leader.imbalance.check.interval.seconds", "long", 300, "controller", False,
        "The interval, in seconds, at which the controller checks for leaders that are not the preferred leaders.", least=1, most=MAX_LONG,
    ),
    Setting(
        "unclean.leader.election.interval.ms", "long", 300_000, "controller", False,
        "The interval at which the controller checks for partitions that have no leader and that an unclean election can bring online.",
        least=1, most=MAX_LONG,
    ),
    Setting(
        "leader.imbalance.per.broker.percentage", "int", 10, "controller", False,
        "The percentage of a broker's preferred partitions that other brokers can lead before a ZooKeeper controller moves leadership back to this broker. KRaft ignores this setting.",
    ),
    Setting(
        "zookeeper.session.timeout.ms", "int", 18_000, "broker", False,
        "The time without contact with a broker after which ZooKeeper ends the broker's session. The controller then considers the broker "
        "dead. This setting exists only in releases that use ZooKeeper.",
        least=1, older_defaults=(("2.4", 6_000),), until="3.9",
    ),
    Setting(
        "controlled.shutdown.enable", "boolean", True, "broker", False,
        "Whether a broker moves leadership to other brokers before it stops.",
    ),
    Setting(
        "num.network.threads", "int", 3, "broker", True,
        "The number of threads that read requests and write responses. The metric NetworkProcessorAvgIdlePercent shows how idle they are.", least=1,
    ),
    Setting("num.io.threads", "int", 8, "broker", True, "The number of threads that process requests. The metric RequestHandlerAvgIdlePercent shows how idle they are.", least=1),
    Setting(
        "leader.replication.throttled.rate", "long", MAX_LONG, "broker", True,
        "The maximum number of bytes per second that a broker sends to the followers of throttled partitions.", least=1, most=MAX_LONG,
        since="0.10.2",
    ),
    Setting(
        "follower.replication.throttled.rate", "long", MAX_LONG, "broker", True,
        "The maximum number of bytes per second that a broker copies as a follower of throttled partitions.", least=1, most=MAX_LONG,
        since="0.10.2",
    ),
    Setting(
        "leader.replication.throttled.replicas", "list", "", "topic", True,
        "The throttled leaders, in the form partition:broker,… or *. By default, these are the leaders of partitions that are being reassigned.",
        since="0.10.2",
    ),
    Setting(
        "follower.replication.throttled.replicas", "list", "", "topic", True,
        "The throttled followers, in the form partition:broker,… or *. By default, these are the replicas that a reassignment is adding.",
        since="0.10.2",
    ),
    Setting(
        "replica.selector.class", "class", "", "broker", False,
        "The class that selects the replica that consumers read from. If it is empty, consumers read from the leader. With "
        "RackAwareReplicaSelector, consumers read from a replica in their rack (KIP-392).",
        classes=("org.apache.kafka.common.replica.LeaderSelector", "org.apache.kafka.common.replica.RackAwareReplicaSelector"), since="2.4",
    ),
)  # fmt: skip
