"""The coordinator's part of the classic protocol: it serves JoinGroup, SyncGroup, Heartbeat, and LeaveGroup requests (Kafka:
`GroupMetadataManager`)."""
