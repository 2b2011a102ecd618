"""Summaries of sessions. A summary is a function from DataFrames to a table that answers one question.

`leaders`, `replicas`, `clients`, `cluster`, `transactions`, `groups`, and `services` contain the summaries, grouped by subject. Each
summary is in a module that has the name of its table. `intermediate` contains the DataFrames that several summaries share. `overview`
combines the tables into figures for each session, `chart_data` selects the data of the charts, and `registry` lists all summaries.
"""
