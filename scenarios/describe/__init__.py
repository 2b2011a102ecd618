"""The output of `kafka-topics --describe`: `parse` reads it, `render` prints it, and `spec` builds a cluster from it."""
