"""The encoding of record batches in files and on the network, and the cost of sending the bytes."""
