"""The group coordinator, which is the part of a broker that keeps the committed offsets of groups in `__consumer_offsets` (Kafka:
`GroupCoordinator`)."""
