"""The terminal playground and the command line. Nothing imports this package; `cli` must start without textual."""
