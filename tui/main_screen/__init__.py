"""The main screen: its presenter, panels, and navigation."""
