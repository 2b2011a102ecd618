"""The requests from followers and clients that a broker serves: produce, fetch, and list offsets."""
