"""The assignors of the group coordinator for groups of the consumer protocol (KIP-848)."""
