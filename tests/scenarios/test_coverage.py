"""The library covers the catalog: every row, story, and field capture is shown by a scenario whose expectations check it.

A script belongs to the row with which its name begins. Other rows name their scripts here. Each ID has witnesses: parts of expectations
without which the script would not show the row. The script must check them under one of its releases (`test_library` checks that they
hold). A script of a story checks it twice: with harm, and without harm.
"""

from __future__ import annotations

import re
from typing import Final

import pytest

from scenarios import catalogue
from scenarios.language.expectations import ALWAYS, Under
from scenarios.language.script import Scenario
from scenarios.releases import release_named

Witnesses = dict[str, str | tuple[str, ...]]
"""Script → what one of its expectations must contain, or a tuple with a text for each of several expectations."""


ROWS: Final[dict[str, tuple[str, Witnesses]]] = {
    "A1": ("a replica on each of RF brokers, more are refused", {"a1-replication-factor": "INVALID_REPLICATION_FACTOR"}),
    "A2": (
        "placement spreads replicas and leaders",
        {
            "a1-replication-factor": "leaders(b1) == 1",
            "a2-create-partitions": "leader(orders-2)",
            "a2-delete-topic": ("count replica-deleted == 6", "never topic-deleted"),
            "a2-racks": ("at-min-isr == 12", "under-min-isr == 0", "leaders(b6) == 2"),
        },
    ),
    "A3": ("only the leader takes records, followers pull", {"a3-only-the-leader": "NOT_LEADER_OR_FOLLOWER"}),
    "A4": (
        "more replicas, another broker, cancelled and throttled moves; a broker taken out",
        {
            "a4-raised-replication-factor": ("adding=[2,3]", "isr(orders-0) == [1]", "urp == 0"),
            "a4-cancelled-reassignment": ("replicas(orders-0) == [3, 4, 1, 2]", "replicas(orders-0) == [1, 2]"),
            "a4-throttled-reassignment": ("leo(orders-0, 4) < 1300", "replicas(orders-0) == [1, 2, 4]"),
            "a4-throttled-follower": ("leo(orders-0, 4) == 1048", "leo(orders-0, 4) == 2096", "isr(orders-0) == [1, 2, 4]"),
            "a4-unregistered-broker": ("never broker-registered", "replicas(orders-0) == [4, 1, 2]"),
        },
    ),
    "B1": ("the high watermark goes by the offsets asked from", {"b2-high-watermark": "hw(t-0, 0) == 8", "b5-lost-response": "lost == 5"}),
    "B2": ("worked example 1, and answered at once", {"b2-high-watermark": "hw(t-0, 1) == 8", "b2-answered-at-once": "hw(t-0, 1) == 0"}),
    "B3": ("worked example 2", {"b3-high-watermark-behind": "hw(t-0, 0) == 3"}),
    "B4": (
        "consumers read below the high watermark, and from the nearest replica",
        {
            "b4-read-below-high-watermark": "read(reader) == 10",
            "b4-cross-zone-bytes": ("cross-zone-bytes(far) == 600000", "cross-zone-bytes == 1800000"),
        },
    ),
    "B5": ("the checkpoint, and why request-time LEOs", {"b5-checkpoint": "hw(t-0, 1) == 2", "b5-lost-response": "lost == 5"}),
    "C1": (
        "falling out by time, never by a count alone",
        {
            "c1-stopped-follower": "isr(orders-0) == [1, 2]",
            "c1-slow-follower": "fetch-state(orders-0, 3) == fetching",
            "c1-paused-follower": "state(3) == paused",
            "c1-burst-keeps-isr": "never isr-shrunk",
        },
    ),
    "C2": ("isr-expiration runs every half of the lag time", {"c2-isr-check-period": "isr-shrink-proposed {broker=1, out=[3]}"}),
    "C3": ("replica.lag.max.messages before 0.9", {"c3-lag-max-messages": "isr-shrink-by-count"}),
    "C4": ("re-entry at the high watermark", {"c4-reentry-at-high-watermark": "high-watermark=11"}),
    "C5": (
        "ISR changes through ZooKeeper, and AlterPartition",
        {
            "c5-isr-propagation": ("count isr-changes-published {} == 2", "never isr-changes-published"),
            "c5-published-at-last": ("count isr-changes-published {} == 0", "count isr-changes-published {broker=1} == 1"),
            "s8-stale-proposal": "alter-partition-refused {broker=1",
        },
    ),
    "C6": ("a shrink raises the high watermark and completes what waits", {"c1-stopped-follower": "acked(app) > 1500"}),
    "C7": (
        "failed replicas by cause, counted",
        {
            "c1-slow-follower": "urp == 1",
            "c1-stopped-follower": "urp == 1",
            "f2-min-isr-2-one-down": "at-min-isr == 1",
            "f2-min-isr-2-two-down": "under-min-isr == 1",
            "a4-raised-replication-factor": "isr(orders-0) == [1]",
            "h3-recovery-one-thread": ("state(3) == starting", "urp == 12"),
            "d6-unclean-election-off": "offline == 1",
        },
    ),
    "D1": ("replicas online and offline of one broker", {"d2-leader-and-isr": "role(orders-0, 2) == offline"}),
    "D2": (
        "become-leader-or-follower",
        {
            "d2-leader-and-isr": (
                "controller-request-refused {broker=3",
                "happened leader-and-isr-ignored",
                "became-leader {broker=3, partition=fresh-0",
                "role(orders-0, 2) == offline",
            ),
            "d4-log-dir-failure": "KAFKA_STORAGE_ERROR",
        },
    ),
    "D3": (
        "make leader, make follower",
        {
            "d3-make-leader-make-follower": (
                "fetch-state(orders-0, 2) == idle",
                "produce-failed {error=NOT_LEADER_OR_FOLLOWER",
                "from-offset=5, rule=high-watermark",
                "never truncated",
                "fetch-state(fresh-0, 1) == idle",
            ),
            "d3-awaited-fetch": ("acked(app) == 0", "never fetcher-awaited"),
        },
    ),
    "D4": (
        "log directories fail, replicas move",
        {"d4-log-dir-failure": ("urp == 2", "leader(orders-1) == 1"), "d4-move-replica": "dir(orders-0, 1) == 2"},
    ),
    "D5": (
        "the first live ISR member leads",
        {
            "captures-kill-9": "leader(l07.cdr.ha-1) == 3",
            "d6-unclean-election-off": "offline == 1",
            "s14-shapes-of-divergence": "leader-epoch(t-0) == 1",
        },
    ),
    "D6": (
        "unclean election on and off, and where the setting is ignored",
        {
            "d6-unclean-election-on": "lost == 500",
            "d6-unclean-election-off": "lost == 0",
            "d6-unclean-setting-ignored": ("unclean-elections == 0", "unclean-elections == 1"),
        },
    ),
    "D7": (
        "preferred election, balancing, controlled shutdown",
        {
            "d7-imbalance-percentage": "election=preferred",
            "captures-controlled-shutdown": "leaders(3) == 0",
            "h3-hot-broker": ("leaders(b2) == 4", "leaders(b1) == 2"),
        },
    ),
    "D8": (
        "controller fail-over, zombies, split brain",
        {
            "d8-split-brain": ("controller-resigned", "lost(orders-0) > 0", "lost(safe-0) == 0"),
            "d8-zookeeper-zombie-controller": ("leo(orders-0) == 250", "leo(orders-0) == 0"),
            "d8-zombie-controller": "uncommitted-dropped",
            "d8-controller-failover": "controller-epoch > 1",
        },
    ),
    "D9": (
        "controller quorum, combined and dedicated, and spread over sites",
        {
            "d9-combined-controllers": "majority == false",
            "d9-dedicated-controllers": "majority == true",
            "d9-three-sites": ("urp == 6", "max-latency(app) > 29s"),
            "d9-two-and-a-half-sites": ("never broker-fenced", "max-latency(west-app) > 30s", "controller-epoch > 1"),
            "d9-two-sites": ("never append-refused {topic=orders", "active-controllers == 0", "longest-wait(auditor) > 55s"),
        },
    ),
    "E1": ("data loss by the high watermark", {"e1-data-loss": "lost == 1"}),
    "E2": ("divergence by the high watermark", {"e2-divergence": "diverged == 1"}),
    "E3": ("leader epochs: both examples again", {"e1-data-loss": "lost == 0", "e2-divergence": "epochs(orders-0, 1)"}),
    "E4": (
        "the later repairs: KIP-279, 320, 595, 966, and KAFKA-10706",
        {
            "e4-unused-epoch": ("fetch-state(orders-0, 1) == truncating", "isr(orders-0) == [2, 1]"),
            "s3-fast-failover": "diverged(t-0) > 0",
            "s4-zombie-fetch": "FENCED_LEADER_EPOCH",
            "s12-diverging-fetch": "diverging-epoch",
            "s11-last-replica-standing": "lost == 0",
        },
    ),
    "E5": ("one scenario under two profiles", {"e1-data-loss": "lost == 1"}),
    "F1": (
        "acks 0, 1, all",
        {"f1-acks": ("max-latency(none-asked) == 0", "p50-latency(leader-asked) == 4ms", "p50-latency(all-asked) >= 8ms")},
    ),
    "F2": (
        "min.insync.replicas before and after the append",
        {
            "f2-min-isr-2-one-down": "acked(app) == sent(app)",
            "f2-min-isr-2-two-down": "error=NOT_ENOUGH_REPLICAS}",
            "f2-min-isr-3-one-down": "under-min-isr == 1",
            "f2-not-enough-replicas-after-append": "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        },
    ),
    "F3": (
        "the durability account: lost, duplicated, diverged",
        {
            "f3-missed-leadership": "lost == 10",
            "f3-heard-leadership": "lost == 0",
            "f4-retries-duplicate": "duplicated == 10",
            "e2-divergence": "diverged == 1",
        },
    ),
    "F4": (
        "idempotent producers, retries, repeats",
        {"f4-idempotent-producer": "duplicated == 0", "f4-retries-duplicate": "duplicated == 10"},
    ),
    "H2": ("settings while it runs, static ones refused", {"h2-read-only-setting": "setting-changed {name=replica.lag.time.max.ms"}),
    "H3": (
        "troubles and their cures",
        {
            "h3-hot-broker": "leaders(b2) == 4",
            "h3-bandwidth": ("isr(two-0) == [1]", "max-latency(other) > 5s"),
            "h3-isr-flapping": "isr-shrinks == 2",
            "h3-lag-backlog": "isr-shrinks == 1",
            "h3-recovery-parallel": "logs-recovered",
        },
    ),
    "I2": (
        "consume, transform, produce: input that is processed once, twice, or never",
        {
            "i2-exactly-once": "processed(app) == 10 and processed-twice(app) == 0",
            "i2-at-least-once": "processed-twice {group=app",
            "i2-stable-offsets": "processed-twice(second) == 10",
            "i2-transaction-version": ("transaction-state=Empty, producer-epoch=1", "error=UNSUPPORTED_VERSION"),
        },
    ),
    "J1": (
        "consumer groups: generations, dead, static, slow, and stalled members, and a dead coordinator",
        {
            "j1-initial-delay": ("generation(billing) == 1", "generation(billing) == 4"),
            "j1-killed-member": "member-removed {group=billing, why=session-timeout}",
            "j1-killed-member-consumer": "never group-rebalancing",
            "j1-upgrade-to-consumer": ("count group-converted {group=billing} == 2", "repeats(billing) == 0"),
            "j1-static-member": ("generation(billing) == 3", "count group-rebalancing {group=billing} == 3"),
            "j1-slow-member": ("processed-by(eager) == 0", "processed-by(coop) == 30", "repeats(coop) == 20"),
            "j1-max-poll-interval": ("poll-interval-exceeded {client=slow", "repeats(billing) == 10"),
            "j1-coordinator-killed": ("count groups-loaded {broker=2} >= 2", "never member-removed"),
        },
    ),
    "J2": (
        "lag: the high watermark minus the committed offset",
        {
            "j2-hot-partition": ("lag(billing, orders-0) > 3000", "lag(billing, orders-1) < 200"),
            "j2-lag": ("lag(billing, orders-1) == 60", "not lag(billing, orders-1) >= 0"),
            "j2-reset-offsets": ("committed-offset(billing, orders-0) == 5", "error=NON_EMPTY_GROUP"),
        },
    ),
    "J3": (
        "committed offsets beyond the log, and what a crash or a new partition repeats and skips",
        {
            "j3-beyond-the-log": (
                "skipped(late) == 200",
                "skipped(late) == 50",
                "repeats(earliest) == 100",
                "count consumer-truncated == 3",
            ),
            "j3-crash-order": ("repeats(after) == 20", "skipped(before) == 30"),
            "j3-latest-new-partition": "skipped(latest, orders-1) == 10",
        },
    ),
    "K1": (
        "delayed records: levels, bounds, commits, crashes, and what cures their harm",
        {
            "k1-chain": ("rounding-max(delay-5s) == 4s", "never-forwarded(delay) == 0"),
            "k1-routing": ("rounding-max(delay-2h) == 3599s", "delay-error-max(delay-30s) > 13s"),
            "k1-lateness": ("lateness-max(delay) == 4ms", "delay-error-max(delay) > 13.004s"),
            "k1-timing-wheel": "lateness-max(coarse) > 745ms",
            "k1-two-partitions": ("lateness-max(delay) < 10ms", "lateness-max(naive) > 2.99s"),
            "k1-bound": "forwarded(delay) == 50 and forwarded-twice(delay) == 0",
            "k1-bound-too-small": ("lateness-max(delay) == 3.45s", "lateness-max(delay) < 500ms", "lateness-max(wide) == 100ms"),
            "k1-commit-point": ("forwarded-twice(delay) == 3", "never-forwarded(careless) == 2"),
            "k1-service-down": ("lateness-max(delay) > 59s", "lateness-max(careless) > 89s"),
            "k1-one-topic": "lateness-max(naive) > 24.9s",
            "k1-crash": (
                "forwarded-twice(delay) == 300",
                "leo(orders-0) == 5605",
                "forwarded(safe) == 2000 and forwarded-twice(safe) == 0",
                "never-forwarded(careless) == 1000",
            ),
            "k1-crash-after-send": ("forwarded-twice(delay) == 10", "forwarded-twice(safe) == 0"),
            "k1-retention": "expired(delay) == 20",
            "k1-target-offline": "lateness-max(delay) > 20s",
            "k1-two-owners": ("forwarded-twice(delay) == 10", "forwarded-twice(safe) == 0"),
            "k1-wrong-clocks": "too-soon(delay) == 1",
            "k1-clocks-two-seconds-apart": ("lateness-max(delay) < 10ms", "lateness-max(naive) > 1.85s"),
            "k1-compacted-level": ("forwarded(delay) == 11", "forwarded(safe) == 100"),
            "k1-handover": ("forwarded-twice(tidy) == 0", "forwarded-twice(killed) == 30"),
            "k1-record-too-large": (
                "forwarded(delay) == 0 and held(delay) == 10",
                "forwarded(careful) == 5 and dead(careful) == 10 and held(careful) == 0",
            ),
            "k1-leader-clock": (
                "delay-error-max(delay-30s) > 60s",
                "too-soon(delay) == 0",
                "too-soon(delay) == 1",
                "lateness-max(naive) > 1.5s",
            ),
            "k1-unclean-election": (
                "lost(delay_topic_30s-0) == 10",
                "forwarded(safe) == 10",
                "audit-passed(delay) == 0",
                "audit-lost == 10",
            ),
        },
    ),
    "K2": (
        "retries: blocking or in topics, order, amplification, dead letters, crashes",
        {
            "k2-retry-topics": ("dead(app) == 1", "tries=4, dead-letter-topic=orders-dlt"),
            "k2-order": ("overtaken(app) == 1", "overtaken(blocking) == 0"),
            "k2-amplification": ("tries(app) == 3000", "dead(app) == 100"),
            "k2-spring-names": "leo(orders-retry-4000-0) == 1",
            "k2-crash": ("succeeded-twice(app) == 10", "succeeded-twice(safe) == 0"),
            "k2-commit-first": ("dropped(app) == 0", "dropped(careless) == 10"),
            "k2-poison": (
                "tries(app) == 3 and failed-tries(app) == 3 and dead(app) == 0",
                "dead(app) == 1",
                "tries(careful) == 2 and dead(careful) == 1",
            ),
            "k2-slow-instance": ("succeeded(app) == 20", "succeeded-twice(app) == 5", "poll-interval-exceeded {client=app-orders-1"),
            "k2-dead-letter-handler": (
                "dead(app) == 1 and dead-twice(app) == 10",
                "dead(careful) == 1 and dead-twice(careful) == 0",
            ),
            "k2-blocking-skips": "given-up(app) == 1",
            "k2-dead-letter-topic-offline": ("dropped(app) == 0", "dropped(careless) == 10"),
            "k2-rocketmq": ("tries(app) == 17", "dead(app) == 1"),
        },
    ),
    "K3": (
        "audit: records by their identities, and reports that are lost",
        {"k3-lost-reports": ("lost(orders-0) == 0", "lost(reports-0) == 40", "lost(safe-reports-0) == 0", "audit-lost == 40")},
    ),
    "H4": (
        "metrics: the counts and gauges that readings give",
        {
            "d9-combined-controllers": "active-controllers == 0",
            "h3-isr-flapping": "isr-shrinks == 2",
            "f2-min-isr-2-one-down": "at-min-isr == 1",
        },
    ),
    "L1": (
        "batches, bytes on the wire, compression; linger.ms, batch.size, and buffer.memory",
        {
            "l1-linger": ("batches(linger-5) == 252", "wire-bytes(compressed) < 23000"),
            "l1-buffer-memory": "buffer-available(app) == 0",
        },
    ),
    "L2": (
        "segments, sparse offset and time index; a lookup step by step is isrlab segments",
        {"l2-segment-lookup": ("read(late) == 1815", "rule=log-start, to-offset=990", "topic=audit, rule=log-start, to-offset=455")},
    ),
    "L3": (
        "flush, process crash, power loss",
        {
            "l3-process-kill": "never unflushed-lost",
            "l3-power-loss-one": "happened unflushed-lost",
            "l3-power-loss-everywhere": "happened unflushed-lost",
            "captures-kill-9": "broker-started {broker=2, clean=false}",
        },
    ),
    "L4": (
        "log start and retention",
        {
            "l4-retention": ("log-start(orders-0, 3) >= 10000", "log-restarted {broker=3"),
            "l4-delete-records": "log-start(orders-0, 2) == 400",
        },
    ),
    "L5": (
        "log compaction: last values, tombstones, gaps; records that are cleaned and then truncated; deletions that a follower misses",
        {
            "l5-compaction": ("value(orders-0, k9) == none", "read(late) == records(orders-0)", "failed(keyless) == 1"),
            "l5-cleaned-then-truncated": ("value(t-0, k, 1) == none", "value(t-0, k, 1) == v1"),
            "l5-missed-tombstone": ("value(orders-0, paid) == v1", "value(orders-0, paid) == none"),
        },
    ),
}

STORIES: Final[dict[str, tuple[str, Witnesses]]] = {
    "S1": ("KIP-101 no. 1, loss by truncation", {"e1-data-loss": "lost == 1"}),
    "S2": ("KIP-101 no. 2, power loss", {"s2-power-loss": "diverged == 5"}),
    "S3": ("KIP-279, fast fail-over", {"s3-fast-failover": "diverged(t-0) > 0"}),
    "S4": ("KIP-320, the zombie", {"s4-zombie-fetch": "diverged == 10", "s4-question-of-another-epoch": "diverged == 8"}),
    "S5": ("KAFKA-7164, the same leader again", {"s5-same-leader-again": "diverged == 1"}),
    "S6": ("KAFKA-7128, joining at the epoch's start", {"s6-join-at-the-epoch-start": "lost == 5"}),
    "S7": ("KIP-320 first try, followers of another epoch", {"s7-follower-of-another-epoch": "lost == 5"}),
    "S8": ("KIP-903, rejoined empty", {"s8-rejoined-empty": "lost == 5"}),
    "S9": ("KIP-841, fenced replicas", {"s9-fenced-in-the-isr": "isr-expanded {joined=[2]}", "s9-leader-knows-less": "INELIGIBLE_REPLICA"}),
    "S10": ("KIP-497, the maximal ISR", {"s10-maximal-isr": "lost == 5"}),
    "S11": (
        "KIP-966, last replica standing",
        {
            "s11-last-replica-standing": "lost == 5",
            "s11-all-lose-power": "elr(t-0) == [2, 3]",
            "s11-killed-counts-as-unclean": "lost-acknowledged == 14",
        },
    ),
    "S12": ("KAFKA-13141, a diverging fetch", {"s12-diverging-fetch": "lost == 2"}),
    "S13": ("unclean by the longest log", {"s13-longest-log": "lost == 1"}),
    "S14": (
        "seven shapes of divergence",
        {
            "s14-shapes-of-divergence": (
                "never truncated {partition=t-0",
                "never truncated {partition=t-1",
                "truncated {broker=2, partition=t-2, from-offset=2",
                "truncated {broker=2, partition=t-3, from-offset=2",
                "truncated {broker=2, partition=t-4, from-offset=2",
                "truncated {broker=2, partition=t-5, from-offset=1",
                "truncated {broker=2, partition=t-6, from-offset=0",
            ),
        },
    ),
    "S15": ("the consumer's side of KIP-320", {"s15-consumer-truncation": "consumer-truncated"}),
}

CAPTURES: Final[dict[str, tuple[str, Witnesses]]] = {
    "FC-1": (
        "controlled shutdown",
        {
            "captures-controlled-shutdown": (
                "at-min-isr == 6",
                "under-min-isr == 0",
                "urp == 6",
                "leader(l07.cdr.ha-2) == 1",
                "leader(l07.cdr.ha-3) == 2",
                "isr-row(l07.cdr.ha-0) == [1, 2]",
                "isr-row(l07.cdr.ha-1) == [2, 1]",
                "max-latency(app) < 500ms",
                "failed(app) == 0",
            ),
        },
    ),
    "FC-2": (
        "return, and the preferred election",
        {"captures-controlled-shutdown": ("isr-row(l07.cdr.ha-1) == [1, 2, 3]", "leaders(1) == 3", "leaders(3) == 0", "leaders(3) == 2")},
    ),
    "FC-3": (
        "kill -9",
        {
            "captures-kill-9": (
                "isr(l07.cdr.ha-1) == [1, 2, 3]",
                "leader(l07.cdr.ha-1) == 3",
                "leader(l07.cdr.ha-4) == 1",
                "isr(l07.cdr.ha-5) == [1, 3]",
                "max-latency(app) > 6.5s",
                "max-latency(app) < 22s",
                "clean=false",
                "failed(app) == 0",
            ),
        },
    ),
    "FC-4": ("leadership does not return by itself", {"captures-kill-9": "leaders(2) == 0", "d7-imbalance-percentage": "leaders(1) == 2"}),
    "FC-5": (
        "the controllers' majority",
        {"d9-combined-controllers": "REQUEST_TIMED_OUT", "d9-dedicated-controllers": "NOT_ENOUGH_REPLICAS"},
    ),
}

TRANSACTIONS: Final[dict[str, tuple[str, Witnesses]]] = {
    "T1": (
        "a batch that comes after its transaction was aborted hangs the partition before 3.6, and is refused since",
        {"t1-late-produce": ("lso(orders-0) == 6", "lso(orders-0) == 106", "read(committed) == 0", "read(committed) == 100")},
    ),
    "T2": (
        "a late batch of an aborted transaction joins the next transaction, and is readable",
        {"t2-late-batch-joins": ("read(committed) == 27", "read(committed) == 20")},
    ),
    "T3": (
        "a late marker ends the next transaction too early, so records of an aborted transaction are readable",
        {"t3-late-marker": ("read(committed) == 12", "read(committed) == 5", "happened marker-refused")},
    ),
    "T4": (
        "a process that lost its partition commits its transaction, unless the transactional ID belongs to the partition",
        {"t4-zombie-process": ("processed-twice(second) == 10", "processed-twice(next) == 0")},
    ),
    "T5": (
        "the next owner of a partition reads the committed offset while a marker is missing; since KIP-447, it waits",
        {"i2-stable-offsets": ("processed-twice(second) == 10", "processed-twice(second) == 0")},
    ),
    "T6": (
        "retention makes the leader forget a producer, which is fatal in 0.11",
        {
            "t6-retention-forgets-producer": (
                "happened producer-state {producer=app, transaction-state=FATAL_ERROR",
                "happened append-refused {producer=app, error=UNKNOWN_PRODUCER_ID}",
                "never append-refused {producer=app}",
            )
        },
    ),
    "T7": (
        "the abort of a transaction that timed out does not fence its producer in 0.11, so half of the transaction is committed",
        {"t7-timeout-without-fencing": ("read(committed) == 7", "read(committed) == 0", "never transaction-ended {marker=COMMIT}")},
    ),
    "T8": (
        "a marker has no time, so the leader forgets the epoch of a fenced producer and appends its batch",
        {"t8-marker-without-time": ("lso(orders-0) == 1", "lso(orders-0) == 8", "read(committed) == 0", "read(committed) == 7")},
    ),
    "T9": (
        "an idempotent producer continues with another producer ID, so the leader does not recognize its late batch",
        {"t9-new-producer-id": ("leo(orders-0) == 20", "leo(orders-0) == 15", "count producer-id-given {producer=app} == 2")},
    ),
    "T10": (
        "an unclean leader election loses a marker, and the transaction is open for good",
        {"t10-unclean-election": ("lso(orders-0) == 0", "lso(invoices-0) == 6", "read(of-orders) == 0", "read(of-invoices) == 5")},
    ),
    "T11": (
        "the log cleaner removes the marker of an aborted transaction whose records stay, so consumers read them as committed",
        {"t11-marker-cleaned": ("read(late) == 20", "read(late) == 15", "lso(orders-0) == hw(orders-0)")},
    ),
    "T12": (
        "a late answer makes the coordinator forget the markers of a transaction, which is then never complete",
        {
            "t12-forgotten-markers": (
                "read(committed) == 5",
                "read(committed) == 12",
                "never transaction-state {transaction-state=CompleteCommit}",
            ),
            "t12-same-coordinator": (
                "read(committed) == 5",
                "read(committed) == 12",
                "count coordinator-loaded {broker=3, topic=__transaction_state} == 2",
            ),
        },
    ),
    "T13": (
        "4.3 skips the marker of a partition that has no leader, so half of the transaction stays open",
        {"t13-end-while-offline": ("lso(orders-0) == 0", "lso(orders-0) == 6", "read(committed) == 7", "read(committed) == 12")},
    ),
    "T14": (
        "a coordinator that took over acts on an entry that is not committed, and the next one lacks it (not a story of the reference)",
        {"t14-unreplicated-coordinator-state": ("read(committed) == 5", "unclean-elections == 0", "status(orders-1) == reads-held")},
    ),
}
"""Stories of transactions."""

COVERED: Final = ROWS | STORIES | CAPTURES | TRANSACTIONS

HARM: Final = r"(lost|diverged)(\(.*?\))? (== [1-9]|> 0)|happened records-(lost|diverged)|happened isr-expanded"
"""Expectations of a story that goes wrong: records are lost or permanently different; S9: a fenced replica is in the ISR."""

NONE: Final = r"(lost|diverged)(\(.*?\))? == 0|never (records-(lost|diverged)|isr-expanded)"
"""Expectations of a story that goes well."""

GAPS: Final = {
    "B4": "the last stable offset and read_committed come with transactions",
    "H4": "byte rates, idle percentages and MaxLag have no reading in scripts; tests of the metrics and of their page show them",
}
"""The parts of covered rows that no script can show yet, with the reasons."""


def checked(scenario: Scenario, release: str) -> list[str]:
    """Return the text of every expectation and condition that is checked when the script runs under a release."""
    found: list[tuple[str, Under, Under]] = [(one.text, step.under, one.under) for step in scenario.steps for one in step.expects]
    found += [(one.text, ALWAYS, one.under) for one in scenario.expects]
    found += [(one.text, step.under, ALWAYS) for step in scenario.steps for one in step.until]
    run = release_named(release)
    return [text for text, step, one in found if step.includes(run) and one.includes(run)]


@pytest.mark.parametrize("row", COVERED)
def test_every_row_is_shown(row: str) -> None:
    title, witnesses = COVERED[row]
    assert title
    assert witnesses
    for name, told in witnesses.items():
        scenario = catalogue.load(name)
        texts = [text for release in scenario.releases for text in checked(scenario, release)]
        for witness in [told] if isinstance(told, str) else told:
            assert witness
            assert any(witness in text for text in texts), f"{row}, {title}: {name} expects nothing of {witness!r}, but {texts}"


@pytest.mark.parametrize("story", [f"S{number}" for number in range(1, 15)])
def test_a_story_goes_wrong_and_goes_well(story: str) -> None:
    """Some script of the story expects the harm under one release, or without a guard, and expects no harm under another release."""
    _, scripts = STORIES[story]
    outcomes = {}
    for name in scripts:
        scenario = catalogue.load(name)
        harmed, unharmed = [], []
        for release in scenario.releases:
            texts = "\n".join(checked(scenario, release))
            if re.search(HARM, texts):
                harmed.append(release)
            elif re.search(NONE, texts):
                unharmed.append(release)
        outcomes[name] = harmed, unharmed
    assert any(harmed and unharmed for harmed, unharmed in outcomes.values()), f"{story}: {outcomes}"


def test_the_ids_are_those_of_the_catalogue() -> None:
    ids = [
        f"{letter}{number}"
        for letter, last in (("A", 4), ("B", 5), ("C", 7), ("D", 9), ("E", 5), ("F", 4))
        for number in range(1, last + 1)
    ]
    assert set(ROWS) == {*ids, "H2", "H3", "H4", "I2", "J1", "J2", "J3", "K1", "K2", "K3", "L1", "L2", "L3", "L4", "L5"}
    assert set(STORIES) == {f"S{number}" for number in range(1, 16)}
    assert set(CAPTURES) == {f"FC-{number}" for number in range(1, 6)}
    assert set(GAPS) <= set(COVERED)


@pytest.mark.parametrize("name", catalogue.names())
def test_a_name_begins_with_what_it_shows(name: str) -> None:
    """If the name of a script begins like the name of a row, that row must exist, so a wrong letter or number is found."""
    tag = re.match(r"[a-z]\d+(?=-)", name)
    assert name.startswith("captures-") or (tag is not None and tag[0].upper() in COVERED), f"{name} names no row of the catalogue"


def test_an_example_of_two_profiles_is_run_under_two() -> None:
    assert catalogue.load("e1-data-loss").releases == ("0.10.2", "4.3")
