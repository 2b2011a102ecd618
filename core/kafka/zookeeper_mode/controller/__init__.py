"""The controller of ZooKeeper mode, elected among the brokers: leader elections, replica states, and reassignments."""
