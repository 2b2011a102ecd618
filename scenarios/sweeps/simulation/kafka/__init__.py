"""Kafka under its settings: a run simulates a cluster with producers, in episodes around faults."""
