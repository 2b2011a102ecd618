"""Scenarios: the script language, the runner, the library of scripts, event logs, sweeps, and the formats of other tools."""
