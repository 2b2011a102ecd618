"""The session that runs: how it is loaded, and how it goes forward with the wall clock. Knows no widget."""
