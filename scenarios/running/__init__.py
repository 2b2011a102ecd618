"""Runs of scenarios and their results. A run can be headless, compared with runs under other releases, or shown on a screen."""
