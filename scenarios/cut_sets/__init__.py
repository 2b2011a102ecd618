"""Which brokers, racks, or log directories must fail together until partitions are harmed: minimal cut sets, without any simulation."""
