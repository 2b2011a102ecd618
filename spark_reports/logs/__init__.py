"""Finds event logs, and reads their headers and last lines."""
