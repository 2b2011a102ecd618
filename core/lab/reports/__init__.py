"""Reports on a cluster at one moment, each made for one screen or command: durability, groups, segments, transactions, and a partition in
detail."""
