"""Requests that are waiting for the high watermark of a partition to advance, or for the leadership of the partition to change."""
