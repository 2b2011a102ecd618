"""A majority log as in Raft: an elected leader, and entries that are committed once a majority has stored them."""
