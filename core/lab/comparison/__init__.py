"""The same workload and the same faults under Kafka and under the other replication models, counted in the same way."""
