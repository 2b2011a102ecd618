"""Requests of followers and clients that a broker serves: produce, fetch, and list offsets."""
