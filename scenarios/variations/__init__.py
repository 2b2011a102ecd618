"""Runs that differ in settings: the values that vary, and the clusters, releases, and acts with these values."""
