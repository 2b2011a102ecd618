"""Clients: producers and consumers that find leaders by metadata, retry, and believe what they are told."""
