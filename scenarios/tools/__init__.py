"""Kafka's operations tools: what `kafka-reassign-partitions` and `kafka-leader-election` print for a moment of a log or a scenario."""
