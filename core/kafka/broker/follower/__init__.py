"""The broker as a follower: its fetchers, the leaders' responses, and truncation."""
