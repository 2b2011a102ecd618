"""Producers and consumers, which find leaders in metadata, retry requests, and trust the brokers' responses."""
