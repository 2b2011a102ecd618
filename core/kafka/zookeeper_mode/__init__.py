"""Kafka in ZooKeeper mode: brokers register in ZooKeeper, ISR changes go through ZooKeeper, and one of the brokers is the controller."""
