"""How a producer collects records in batches: its memory, its open batches, and how it chooses partitions (Kafka: `RecordAccumulator`,
`BufferPool`)."""
