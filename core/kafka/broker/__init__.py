"""A broker: replica manager, partitions it leads, fetchers for those it follows, purgatory, disk."""
