"""Compares two event logs: which partitions and brokers did the same at the same times, whether the logs were simulated or watched."""
