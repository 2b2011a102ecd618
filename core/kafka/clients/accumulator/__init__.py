"""How a producer collects records in batches: memory, open batches, and the choice of partitions (Kafka: `RecordAccumulator`, `BufferPool`)."""
