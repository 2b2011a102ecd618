"""Requests that wait at a partition until the high watermark or its leadership changes."""
