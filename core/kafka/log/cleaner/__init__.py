"""Log compaction: each replica removes, for itself, the records whose key has a newer record (Kafka: `LogCleaner`)."""
