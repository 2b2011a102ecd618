"""Scenarios: the script language, the runner, the library of scripts, event logs, and the formats of other tools."""
