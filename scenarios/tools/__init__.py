"""The output of Kafka's operations tools, such as `kafka-reassign-partitions` and `kafka-leader-election`, at one moment of a log or a
scenario.
"""
