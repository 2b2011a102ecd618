"""Kafka in ZooKeeper mode: a broker that registers in ZooKeeper, its client, its road for ISR changes, and the controller in a broker."""
