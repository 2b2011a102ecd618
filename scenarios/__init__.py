"""Scenarios: the script language, the runner, the library of scripts, event logs, and what other tools read and print."""
