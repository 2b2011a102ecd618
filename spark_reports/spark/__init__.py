"""Starts Spark: finds a Java, checks the master, opens a session, and stops it."""
