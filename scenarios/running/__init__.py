"""Runs of scenarios: headless, side by side under several releases, or watched on a screen; and their results."""
