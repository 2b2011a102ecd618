"""The KRaft controller: it registers and fences brokers, elects leaders, and commits ISR changes to the metadata log."""
