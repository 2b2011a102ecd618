"""The producer client: its sequence numbers, its sender thread, and its transactions."""
