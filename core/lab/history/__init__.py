"""Time travel, without a terminal: `history.History` is a cluster that is played, gone back on and branched (tests/core/lab/history/test_usage.py)."""
