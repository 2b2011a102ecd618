"""The KRaft controller, which registers and fences brokers, elects leaders, and commits ISR changes to the metadata log."""
