"""The consumer client, which fetches from leaders, and which can store its offsets in a group."""
