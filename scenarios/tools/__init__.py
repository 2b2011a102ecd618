"""Kafka's operations tools: prints what `kafka-reassign-partitions` and `kafka-leader-election` would print at one moment of a log or a
scenario.
"""
