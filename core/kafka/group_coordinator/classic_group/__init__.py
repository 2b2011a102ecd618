"""Groups that use the classic protocol: members join, the leader (one of the members) assigns the partitions, and all members sync (Kafka:
`ClassicGroup`)."""
