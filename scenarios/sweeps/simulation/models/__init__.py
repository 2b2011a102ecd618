"""Replication models: a run simulates a system with simple clients that write and read keys."""
