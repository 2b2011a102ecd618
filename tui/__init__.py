"""The terminal playground and the command line. No other package imports this one. `cli` must start without Textual."""
