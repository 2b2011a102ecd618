"""The screen of `isrlab play compare-models`: four replication models in step under the same faults."""
