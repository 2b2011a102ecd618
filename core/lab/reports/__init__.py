"""Reports about a moment of a cluster that one screen or command asks for: durability, groups, segments, transactions, and a partition in detail."""
