"""The coordinator's side of the classic protocol: it serves JoinGroup, SyncGroup, Heartbeat, and LeaveGroup (Kafka: `GroupMetadataManager`)."""
