"""The trace of a record: its life from its producer to its consumers."""
