"""The bytes of batches in files and on the network, and the cost of sending them."""
