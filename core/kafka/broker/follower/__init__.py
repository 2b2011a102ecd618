"""A broker as follower: its fetchers, the leader's responses, and truncation."""
