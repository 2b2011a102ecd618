"""Starts and stops Spark: finds a Java, checks the master, opens a session, and closes the session."""
