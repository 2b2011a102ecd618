"""Groups of the classic protocol: members join, a leader among them assigns the partitions, and everyone syncs (Kafka: `ClassicGroup`)."""
