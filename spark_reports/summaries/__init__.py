"""Summaries: each answers one question about sessions, as a function from DataFrames to a table.

`leaders`, `replicas`, `clients`, and `cluster` hold the summaries by subject; each module is named after its table. `intermediate` holds
the DataFrames that several summaries share. `overview` combines the tables into figures for each session, `chart_data` selects what
the charts show, and `registry` lists everything.
"""
