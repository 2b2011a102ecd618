"""Groups of the consumer protocol (KIP-848) as state: groups, members, target assignments, reconciliation, and records."""
