"""The settings of the Elasticsearch model, with Elasticsearch's names and defaults."""

from __future__ import annotations

import attrs

from core.sim.units import SECOND


@attrs.frozen
class ElasticsearchSettings:
    """The settings of Elasticsearch.

    Attributes:
        nodes: the number of nodes, all of which can become the master.
        copies: the number of copies of the shard (number_of_replicas + 1), on the first nodes. 0 means one copy on each node.
        master: the node that is the master at the start.
        wait_for_active_shards: the number of copies that must be active before a write begins.
        write_timeout: how long a write waits for active copies or for a primary, in µs.
        refresh_interval: the interval at which a copy makes its operations visible to searches, in µs (index.refresh_interval).
        refresh_phases: the time at which each copy refreshes for the first time, in µs. By default, the copies refresh one after the other.
        wait_for_refresh: whether a write is acknowledged only after searches at all copies can find it (refresh=wait_for).
        translog_async: whether writes are acknowledged before they are synced to disk (index.translog.durability=async).
        sync_interval: the time between two syncs of the translog, in µs (index.translog.sync_interval).
        check_interval, check_timeout, check_retries: the settings in cluster.fault_detection, which determine how masters and the other
            nodes check each other.
        publish_timeout: how long a master waits for a new cluster state to be accepted, in µs (cluster.publish.timeout).
        minimum_master_nodes: the number of votes that a master needs; 0 for a majority. Before 7.0, users had to set
            discovery.zen.minimum_master_nodes to a majority themselves.
        lease_period: how long operations are kept for a copy that is away, in µs (index.soft_deletes.retention_lease.period).
    """

    nodes: int = 3
    copies: int = 0
    master: str = "n1"
    wait_for_active_shards: int = 1
    write_timeout: int = 60 * SECOND
    refresh_interval: int = SECOND
    refresh_phases: tuple[int, ...] = ()
    wait_for_refresh: bool = False
    translog_async: bool = False
    sync_interval: int = 5 * SECOND
    check_interval: int = SECOND
    check_timeout: int = 10 * SECOND
    check_retries: int = 3
    publish_timeout: int = 30 * SECOND
    minimum_master_nodes: int = 0
    lease_period: int = 12 * 3_600 * SECOND
