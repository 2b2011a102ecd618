"""A broker: its replica manager, the partitions that it leads, fetchers for the partitions that it follows, purgatory, and disk."""
