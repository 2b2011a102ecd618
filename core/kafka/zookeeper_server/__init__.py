"""A small ZooKeeper server: versioned znodes, sessions with ephemeral znodes, watches, and the paths that Kafka uses."""
