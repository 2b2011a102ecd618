"""The consumer protocol (KIP-848) on one broker: heartbeats, sessions, and writes to `__consumer_offsets`."""
