"""BookKeeper's replication: one writer per ledger, which stripes entries over bookies, and recovery that fences the former writer."""
