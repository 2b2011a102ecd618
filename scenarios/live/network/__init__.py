"""Connections to the brokers of a running cluster: the requests that may be sent, the client properties file, TLS and SASL, and the messages."""
