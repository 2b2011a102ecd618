"""One replica's log: records as runs of leadership terms, the leader-epoch cache, segments, and producer state."""
