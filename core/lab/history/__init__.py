"""Time travel: a cluster's state as a value, and the way back to it."""
