"""The screens that show a whole cluster at once: the topology, and the map of all partitions."""
