"""Elasticsearch replication: a primary that writes to every in-sync copy, and a master that keeps the list of these copies."""
