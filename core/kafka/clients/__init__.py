"""Producers and consumers. These clients find leaders in metadata, retry requests, and trust the brokers' responses."""
