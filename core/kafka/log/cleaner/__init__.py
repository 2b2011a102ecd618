"""Log compaction: each replica cleans its own log by removing the records whose key has a newer record in the log (Kafka: `LogCleaner`)."""
