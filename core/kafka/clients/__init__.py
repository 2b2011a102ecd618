"""Producers and consumers: they find leaders by metadata, retry, and trust the responses of brokers."""
