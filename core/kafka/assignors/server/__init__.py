"""The assignors that the group coordinator uses for groups with the consumer protocol (KIP-848)."""
