"""Time travel without a terminal: `history.History` plays, rewinds, and branches a cluster (tests/core/lab/history/test_usage.py)."""
