"""The screen of `isrlab play compare-models`: four replication models in lockstep under the same faults."""
