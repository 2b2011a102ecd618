"""Other orders of events than the agenda's: what can happen next, and a search through all of it."""
