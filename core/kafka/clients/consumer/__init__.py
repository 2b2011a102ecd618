"""The consumer client: it fetches from leaders, alone or for a group."""
