"""The main screen, with its presenter, panels, and navigation."""
