"""The consumer protocol (KIP-848) at one broker: heartbeats, sessions, and writes to `__consumer_offsets`."""
