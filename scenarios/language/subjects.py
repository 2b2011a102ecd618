"""The title of a scenario, and the subjects by which people look for one."""

from __future__ import annotations

from typing import Final

from scenarios.language.nodes import Items, Node, shortened
from scenarios.language.values import as_items, as_text, as_word, each

MAX_TITLE: Final = 70
"""The maximum length of a title, in characters."""

MAX_TAGS: Final = 6
"""The maximum number of tags of a scenario."""

SUBJECTS: Final[dict[str, str]] = {
    "replication": "how followers copy the leader's log",
    "high-watermark": "which records are committed, and who knows it when",
    "isr": "which replicas are in sync, and when one leaves or joins",
    "acks": "when a producer is told that a record is written",
    "min-isr": "min.insync.replicas, and writes that are refused",
    "elections": "which replica becomes leader, and when",
    "unclean-election": "a replica that is not in sync becomes leader",
    "elr": "eligible leader replicas, which may lead though they left the ISR",
    "offline": "a partition without a leader",
    "epochs": "leader epochs, and what a replica cuts off its log",
    "divergence": "replicas with different records at the same offset",
    "data-loss": "acknowledged records that are gone",
    "duplicates": "records that are written or processed twice",
    "ordering": "records that overtake others",
    "idempotence": "producers whose retries do not write a record twice",
    "producers": "batches, memory, and metadata of producers",
    "transactions": "records that become readable together or not at all",
    "hanging-transaction": "a transaction that nobody ends, so readers wait",
    "exactly-once": "processes that read, write, and commit in one transaction",
    "consumers": "what a consumer reads, and from which replica",
    "consumer-groups": "members, coordinators, and protocols of groups",
    "rebalance": "the members of a group share their partitions anew",
    "cooperative": "rebalances in which members keep their partitions",
    "static-membership": "members that may restart without a rebalance",
    "offsets": "committed offsets, and where a consumer begins",
    "lag": "readers or followers that are behind",
    "delayed-messages": "services that deliver records later",
    "retries": "records that are processed again after an error",
    "dead-letters": "records that nobody could process",
    "audits": "counts that should show whether a record is missing",
    "retention": "old records are deleted",
    "compaction": "only the latest record of each key is kept",
    "segments": "the files of a log, and their indexes",
    "disk": "slow, failed, full, or empty disks and log directories",
    "power-loss": "machines lose what was not flushed to disk",
    "crash": "a process dies",
    "pause": "a process stands still, for example in a garbage collection",
    "network": "links that are cut, slow, or repeat messages",
    "clocks": "clocks that are wrong or drift",
    "latency": "how long something takes, and what it waits for",
    "zombie": "a process that does not know that it was replaced",
    "split-brain": "two leaders at the same time",
    "controller": "the controller, its elections, and its requests",
    "quorum": "decisions of a majority of voters",
    "zookeeper": "clusters with ZooKeeper",
    "topics": "topics are created, extended, or deleted",
    "racks": "zones and data centers",
    "reassignment": "replicas move to other brokers or directories",
    "throttling": "limits on the rate of copying",
    "maintenance": "restarts and other planned work on a cluster",
    "rolling-restart": "all brokers restart, one after the other",
    "upgrade": "new releases, protocols, and feature levels",
    "settings": "settings that are changed, and those that are ignored",
    "kafka-bugs": "faults of Kafka in the releases that had them",
    "recorded": "compared with a recording of a real cluster",
    "other-systems": "other ways of replication, and comparisons",
    "mysql": "replication of MySQL",
    "elasticsearch": "replication of Elasticsearch",
    "majority": "logs that a majority of copies must have, as in Raft",
    "stale-reads": "readers that see old data, or data that disappears",
}
"""The subjects of scenarios, with descriptions. `tags` in a script are some of these words."""


def read_title(node: Node) -> str:
    """Read the title of a scenario: one line of at most `MAX_TITLE` characters."""
    title = as_text(node, "write in one line what the scenario is about")
    if len(title.splitlines()) > 1:
        raise node.error("the title has several lines", "write one line; 'about' has room for more")
    if len(title) > MAX_TITLE:
        raise node.error(f"the title has {len(title):,} characters", f"use at most {MAX_TITLE}; 'about' has room for more")
    return title


def read_tags(node: Node) -> tuple[str, ...]:
    """Read the tags of a scenario: some of the `SUBJECTS`, the main one first."""
    items: Items = as_items(node, "write a list of subjects, for example [isr, network]")
    tags = each(items, "write a list of subjects", lambda item: as_word(item, SUBJECTS))
    if not tags:
        raise node.error("the list is empty", "write at least one subject, for example [isr, network]")
    if len(tags) > MAX_TAGS:
        raise node.error(f"the list has {len(tags):,} subjects", f"use at most {MAX_TAGS}")
    for number, item in enumerate(items):
        if tags[number] in tags[:number]:
            raise item.error(f"'{shortened(tags[number])}' appears twice", "write each subject once")
    return tags
