"""Requests that are waiting at a partition until the high watermark advances or the leadership changes."""
