"""Transactions on the partitions that a broker leads: how it verifies batches and writes markers."""
