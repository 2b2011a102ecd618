"""The trace of a record: what happens to the record between its producer and its consumers."""
