"""Groups that use the classic protocol: members join, one of them, the leader, assigns the partitions, and all members sync (Kafka:
`ClassicGroup`)."""
