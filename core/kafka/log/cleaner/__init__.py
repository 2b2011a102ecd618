"""Log compaction: each replica cleans its own log by removing each record for whose key the log has a newer record (Kafka: `LogCleaner`)."""
