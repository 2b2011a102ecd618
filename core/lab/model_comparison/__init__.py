"""Comparisons of Kafka with the other replication models. All systems get the same workload and the same faults, and report the same
counts."""
