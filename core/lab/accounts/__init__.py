"""Accounts of what happens to records: durability, processing, consumption, delayed and retried records, and exposure to loss."""
