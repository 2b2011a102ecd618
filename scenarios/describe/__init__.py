"""The text of `kafka-topics --describe`: reading it (`parse`), printing it (`render`), and making a cluster of it (`spec`)."""
