"""The offset, time, and transaction index of a segment."""
