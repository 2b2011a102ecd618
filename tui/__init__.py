"""The terminal playground and the command line.

No other package imports this package. The module `cli` must start without importing Textual.
"""
