"""Producers and consumers. They find leaders in metadata, retry requests, and trust the responses of brokers."""
