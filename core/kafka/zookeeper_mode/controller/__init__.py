"""The ZooKeeper-era control plane: a controller elected among the brokers, and its elections and replica states."""
