"""Questions of the public about replication, clients, and groups, each with the command that answers it.

They were collected from public threads and pages, and are put in our own words. `docs/questions.md` and `isrlab find` show them.
"""

from __future__ import annotations

from typing import Final

import attrs


@attrs.frozen
class Question:
    """A question that somebody asked.

    Attributes:
        name: a short name, which is unique.
        subject: what it is about; empty if nothing answers it yet.
        text: the question, in one sentence.
        address: where it was asked.
        symptoms: what people say that they see.
        errors: the errors that belong to it, in Kafka's spelling or in a client's.
        settings: the settings that belong to it.
        command: the command that answers it; empty if nothing answers it yet.
        answer: what one sees when the command has run, or why nothing answers the question. What stands between “ and ” is in the output.
    """

    name: str
    subject: str
    text: str
    address: str
    symptoms: tuple[str, ...]
    answer: str
    errors: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    command: str = ""


QUESTIONS: Final = (
    Question(
        name="producer-latency",
        subject="Acknowledgments and min ISR",
        text="How does acks change the time until a message is acknowledged?",
        address="https://github.com/confluentinc/librdkafka/issues/428",
        symptoms=("slow producer", "latency"),
        settings=("acks",),
        command=(
            "isrlab run f1-acks --show 'max-latency(none-asked)' --show 'p50-latency(leader-asked)' --show 'p50-latency(all-asked)' --at "
            "10s"
        ),
        answer=(
            "With the same load, acks=0 takes no time (“max-latency(none-asked) = 0s”), acks=1 takes one round trip "
            "(“p50-latency(leader-asked) = 4ms”), and acks=all waits for the in-sync followers, too (“p50-latency(all-asked) = 12ms”)."
        ),
    ),
    Question(
        name="refused-with-acks-all",
        subject="Acknowledgments and min ISR",
        text="Why does one client get Not enough in-sync replicas on a topic to which another client can write?",
        address="https://github.com/edenhill/kcat/issues/184",
        symptoms=("writes refused", "one client works, another does not"),
        errors=("NOT_ENOUGH_REPLICAS",),
        settings=("acks", "min.insync.replicas"),
        command="isrlab run f2-min-isr-3-one-down",
        answer=(
            "min.insync.replicas counts only for acks=all: these producers get “7 times: NOT_ENOUGH_REPLICAS”, while the leader accepts "
            "“10 records from careless to orders (acks 1)” at the same time."
        ),
    ),
    Question(
        name="is-min-isr-2-needed",
        subject="Acknowledgments and min ISR",
        text="Is min.insync.replicas=2 necessary if the replication factor is enough?",
        address="https://github.com/Yolean/kubernetes-kafka/issues/116",
        symptoms=("durability", "data loss"),
        settings=("min.insync.replicas", "acks"),
        command="isrlab ask f1-acks is-acks-all-safe",
        answer=(
            "With min.insync.replicas=1, a write with acks=all is “acknowledged when at least 1 of 3 replicas have it”, so that “one lost "
            "disk can lose it, once the ISR has shrunk to the leader”."
        ),
    ),
    Question(
        name="acks-1-loses",
        subject="Acknowledgments and min ISR",
        text="Can messages be lost with acks=1 that acks=all would keep?",
        address="https://github.com/fyndiq/confluent_kafka_helpers/issues/4",
        symptoms=("lost messages", "network partition", "split brain"),
        settings=("acks",),
        command="isrlab run d8-split-brain --release 2.4 --show 'lost-acknowledged(orders-0)' --show 'lost-acknowledged(safe-0)'",
        answer=(
            "A leader that is cut off acknowledges with acks=1 what it later truncates: “lost-acknowledged(orders-0) = 141”. The producer "
            "with acks=all has to wait, and “lost-acknowledged(safe-0) = 0”."
        ),
    ),
    Question(
        name="find-the-slow-broker",
        subject="Acknowledgments and min ISR",
        text="One broker is slow, and all partitions seem slow: which broker is it?",
        address="https://github.com/linkedin/kafka-monitor/issues/395",
        symptoms=("slow broker", "slow disk", "latency"),
        settings=("replica.lag.time.max.ms",),
        command="isrlab ask h3-slow-disk who-holds hw orders-0 --at 10s",
        answer=(
            "The answer names the broker and the cause: “b3: the high watermark of orders-0 is 980, 15 behind the leader's log end”, "
            "because “its disk is slow (100ms more for each write)”."
        ),
    ),
    Question(
        name="isr-flaps-in-a-burst",
        subject="In-sync replicas",
        text="Why does the ISR shrink and expand all the time when a producer sends fast?",
        address="https://github.com/IBM/sarama/issues/233",
        symptoms=("ISR flapping", "ISR shrinks and expands"),
        settings=("replica.lag.max.messages", "replica.lag.time.max.ms"),
        command="isrlab run c3-lag-max-messages",
        answer=(
            "Kafka 0.8.2 counts messages: after a burst of 200,000 records, followers leave, and “b2 joins the ISR of orders-0” a moment "
            "later. Since 0.9, only time counts, and the same burst changes no ISR."
        ),
    ),
    Question(
        name="joins-at-the-high-watermark",
        subject="In-sync replicas",
        text="Can a follower join the ISR although it lacks records of the leader, and leave it again?",
        address="https://github.com/apache/kafka/pull/23024",
        symptoms=("ISR flapping",),
        settings=("replica.lag.time.max.ms",),
        command="isrlab run c4-reentry-at-high-watermark",
        answer=(
            "It can: a follower only has to reach the high watermark. The follower leaves (“b2 leaves the ISR of t-0”) and joins again (“b2 "
            "joins the ISR of t-0”), although the leader has more records."
        ),
    ),
    Question(
        name="notice-unclean-elections",
        subject="Unclean elections and loss",
        text="How does one notice that an unclean leader election took place?",
        address="https://github.com/danielqsj/kafka_exporter/issues/243",
        symptoms=("unclean election", "alert", "metrics"),
        settings=("unclean.leader.election.enable",),
        command="isrlab metrics d6-unclean-election-on",
        answer=(
            "The controller counts it. The metric has the JMX name that Kafka uses: "
            "“kafka.controller:type=ControllerStats,name=UncleanLeaderElectionsPerSec”, here with “Count=1”."
        ),
    ),
    Question(
        name="how-much-is-lost",
        subject="Unclean elections and loss",
        text="How many records does an unclean election lose?",
        address="https://github.com/apache/kafka/pull/9533",
        symptoms=("unclean election", "lost messages"),
        settings=("unclean.leader.election.enable", "acks"),
        command="isrlab run d6-unclean-election-on",
        answer=(
            "All records that the new leader lacks, also those that were acknowledged with acks=all while the ISR was the old leader alone: "
            "“500 records of orders-0 at offsets 500–999 (500 acknowledged)”."
        ),
    ),
    Question(
        name="unclean-setting-does-nothing",
        subject="Unclean elections and loss",
        text="Why does unclean.leader.election.enable do nothing in KRaft?",
        address="https://github.com/apache/kafka/pull/16284",
        symptoms=("partition without leader", "offline partition"),
        errors=("REQUEST_TIMED_OUT",),
        settings=("unclean.leader.election.enable",),
        command="isrlab run d6-unclean-setting-ignored --release 3.7",
        answer=(
            "KRaft before 3.9 ignores the setting: the partition stays without leader (“orders-0 offline: no replica can lead”) until an "
            "administrator asks for the election (“elect unclean partition orders-0”)."
        ),
    ),
    Question(
        name="follower-ahead-of-leader",
        subject="Unclean elections and loss",
        text="Why does a broker exit because its log is longer than its new leader's?",
        address="https://github.com/apache/kafka/pull/5654",
        symptoms=("broker exits", "broker does not start", "log truncation"),
        errors=("OFFSET_OUT_OF_RANGE",),
        settings=("unclean.leader.election.enable",),
        command="isrlab run s2-exit-rather-than-truncate",
        answer=(
            "Old releases stop the broker instead of truncating its log. Later ones truncate (“b101 truncates t-0 (offsets 5–9)”); what the "
            "leader lost is then lost everywhere."
        ),
    ),
    Question(
        name="logs-diverge",
        subject="Unclean elections and loss",
        text="Can the logs of leader and follower differ after leaders have changed fast?",
        address="https://github.com/apache/kafka/pull/4882",
        symptoms=("log divergence", "fast failover"),
        settings=("unclean.leader.election.enable",),
        command="isrlab run s3-fast-failover",
        answer=(
            "The same elections run by three releases: in 1.1 the replicas keep different records at the same offsets, since 2.0 (KIP-279) "
            "they do not; the expectations of the scenario check it. Records are lost in all three: “2 records of t-0 at "
            "offsets 1–2 (2 acknowledged)”."
        ),
    ),
    Question(
        name="what-elr-changes",
        subject="Unclean elections and loss",
        text="What do eligible leader replicas (ELR) change when the last in-sync replica fails?",
        address="https://github.com/apache/kafka/pull/18898",
        symptoms=("last replica standing", "power loss", "data loss"),
        settings=("min.insync.replicas", "eligible.leader.replicas.version"),
        command="isrlab run s11-last-replica-standing",
        answer=(
            "Without ELR, the last replica of the ISR leads again with its shorter log, and the others truncate (“b0 truncates t-0 (offsets "
            "5–9)”): “5 records of t-0 at offsets 5–9 (5 acknowledged)” are lost. With ELR, a replica that still has them leads, and the "
            "run ends with “10 acknowledged, none lost”."
        ),
    ),
    Question(
        name="no-new-leader",
        subject="Leaders and offline partitions",
        text="Why is no new leader elected though a follower is alive?",
        address="https://github.com/confluentinc/librdkafka/issues/1812",
        symptoms=("no leader", "offline partition", "producer stops"),
        errors=("LEADER_NOT_AVAILABLE",),
        settings=("unclean.leader.election.enable", "replica.lag.time.max.ms"),
        command="isrlab run d6-unclean-election-off",
        answer=(
            "The follower had left the ISR before (“b2 leaves the ISR of orders-0”), so it may lack records: “orders-0 offline: no replica "
            "can lead” until the old leader is back. Nothing is lost."
        ),
    ),
    Question(
        name="one-replica-only",
        subject="Leaders and offline partitions",
        text="Why can nobody write to a partition after its broker was killed?",
        address="https://github.com/confluentinc/librdkafka/issues/513",
        symptoms=("no leader", "offline partition", "broker killed"),
        errors=("LEADER_NOT_AVAILABLE",),
        settings=("default.replication.factor",),
        command="isrlab run j2-lag --release 4.1",
        answer=(
            "The partition has one replica, and no other broker can lead it: “orders-1 offline: no replica can lead”. The producer waits "
            "(“one waited for 10.102s from 20.361s on”) until the broker is back."
        ),
    ),
    Question(
        name="uneven-leaders",
        subject="Leaders and offline partitions",
        text="After a broker's restart, the others have twice its partitions as leaders: will this change?",
        address="https://github.com/banzaicloud/koperator/issues/239",
        symptoms=("leader imbalance", "uneven load", "hot broker"),
        settings=("auto.leader.rebalance.enable",),
        command="isrlab run h3-hot-broker --show 'leaders(1)' --show 'leaders(2)' --show 'leaders(3)' --at 20s",
        answer=(
            "The broker is in sync again, but leads nothing: “leaders(1) = 0”, “leaders(2) = 4”. It leads again after the preferred "
            "election (“b1 leads orders-0, orders-3 again, as the preferred leader”), which Kafka starts itself if "
            "auto.leader.rebalance.enable is on."
        ),
    ),
    Question(
        name="when-leaders-are-balanced",
        subject="Leaders and offline partitions",
        text="When does the controller move leaders back, and what does the imbalance percentage mean?",
        address="https://github.com/zalando-nakadi/bubuku/pull/156",
        symptoms=("leader imbalance", "preferred leader"),
        errors=("NOT_LEADER_OR_FOLLOWER",),
        settings=("leader.imbalance.per.broker.percentage", "leader.imbalance.check.interval.seconds"),
        command="isrlab run d7-imbalance-percentage --release 4.3",
        answer=(
            "After the restart at 10 s the broker follows, until the next check finds that too many of its partitions have other leaders: "
            "at 1m05s “b1 leads orders-0, orders-1 again, as the preferred leader”."
        ),
    ),
    Question(
        name="a-node-is-patched",
        subject="Restarts and maintenance",
        text="What do producers and consumers notice when a broker is shut down for a patch?",
        address="https://github.com/confluentinc/confluent-kafka-python/issues/51",
        symptoms=("maintenance", "broker restart", "downtime"),
        errors=("NOT_LEADER_OR_FOLLOWER",),
        settings=("controlled.shutdown.enable",),
        command="isrlab run captures-controlled-shutdown",
        answer=(
            "The leaders move before the broker stops. The producers ask the wrong broker a few times (“2 times: "
            "NOT_LEADER_OR_FOLLOWER”), look for the new leader, and lose nothing (“10,270 acknowledged, none lost”). A real cluster did the "
            "same."
        ),
    ),
    Question(
        name="wait-between-restarts",
        subject="Restarts and maintenance",
        text="How long must one wait between the restarts of two brokers?",
        address="https://github.com/strimzi/strimzi-kafka-operator/issues/3749",
        symptoms=("rolling restart", "readiness", "under-replicated partitions"),
        errors=("NOT_LEADER_OR_FOLLOWER",),
        settings=("min.insync.replicas",),
        command="isrlab ask h3-rolling-restart rolling-restart --at 4s",
        answer=(
            "The answer is an order with times, from a run of a copy of the cluster: “Restart in the order b1, b2, b3”, and “then wait 4s "
            "until it is in sync again”. On a real cluster, “wait for UnderReplicatedPartitions 0 before the next broker”."
        ),
    ),
    Question(
        name="next-pod",
        subject="Restarts and maintenance",
        text="How long must the next broker of a rolling restart wait?",
        address="https://github.com/strimzi/strimzi-kafka-operator/issues/12649",
        symptoms=("rolling restart", "slow catch-up", "UnderReplicatedPartitions"),
        command="isrlab run h3-bandwidth",
        answer=(
            "Until the restarted one is in sync again: backlog / (bandwidth - inflow). A broker is down for 30 s and needs 2 s to start. With 4 MB/s of new "
            "records and a bandwidth of 10 MB/s, it copies for 21 s (“1m03s b2 joins the ISR of two-0”). If the leader also serves another follower, that "
            "one falls behind, too, and writes with acks=all wait (“one waited for 7.085s”). `network: {bandwidth: 1Gb/s}` gives the brokers of your own "
            "script a bandwidth."
        ),
    ),
    Question(
        name="restarted-too-fast",
        subject="Restarts and maintenance",
        text="A rolling restart was too fast, and writes failed: were messages lost?",
        address="https://github.com/strimzi/strimzi-kafka-operator/issues/2941",
        symptoms=("rolling restart", "lost messages", "readiness"),
        errors=("NOT_ENOUGH_REPLICAS",),
        settings=("min.insync.replicas", "acks", "delivery.timeout.ms"),
        command="isrlab run h3-rolling-restart-impatient",
        answer=(
            "The second broker stops before the first is in sync. Writes are refused (“19 times: NOT_ENOUGH_REPLICAS”) and sent again; "
            "with acks=all the run ends with “1,260 acknowledged, none lost”. A producer that gives up earlier loses them itself."
        ),
    ),
    Question(
        name="may-not-be-restarted",
        subject="Restarts and maintenance",
        text="Why does an operator refuse to restart a broker because of an under-replicated partition?",
        address="https://github.com/strimzi/strimzi-kafka-operator/issues/6052",
        symptoms=("rolling restart", "under-replicated partitions", "restart blocked"),
        errors=("NOT_ENOUGH_REPLICAS",),
        settings=("min.insync.replicas",),
        command="isrlab ask f2-min-isr-2-one-down may-i-stop 1 --at 14s",
        answer=(
            "One of three replicas is down already: “No: do not stop b1.” The reason: “Writes with acks=all refused (NOT_ENOUGH_REPLICAS): "
            "1 partition: orders-0.”"
        ),
    ),
    Question(
        name="throttle-moves",
        subject="Moving replicas",
        text="How does one limit how fast partition moves copy data?",
        address="https://github.com/cruise-control-for-kafka/cruise-control/issues/150",
        symptoms=("reassignment", "throttle", "rebalance of partitions"),
        settings=("leader.replication.throttled.rate", "follower.replication.throttled.rate"),
        command="isrlab run a4-throttled-reassignment --show 'leo(orders-0, 4)' --show 'isr(orders-0)' --show urp --at 10s",
        answer=(
            "With a throttle of 100 kB/s, the new replica has “leo(orders-0, 4) = 800” of 2,000 records after 8 s, the ISR is unchanged "
            "(“isr(orders-0) = [1, 2, 3]”), and nothing counts as under-replicated (“urp = 0”). How copying and clients compete for a "
            "network is not modeled."
        ),
    ),
    Question(
        name="abort-a-move",
        subject="Moving replicas",
        text="How does one abort a reassignment that does not finish?",
        address="https://codemia.io/knowledge-hub/path/aborting_kafka_reassign_partition_action",
        symptoms=("reassignment stuck", "cancel reassignment"),
        errors=("NOT_LEADER_OR_FOLLOWER",),
        command="isrlab run a4-cancelled-reassignment",
        answer=(
            "The new replicas cannot reach the leader, so the move hangs; “cancel-reassignment partition orders-0” restores the old "
            "replicas, and a second try succeeds (“b3 leads orders-0”). Clients lose nothing."
        ),
    ),
    Question(
        name="raise-the-replication-factor",
        subject="Moving replicas",
        text="Can the replication factor of an existing topic be increased?",
        address="https://github.com/yahoo/CMAK/issues/224",
        symptoms=("increase replication factor",),
        settings=("default.replication.factor",),
        command="isrlab run a4-raised-replication-factor --release 4.3",
        answer=(
            "By a reassignment to more replicas: “reassign partition orders-0 (replicas [1, 2, 3])”. The new replicas join when they have "
            "copied the log (“b3 joins the ISR of orders-0”), and one of them leads after the first broker is killed (“b2 leads orders-0”)."
        ),
    ),
    Question(
        name="decommission-a-broker",
        subject="Moving replicas",
        text="What happens if a broker is removed before its replicas were moved away?",
        address="https://github.com/cruise-control-for-kafka/cruise-control/issues/141",
        symptoms=("decommission broker", "remove broker", "scale down"),
        errors=("INVALID_REPLICATION_FACTOR",),
        command="isrlab run a4-unregistered-broker",
        answer=(
            "The run does both. Removed at once, the broker loses its leaders (“b1 leads orders-0”) and its place in the ISR; after "
            "“reassign partition orders-0 (replicas [4, 1, 2])”, its removal harms nothing."
        ),
    ),
    Question(
        name="topic-deletion-stuck",
        subject="Topics",
        text="What happens when a topic is deleted while a broker is down?",
        address="https://github.com/linkedin/kafka/pull/337",
        symptoms=("topic deletion stuck", "marked for deletion"),
        errors=("REQUEST_TIMED_OUT",),
        settings=("delete.topic.enable",),
        command="isrlab run a2-delete-topic --release 2.4",
        answer=(
            "With ZooKeeper, the topic exists until the broker is back: a producer that writes meanwhile gives up (“1 record: "
            "REQUEST_TIMED_OUT”). After “start b3”, the deletion ends, and a new topic can have the name. With KRaft (`--release 4.3`), "
            "the topic is gone at once."
        ),
    ),
    Question(
        name="spread-over-zones",
        subject="Racks and zones",
        text="Can broker.rack make sure that a zone fails without harm?",
        address="https://github.com/strimzi/strimzi-kafka-operator/issues/36",
        symptoms=("availability zone", "rack", "zone failure"),
        settings=("broker.rack", "min.insync.replicas"),
        command="isrlab run a2-racks --release 4.3",
        answer=(
            "Two brokers of one zone lose power. Their partitions get leaders in other zones (“b2 leads orders-5”), writes wait until then, "
            "and the run ends with “5,688 acknowledged, none lost”."
        ),
    ),
    Question(
        name="are-zones-safe",
        subject="Racks and zones",
        text="How does one find partitions whose replicas are all in one zone?",
        address="https://github.com/pinterest/DoctorK/issues/115",
        symptoms=("availability zone", "rack", "zone failure"),
        settings=("broker.rack",),
        command="isrlab ask a2-racks zones --at 4s",
        answer=(
            "For each zone, the answer says what would happen without it, for example “without zone east (b3, b4): all partitions keep a "
            "leader and accept writes”. `isrlab ask mine.txt zones` asks this of an imported cluster."
        ),
    ),
    Question(
        name="read-in-my-zone",
        subject="Racks and zones",
        text="How can a consumer read from a follower that is near instead of the leader?",
        address="https://github.com/dpkp/kafka-python/issues/2131",
        symptoms=("follower reads", "closest replica", "KIP-392"),
        settings=("client.rack", "replica.selector.class", "broker.rack"),
        command=(
            "isrlab run b4-follower-reads --release 4.3 --show 'reads-from(near, orders-0)' --show 'reads-from(plain, orders-0)' --at 5s"
        ),
        answer=(
            "With client.rack and RackAwareReplicaSelector, the consumer near the follower reads from it (“reads-from(near, orders-0) = "
            "2”), and the one without a rack from the leader (“reads-from(plain, orders-0) = 1”)."
        ),
    ),
    Question(
        name="traffic-between-zones",
        subject="Racks and zones",
        text="How much traffic between zones do consumers save that read in their own zone?",
        address="https://github.com/quickwit-oss/quickwit/issues/5926",
        symptoms=("cross-AZ traffic", "cloud bill", "data transfer"),
        settings=("client.rack", "replica.selector.class"),
        command=(
            "isrlab run b4-cross-zone-bytes --release 4.3 --show cross-zone-bytes --show 'cross-zone-bytes(far)' --show "
            "'cross-zone-bytes(near-1)' --at 63s"
        ),
        answer=(
            "All that consumers cause, but not what replication causes. A consumer that reads 600,000 bytes from the leader in another zone adds "
            "them to the traffic (“cross-zone-bytes(far) = 600000”), one that reads from the replica in its zone adds nothing "
            "(“cross-zone-bytes(near-1) = 0”), and the two followers in other zones get each record in any case (“cross-zone-bytes = 1800000”)."
        ),
    ),
    Question(
        name="two-data-centers",
        subject="Racks and zones",
        text="What still works when one of two data centers fails?",
        address="https://docs.cloudera.com/runtime/7.3.1/kafka-overview/topics/kafka-overview-stretch-overview.html",
        symptoms=("two data centers", "stretch cluster", "site failure", "controller quorum lost"),
        settings=("broker.rack", "min.insync.replicas", "controller.quorum.voters"),
        command="isrlab run d9-two-sites --release 4.3",
        answer=(
            "It depends on which one. With one of three controllers, its brokers are fenced (“the controller fences b4”), and the other site goes "
            "on, unless min.insync.replicas asks for a replica in both sites (“NOT_ENOUGH_REPLICAS”). With two of three controllers, “c3 cannot "
            "reach a majority of the controllers”, and all writes with acks=all wait until the site is back (“one waited for 1m17s”). No "
            "acknowledged record is lost."
        ),
    ),
    Question(
        name="third-site-for-the-quorum",
        subject="Racks and zones",
        text="Why does a stretched cluster need a third site, and does it need brokers there?",
        address="https://github.com/strimzi/proposals/pull/129",
        symptoms=("stretch cluster", "2.5 data centers", "tie-breaker", "site failure"),
        settings=("broker.rack", "min.insync.replicas", "controller.quorum.voters"),
        command="isrlab run d9-two-and-a-half-sites --release 4.3",
        answer=(
            "So that the controllers keep their majority whichever site fails; a single controller there is enough. If the link between the two large sites "
            "is cut, both can still reach it, nobody is fenced, and writes wait until the followers in the other site leave the ISR after 40 s (“b3 and b4 "
            "leave the ISR of west-0”). After “fail-zone west” and after “fail-zone tie-breaker”, the east goes on, and the run ends with “none "
            "lost”."
        ),
    ),
    Question(
        name="latency-between-sites",
        subject="Racks and zones",
        text="What does it cost to write across sites or regions with a high latency?",
        address="https://github.com/confluentinc/confluent-kafka-python/issues/159",
        symptoms=("stretch cluster", "latency", "slow producer", "regions"),
        settings=("acks", "broker.rack"),
        command="isrlab run d9-three-sites --release 4.3 --show 'p50-latency(app)' --at 20s",
        answer=(
            "With acks=all, each write waits twice for the latency to the farthest site with a replica in the ISR. Here, that is twice 4 ms, and the way "
            "from the producer to the leader and back takes 1 ms to 8 ms more, depending on the leader's site (“p50-latency(app) = 10ms”)."
        ),
    ),
    Question(
        name="controllers-lose-quorum",
        subject="Controllers",
        text="What can running brokers still do when the controllers have no majority?",
        address="https://github.com/strimzi/proposals/pull/66",
        symptoms=("controller quorum lost", "KRaft"),
        settings=("controller.quorum.voters", "process.roles"),
        command="isrlab run d9-combined-controllers",
        answer=(
            "They serve what needs no decision. Two of three nodes fail, and “b1 cannot reach a majority of the controllers”: the ISR "
            "cannot shrink, so writes with acks=all wait (“one waited for 1m23s from 5s on”) until a second node is back."
        ),
    ),
    Question(
        name="broker-and-controller-fail",
        subject="Controllers",
        text="Why is an outage longer when the controller fails together with a broker?",
        address="https://github.com/linkedin/kafka/pull/347",
        symptoms=("controller failover", "long outage"),
        settings=("broker.session.timeout.ms",),
        command="isrlab run d8-controller-failover",
        answer=(
            "The new controller first gives the dead broker a whole session: it is killed at 5 s, and only at 22.101s “the controller "
            "fences b2” and “b1 leads orders-0”. One write waits “17.523s from 5s on”."
        ),
    ),
    Question(
        name="timed-out-but-written",
        subject="Duplicates and order",
        text="Can a message arrive although the producer was told that it failed?",
        address="https://github.com/confluentinc/confluent-kafka-dotnet/issues/1475",
        symptoms=("duplicates", "timeout", "lost acknowledgment"),
        errors=("REQUEST_TIMED_OUT",),
        settings=("enable.idempotence", "retries", "request.timeout.ms"),
        command="isrlab run f4-retries-duplicate",
        answer=(
            "Yes. The answer of the broker is lost, not the message. Without idempotence the retry writes it again: “10 records duplicated, "
            "because of cut b1 and app (one-way) (1s)”."
        ),
    ),
    Question(
        name="idempotence-and-a-dead-leader",
        subject="Duplicates and order",
        text="Does idempotence prevent duplicates also when the leader dies before it answers?",
        address="https://github.com/redpanda-data/redpanda/issues/3039",
        symptoms=("duplicates", "leader dies"),
        errors=("DUPLICATE_SEQUENCE_NUMBER",),
        settings=("enable.idempotence",),
        command="isrlab run f4-idempotent-producer --show 'duplicated(orders-0)' --show 'retries(app)'",
        answer=(
            "The leader loses power after it wrote a batch whose answer was lost. The next leader knows the sequence numbers from its own "
            "log: “retries(app) = 2”, “duplicated(orders-0) = 0”."
        ),
    ),
    Question(
        name="keep-the-order",
        subject="Duplicates and order",
        text="Which settings keep the order of messages when requests are delayed or sent again?",
        address="https://github.com/confluentinc/librdkafka/issues/831",
        symptoms=("messages out of order",),
        errors=("OUT_OF_ORDER_SEQUENCE_NUMBER",),
        settings=("enable.idempotence", "max.in.flight.requests.per.connection", "retries"),
        command="isrlab run f4-proxy-reorders --release 4.3 --show out-of-order",
        answer=(
            "With idempotence, five requests may be in flight. The leader refuses what comes too early (“56 times: "
            "OUT_OF_ORDER_SEQUENCE_NUMBER”), the producer sends it again, and “out-of-order = 0”."
        ),
    ),
    Question(
        name="out-of-order-after-an-outage",
        subject="Duplicates and order",
        text="Why does an idempotent producer get OutOfOrderSequenceNumber after an outage?",
        address="https://github.com/aio-libs/aiokafka/issues/1017",
        symptoms=("producer stops", "outage"),
        errors=("OUT_OF_ORDER_SEQUENCE_NUMBER",),
        settings=("enable.idempotence", "unclean.leader.election.enable"),
        command="isrlab run s15-consumer-truncation --release 4.3",
        answer=(
            "One cause is a new leader that lacks acknowledged batches: after “b2 leads orders-0 after an unclean election”, the next "
            "sequence number does not fit (“1 time: OUT_OF_ORDER_SEQUENCE_NUMBER”), and the lost records are named."
        ),
    ),
    Question(
        name="unknown-producer",
        subject="Duplicates and order",
        text="Why does a producer that was idle get UNKNOWN_PRODUCER_ID?",
        address="https://github.com/tulios/kafkajs/issues/485",
        symptoms=("idle producer", "retention"),
        errors=("UNKNOWN_PRODUCER_ID",),
        settings=("retention.ms", "transactional.id.expiration.ms", "producer.id.expiration.ms"),
        command="isrlab run t6-retention-forgets-producer --release 2.1",
        answer=(
            "Retention has deleted the producer's last records, and before 2.4 the leader forgets the producer with them: “1 time: "
            "UNKNOWN_PRODUCER_ID”. The Java client recovers; since 2.4 it does not happen."
        ),
    ),
    Question(
        name="cannot-read-to-the-end",
        subject="Transactions",
        text="Why does a read_committed consumer have a lag that never shrinks?",
        address="https://github.com/softwaremill/klag-exporter/issues/104",
        symptoms=("consumer stuck", "last stable offset stuck", "hanging transaction", "lag"),
        settings=("isolation.level", "transaction.timeout.ms"),
        command=(
            "isrlab run t1-late-produce --release 3.3 --show 'lso(orders-0)' --show 'hw(orders-0)' --show 'ongoing(orders-0)' --at 1m"
        ),
        answer=(
            "A transaction is open (“ongoing(orders-0) = 1”), so committed reads end at “lso(orders-0) = 6”, though “hw(orders-0) = 111”. "
            "Here a late batch opened it and nobody ends it, until it is aborted by hand (“abort-hanging partition orders-0 (start-offset "
            "6)”)."
        ),
    ),
    Question(
        name="hangs-after-unclean-election",
        subject="Transactions",
        text="Can an unclean election make read_committed consumers hang?",
        address="https://github.com/apache/kafka/pull/22937",
        symptoms=("hanging transaction", "unclean election", "consumer stuck"),
        settings=("unclean.leader.election.enable", "isolation.level"),
        command="isrlab run t10-unclean-election --release 4.3",
        answer=(
            "The new leader lacks the marker that ended a transaction, and the old leader truncates it (“b1 truncates orders-0 (offsets "
            "5)”). The transaction stays open until “abort-hanging partition orders-0 (start-offset 0)”, which aborts its "
            "committed records."
        ),
    ),
    Question(
        name="old-epoch-without-a-rival",
        subject="Transactions",
        text="Why is a transactional producer refused with an old epoch though no other producer exists?",
        address="https://github.com/confluentinc/librdkafka/issues/3003",
        symptoms=("producer fenced", "transaction timeout"),
        errors=("INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED"),
        settings=("transaction.timeout.ms",),
        command="isrlab run t7-timeout-without-fencing --release 4.3",
        answer=(
            "Its transaction took too long: “the coordinator aborts the transaction of app, which took too long”, and raises the epoch. "
            "What the producer sends later gets “7 records: INVALID_PRODUCER_EPOCH”."
        ),
    ),
    Question(
        name="more-offsets-than-messages",
        subject="Transactions",
        text="Why is the end offset of a topic larger than the number of its messages?",
        address="https://github.com/risingwavelabs/risingwave/issues/24717",
        symptoms=("missing offsets", "control records", "transaction markers"),
        settings=("isolation.level",),
        command="isrlab run t6-retention-forgets-producer --release 4.3 --show 'leo(orders-0)' --show 'accepted(orders-0)'",
        answer=(
            "Each committed or aborted transaction writes a marker that takes an offset: two transactions, “accepted(orders-0) = 1692”, "
            "“leo(orders-0) = 1694”."
        ),
    ),
    Question(
        name="unstable-offsets",
        subject="Transactions",
        text="A successor asks for committed offsets while a transaction is being committed: what does it get?",
        address="https://github.com/twmb/franz-go/issues/581",
        symptoms=("repeated work", "hanging offsets"),
        errors=("UNSTABLE_OFFSET_COMMIT",),
        settings=("isolation.level", "transactional.id"),
        command="isrlab run i2-stable-offsets",
        answer=(
            "Before 2.5 it gets the old offsets and repeats the work (“30 acknowledged, none lost”). Since 2.5 the broker answers "
            "UNSTABLE_OFFSET_COMMIT, the successor waits, and the output is written once (“20 acknowledged, none lost”). How offsets stay "
            "unstable for ever is not shown."
        ),
    ),
    Question(
        name="exactly-once-from-topic-to-topic",
        subject="Transactions",
        text="How does exactly once work from one topic to another when the process crashes?",
        address="https://github.com/akka/alpakka-kafka/issues/369",
        symptoms=("exactly once", "crash", "duplicates"),
        settings=("transactional.id", "isolation.level"),
        command=(
            "isrlab run i2-exactly-once --release 4.3 --show 'processed(app)' --show 'processed-twice(app)' --show 'half-visible(app)'"
        ),
        answer=(
            "The output and the offsets are in one transaction. The crash leaves it open, the next instance aborts it and repeats the work: "
            "“processed(app) = 10”, “processed-twice(app) = 0”, “half-visible(app) = 0” for readers of committed records."
        ),
    ),
    Question(
        name="max-poll-exceeded",
        subject="Consumer groups",
        text="What happens when a consumer works longer than max.poll.interval.ms?",
        address="https://github.com/confluentinc/confluent-kafka-python/issues/552",
        symptoms=("rebalance", "consumer thrown out", "read twice"),
        errors=("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"),
        settings=("max.poll.interval.ms", "max.poll.records"),
        command="isrlab run j1-max-poll-interval --release 4.1",
        answer=(
            "It leaves the group (“the coordinator removes a member from group billing”), another member gets its partitions, and the work "
            "that it had not committed is done again: “10 records read twice”."
        ),
    ),
    Question(
        name="killed-consumer",
        subject="Consumer groups",
        text="Why does a consumer that starts right after a crash wait so long for its partitions?",
        address="https://github.com/confluentinc/librdkafka/issues/2040",
        symptoms=("consumer crashed", "partitions not read"),
        settings=("session.timeout.ms", "heartbeat.interval.ms"),
        command="isrlab run j1-killed-member --release 4.1",
        answer=(
            "The coordinator waits for the dead member until its session expires: killed at 12 s, it is removed at 55.105s (“the "
            "coordinator removes a member from group billing”). A clean close leaves at once."
        ),
    ),
    Question(
        name="restart-without-rebalance",
        subject="Consumer groups",
        text="Can a consumer restart without a rebalance?",
        address="https://github.com/quickwit-oss/quickwit/issues/4823",
        symptoms=("static membership", "rebalance storm", "rolling restart of consumers"),
        errors=("FENCED_INSTANCE_ID",),
        settings=("group.instance.id", "session.timeout.ms"),
        command="isrlab run j1-static-member --release 4.1 --show 'generation(billing)' --at 35s",
        answer=(
            "With group.instance.id it keeps its partitions if it is back within the session timeout: after the first restart still "
            "“generation(billing) = 1”. The second takes a minute, and “the coordinator removes a member from group billing”."
        ),
    ),
    Question(
        name="stop-the-world",
        subject="Consumer groups",
        text="Do all consumers stop during a rebalance, and does cooperative rebalancing help?",
        address="https://github.com/platformatic/kafka/issues/104",
        symptoms=("stop the world", "rebalance", "cooperative"),
        errors=("REBALANCE_IN_PROGRESS",),
        settings=("partition.assignment.strategy", "max.poll.interval.ms"),
        command="isrlab run j1-slow-member --release 4.1 --show 'processed-by(eager)' --show 'processed-by(coop)' --at 30s",
        answer=(
            "While one member delays the rebalance, the eager group stands still (“processed-by(eager) = 0”), and the others of the "
            "cooperative group go on (“processed-by(coop) = 30”)."
        ),
    ),
    Question(
        name="slow-first-poll",
        subject="Consumer groups",
        text="Why does a new consumer wait for some seconds before it gets anything?",
        address="https://github.com/confluentinc/confluent-kafka-go/issues/131",
        symptoms=("slow start", "slow tests", "first message late"),
        settings=("group.initial.rebalance.delay.ms",),
        command="isrlab run j1-initial-delay --release 4.1 --show 'group-state(billing)' --at 5s",
        answer=(
            "The coordinator waits whether more members come: three seconds after the first member joined, “group-state(billing) = "
            "preparing-rebalance”."
        ),
    ),
    Question(
        name="coordinator-down",
        subject="Consumer groups",
        text="Why do consumers stop when one broker fails, though their partitions have replicas?",
        address="https://github.com/confluentinc/librdkafka/issues/2275",
        symptoms=("coordinator not available", "group coordinator down"),
        errors=("COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"),
        settings=("offsets.topic.replication.factor", "session.timeout.ms"),
        command="isrlab run j1-coordinator-killed --release 4.1",
        answer=(
            "The broker was the group's coordinator. When it is fenced, “b2 leads __consumer_offsets-0” and takes over, without a "
            "rebalance. Only when no replica of that partition is left (“__consumer_offsets-0 offline: no replica can lead”) has the group "
            "no coordinator."
        ),
    ),
    Question(
        name="new-group-protocol",
        subject="Consumer groups",
        text="Can a running group change to the new consumer protocol (KIP-848)?",
        address="https://github.com/confluentinc/librdkafka/pull/5210",
        symptoms=("upgrade of consumers", "migration", "KIP-848"),
        settings=("group.protocol", "group.consumer.migration.policy"),
        command="isrlab run j1-upgrade-to-consumer --release 4.3 --show 'repeats(billing)' --show 'lag(billing)'",
        answer=(
            "Members of both protocols share the partitions: “join-group new1 in group billing on orders (reset earliest, commit after, "
            "protocol consumer)”. No record is repeated (“repeats(billing) = 0”), also on the way back."
        ),
    ),
    Question(
        name="lag-is-unknown",
        subject="Offsets and lag",
        text="Why does a monitor show no lag although a partition is not read?",
        address="https://github.com/linkedin/Burrow/issues/287",
        symptoms=("consumer lag", "lag zero", "Burrow"),
        command="isrlab run j2-lag --release 4.1 --show 'lag(billing)' --show 'burrow(billing)' --at 26s",
        answer=(
            "The lag of a partition without a leader is unknown and counts as nothing: “lag(billing) = 0” and “burrow(billing) = ok” while "
            "“orders-1 offline: no replica can lead”. It is one cause; a monitor that counts only at commits is another."
        ),
    ),
    Question(
        name="new-partition-skipped",
        subject="Offsets and lag",
        text="Why are the first messages of an added partition never read?",
        address="https://github.com/IBM/sarama/issues/1739",
        symptoms=("messages skipped", "add partitions"),
        settings=("auto.offset.reset", "metadata.max.age.ms"),
        command="isrlab run j3-latest-new-partition --release 4.1",
        answer=(
            "With auto.offset.reset=latest, a member begins at the end of the partition when it learns of it: “10 records never read, "
            "because of create-partitions topic orders (partitions 2) (10s)”. The group with earliest reads all."
        ),
    ),
    Question(
        name="down-longer-than-retention",
        subject="Offsets and lag",
        text="What does a consumer read that was away for longer than the retention time?",
        address="https://github.com/confluentinc/confluent-kafka-dotnet/issues/2009",
        symptoms=("offset out of range", "offset reset", "retention"),
        errors=("OFFSET_OUT_OF_RANGE",),
        settings=("auto.offset.reset", "retention.ms"),
        command="isrlab run l4-retention",
        answer=(
            "Its next record is deleted, it gets OFFSET_OUT_OF_RANGE, and “consumer late resets its position”, as auto.offset.reset says. "
            "The skipped records do not count as lost: “25,450 acknowledged, none lost”."
        ),
    ),
    Question(
        name="committed-offset-invalid",
        subject="Offsets and lag",
        text="How can a committed offset be out of range?",
        address="https://github.com/zendesk/ruby-kafka/pull/264",
        symptoms=("offset out of range", "offset reset", "unclean election"),
        errors=("OFFSET_OUT_OF_RANGE",),
        settings=("auto.offset.reset", "unclean.leader.election.enable"),
        command="isrlab run j3-beyond-the-log --release 4.1",
        answer=(
            "Besides retention, an unclean election shortens the log below the committed offset: after “b2 leads orders-0 after an unclean "
            "election”, the groups reset or stop by their policy, and “200 records never read”."
        ),
    ),
    Question(
        name="where-a-successor-begins",
        subject="Offsets and lag",
        text="With which message does a consumer begin that replaces one that crashed?",
        address="https://github.com/confluentinc/librdkafka/issues/1122",
        symptoms=("messages skipped", "messages repeated", "crash"),
        settings=("enable.auto.commit", "auto.commit.interval.ms"),
        command="isrlab run j3-crash-order --release 4.1",
        answer=(
            "With the committed offset. Who commits before the work skips the rest (“30 records never read”), who commits after it repeats "
            "(“20 records read twice”)."
        ),
    ),
    Question(
        name="crash-before-commit",
        subject="Offsets and lag",
        text="Can a consumer repeat its work although it commits each offset after processing?",
        address="https://github.com/ajmalbabu/kafka-clients/issues/1",
        symptoms=("duplicates", "at least once", "crash"),
        settings=("enable.auto.commit",),
        command="isrlab run i2-at-least-once --release 4.3",
        answer="It can crash between the output and the commit: “10 records processed twice”.",
    ),
    Question(
        name="offsets-of-an-active-group",
        subject="Offsets and lag",
        text="Why are changes of a group's offsets refused?",
        address="https://github.com/confluentinc/confluent-kafka-dotnet/issues/2119",
        symptoms=("reset offsets", "group is active"),
        errors=("UNKNOWN_MEMBER_ID", "NON_EMPTY_GROUP", "GROUP_SUBSCRIBED_TO_TOPIC"),
        command="isrlab run j2-reset-offsets --release 4.1",
        answer=(
            "A group with members owns its offsets: the coordinator refuses the first “delete-offsets in group billing on orders, "
            "delete-group in group billing”. After the member has left, “reset-offsets in group billing (shift-by -15)” works."
        ),
    ),
    Question(
        name="poison-record",
        subject="Offsets and lag",
        text="Why does a consumer read the same failing message for ever?",
        address="https://github.com/rob3000/nestjs-kafka/issues/26",
        symptoms=("poison pill", "dead letter", "retry", "consumer crashes"),
        settings=("enable.auto.commit",),
        command="isrlab run k2-poison",
        answer=(
            "A process that dies of a record has not committed it, so the next instance reads it again. Who counts tries before each try, "
            "or catches the error, gets “2 records put in a dead-letter topic”."
        ),
    ),
    Question(
        name="uneven-partitions",
        subject="Offsets and lag",
        text="Why does the lag grow only in the partition that gets most of the messages?",
        address="https://github.com/mailgun/kafka-pixy/issues/36",
        symptoms=("uneven partitions", "lag grows"),
        command="isrlab ask j2-hot-partition why-lag billing --at 60s",
        answer=(
            "All records of a key go to one partition, and one member reads it. The member falls behind although the others have little to do: "
            "“that is 97% of all: only one member reads a partition, so more members do not help”."
        ),
    ),
    Question(
        name="timestamps-in-the-future",
        subject="Retention and compaction",
        text="What does retention do with records whose timestamps are wrong?",
        address="https://github.com/redpanda-data/redpanda/issues/9820",
        symptoms=("disk fills up", "records deleted too early", "clock"),
        settings=("retention.ms", "message.timestamp.type"),
        command="isrlab run l4-clock-skew --show 'log-start(ahead-0)' --show 'log-start(right-0)' --show 'log-start(behind-0)'",
        answer=(
            "It believes them. A producer two hours ahead keeps its records (“log-start(ahead-0) = 0”), one two hours behind loses them at "
            "once (“log-start(behind-0) = 16995”, against “log-start(right-0) = 10500”)."
        ),
    ),
    Question(
        name="tombstone-still-there",
        subject="Retention and compaction",
        text="Why does a compacted topic still deliver deleted keys and tombstones?",
        address="https://github.com/sky-uk/kafka-message-scheduler/issues/36",
        symptoms=("compaction", "tombstone"),
        errors=("INVALID_RECORD",),
        settings=("cleanup.policy", "delete.retention.ms", "segment.ms"),
        command="isrlab run l5-compaction --show 'records(orders-0)' --show 'leo(orders-0)'",
        answer=(
            "The active segment is never cleaned, and a tombstone stays for delete.retention.ms after the first pass. At the end, "
            "“records(orders-0) = 11” of “leo(orders-0) = 109” are left."
        ),
    ),
    Question(
        name="one-of-two-disks",
        subject="Disks and power",
        text="Does a broker die when one of its log directories fails?",
        address="https://github.com/apache/kafka/pull/4752",
        symptoms=("disk failure", "JBOD", "log directory offline"),
        errors=("KAFKA_STORAGE_ERROR",),
        settings=("log.dirs",),
        command="isrlab run d4-log-dir-failure --release 4.3",
        answer=(
            "Not while another works: “log directories of b1 fail”, its partitions there get other leaders (“b2 leads orders-0”), and those "
            "on the other disk stay until the restart."
        ),
    ),
    Question(
        name="no-fsync",
        subject="Disks and power",
        text="Can acknowledged messages be lost because Kafka does not flush each of them?",
        address="https://github.com/apache/kafka/pull/14543",
        symptoms=("power loss", "fsync", "lost messages"),
        settings=("flush.messages", "flush.ms"),
        command="isrlab run l3-power-loss-everywhere",
        answer=(
            "Only if all replicas lose power at once: “2,000 records of orders-0 at offsets 8,000–9,999 (2,000 acknowledged)”. If one "
            "machine fails, nothing is lost (`isrlab run l3-power-loss-one`), and `kill -9` of all loses nothing, either (`isrlab run "
            "l3-process-kill`)."
        ),
    ),
    Question(
        name="slow-start-after-a-crash",
        subject="Disks and power",
        text="Why does a broker need so long to start after a crash?",
        address="https://github.com/apache/kafka/pull/3782",
        symptoms=("slow start", "recovery", "unclean shutdown"),
        settings=("num.recovery.threads.per.data.dir",),
        command="isrlab run h3-recovery-one-thread",
        answer=(
            "After `kill -9` it reads its logs again before it registers: started at 1m39s, “b3 unfenced” at 1m48s. `isrlab run "
            "h3-recovery-parallel` does the same with more threads."
        ),
    ),
    Question(
        name="record-expired",
        subject="Timeouts of clients",
        text="What does it mean that a record expired, some time after its batch was created?",
        address="https://github.com/zendesk/maxwell/issues/985",
        symptoms=("TimeoutException", "expiring records", "broker down"),
        errors=("REQUEST_TIMED_OUT", "MSG_TIMED_OUT"),
        settings=("delivery.timeout.ms", "request.timeout.ms"),
        command="isrlab run d6-unclean-setting-ignored --release 3.7",
        answer=(
            "Its partition had no leader for the whole delivery timeout: “one waited for 2m00s from 1m00s on, until the producer gave up”, "
            "and “55 records: REQUEST_TIMED_OUT”."
        ),
    ),
    Question(
        name="which-timeout",
        subject="Timeouts of clients",
        text="Which timeout decides when a producer reports that a message failed?",
        address="https://github.com/confluentinc/librdkafka/issues/1160",
        symptoms=("timeouts", "producer waits"),
        errors=("MSG_TIMED_OUT",),
        settings=(
            "delivery.timeout.ms",
            "request.timeout.ms",
            "message.timeout.ms",
            "broker.session.timeout.ms",
            "replica.lag.time.max.ms",
        ),
        command="isrlab ask f2-min-isr-2-two-down which-setting-stalls --at 4s",
        answer=(
            "“The producer gives up after delivery.timeout.ms (2m00s by default), counted from send().” How long it must wait depends on "
            "the brokers: “its partitions are dark for broker.session.timeout.ms = 9s”."
        ),
    ),
    Question(
        name="buffer-full",
        subject="Timeouts of clients",
        text="Why does send() block and fail to allocate memory?",
        address="https://github.com/dpkp/kafka-python/issues/985",
        symptoms=("send blocks", "buffer full", "BufferExhaustedException"),
        settings=("buffer.memory", "max.block.ms"),
        command="isrlab run l1-buffer-memory --release 4.3 --show 'blocked(app)' --show 'buffer-available(app)' --at 4s",
        answer=(
            "While the leader does not answer, batches pile up: “buffer-available(app) = 0”, and “blocked(app) = 388” records wait in "
            "send(). When the leader is back, the producer goes on."
        ),
    ),
    Question(
        name="all-known-brokers-are-gone",
        subject="Timeouts of clients",
        text="Why does a client never come back after the brokers that it knew are gone?",
        address="https://github.com/apache/kafka/pull/7288",
        symptoms=("client does not reconnect", "bootstrap servers"),
        errors=("REQUEST_TIMED_OUT",),
        settings=("metadata.recovery.strategy", "bootstrap.servers"),
        command="isrlab run f3-rebootstrap --release 3.9 --release 4.0",
        answer=(
            "Before 4.0 the client asks only brokers that it knows, and forgets its bootstrap servers. Since 4.0 it asks these again, which "
            "shows in what was acknowledged: “3.9: 2463; 4.0: 3099”."
        ),
    ),
    Question(
        name="begin-an-upgrade",
        subject="Upgrades",
        text="In which order is a cluster upgraded, and when is the protocol version raised?",
        address="https://github.com/apache/kafka/pull/1971",
        symptoms=("rolling upgrade",),
        settings=("inter.broker.protocol.version", "metadata.version"),
        command="isrlab ask h3-rolling-restart before-upgrade --at 4s",
        answer=(
            "“Yes, a rolling upgrade can begin.” The answer has the order, and when to raise the version: “keep the old metadata.version "
            "(inter.broker.protocol.version before KRaft) until all brokers run the new release”."
        ),
    ),
    Question(
        name="disk-full",
        subject="",
        text="What happens when the disk of a broker is full?",
        address="https://github.com/operate-first/apps/issues/676",
        symptoms=("disk full",),
        errors=("KAFKA_STORAGE_ERROR",),
        settings=("log.retention.bytes",),
        answer="Disks fail, are slow, or are lost, but they do not fill up.",
    ),
    Question(
        name="quota-per-topic",
        subject="",
        text="Can quotas be set per topic, and refuse instead of throttle?",
        address="https://github.com/kafka-dev/kafka/issues/95",
        symptoms=("quota", "client throttled"),
        settings=("producer_byte_rate",),
        answer="Quotas of clients are not modeled. Only throttles of replication, and the bandwidth of brokers, are.",
    ),
    Question(
        name="two-clusters",
        subject="",
        text="Why are the offsets of consumer groups not translated by MirrorMaker 2?",
        address="https://github.com/strimzi/strimzi-kafka-operator/issues/9609",
        symptoms=("MirrorMaker", "second cluster"),
        answer="There is one cluster at a time, and no Kafka Connect.",
    ),
    Question(
        name="client-keeps-a-stale-leader",
        subject="",
        text="Why does a producer keep sending to a broker that is no longer the leader?",
        address="https://github.com/confluentinc/librdkafka/issues/4976",
        symptoms=("stale metadata",),
        errors=("NOT_LEADER_OR_FOLLOWER",),
        answer="The clients follow the Java client. Faults of other libraries are not modeled.",
    ),
    Question(
        name="partition-stalls-until-restart",
        subject="",
        text="Why does one partition stop being read until the consumer restarts?",
        address="https://github.com/confluentinc/confluent-kafka-python/issues/1568",
        symptoms=("consumer stuck", "lag grows"),
        answer="It is a fault of a certain version of a client library.",
    ),
    Question(
        name="two-data-centers-with-zookeeper",
        subject="",
        text="Which ZooKeeper and min ISR let a cluster in two data centers survive the loss of one?",
        address="https://github.com/Dabz/kafka-boom-boom/issues/7",
        symptoms=("two data centers", "stretch cluster"),
        settings=("broker.rack", "min.insync.replicas"),
        answer=(
            "`isrlab ask mine.yaml zones` answers it for the replicas of a script of one's own. The servers of ZooKeeper are one node here, "
            "so their quorum cannot be divided."
        ),
    ),
    Question(
        name="reassign-with-a-dead-broker",
        subject="",
        text="Why does the tool for reassignments time out when a broker is down?",
        address="https://github.com/apache/kafka/pull/21654",
        symptoms=("reassignment fails", "timeout"),
        errors=("TimeoutException",),
        answer="The requests by which the tool sets throttles at each broker are not modeled.",
    ),
    Question(
        name="controllers-after-a-cold-start",
        subject="",
        text="Why do controllers not find each other after a start without DNS?",
        address="https://github.com/strimzi/strimzi-kafka-operator/issues/12760",
        symptoms=("controller quorum lost",),
        settings=("controller.quorum.voters",),
        answer="Names of hosts and their resolution are not modeled.",
    ),
)
