"""The event journal: what happened, when, why.

`events` declares the kinds and their columns, `recorder` stamps and hands tuples to a sink.
"""
