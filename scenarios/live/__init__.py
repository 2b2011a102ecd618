"""Reads a running cluster, and describes it in the form in which the output of Kafka's tools is imported.

Only requests that change nothing are ever sent (`network.reading_apis`). `network.connection` is the only place that sends bytes, and
`network.messages` the only one that knows the client library.
"""
