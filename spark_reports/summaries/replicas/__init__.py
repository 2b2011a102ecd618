"""Summaries about replicas: the ISR, under-replication, and lag."""
