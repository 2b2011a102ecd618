"""The assignors that the group coordinator uses for groups that use the consumer protocol (KIP-848)."""
