"""Reads a grid from YAML. Every mistake is reported with its location and a remedy."""
