"""The main screen: presenter, selection, panels and navigation."""
