"""Transactions on the partitions that a broker leads: verification of batches, and markers."""
