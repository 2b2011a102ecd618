"""Summaries of replicas: the ISR, under-replication, and lag."""
