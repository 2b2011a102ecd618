"""A broker: its replica manager, the partitions that it leads, the fetchers for the partitions that it follows, its purgatory, and its
disk.
"""
