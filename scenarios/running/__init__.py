"""Runs of scenarios and their results. A run can be headless, be compared with runs under other releases, or be shown on a screen."""
