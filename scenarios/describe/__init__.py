"""The text of `kafka-topics --describe`: reads it (`parse`), prints it (`render`), and builds a cluster from it (`spec`)."""
