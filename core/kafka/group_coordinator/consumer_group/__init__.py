"""The state of groups that use the consumer protocol (KIP-848): groups, members, target assignments, reconciliation, and records."""
