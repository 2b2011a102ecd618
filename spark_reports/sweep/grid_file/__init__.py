"""Reads a grid from YAML, and reports every mistake with its place and a remedy."""
