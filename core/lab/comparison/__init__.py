"""Comparisons of Kafka with the other replication models, with the same workload, the same faults, and the same counts."""
