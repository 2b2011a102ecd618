"""Kafka's operations tools: the output of `kafka-reassign-partitions` and `kafka-leader-election` at one moment of a log or a scenario."""
