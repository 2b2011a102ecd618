"""A broker as follower: its fetchers, the responses of leaders, and truncation."""
