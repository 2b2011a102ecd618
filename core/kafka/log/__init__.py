"""One replica's log: runs of records from leadership terms, the leader-epoch cache, segments, and producer state."""
