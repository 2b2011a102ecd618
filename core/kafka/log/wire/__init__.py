"""Batches as bytes in a file and on the network, and the cost of sending them."""
