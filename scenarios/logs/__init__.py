"""Event logs: written, read, decoded, checked and replayed; what a log says about its session."""
