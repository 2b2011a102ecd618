"""Starts and stops Spark: finds a Java runtime, checks the master, opens a session, and closes the session."""
