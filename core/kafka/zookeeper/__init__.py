"""A small ZooKeeper: znodes with versions, sessions with ephemeral znodes, watches, and Kafka's paths in it."""
