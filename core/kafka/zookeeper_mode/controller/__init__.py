"""The controller in ZooKeeper mode, which the brokers elect among themselves: leader elections, replica states, and reassignments."""
