"""Event logs: writing, reading, decoding, checking, and replaying them, and reading the session that a log contains."""
