"""Finds event logs, and reads what each says about itself: its header and its last line."""
