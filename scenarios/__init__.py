"""Scenarios: the script language, the runner, the library of scripts, and the event log of a session."""
