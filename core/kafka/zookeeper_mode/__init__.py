"""Kafka in ZooKeeper mode: brokers that register in ZooKeeper, ISR changes through ZooKeeper, and the controller in one of the brokers."""
