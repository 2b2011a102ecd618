"""Reads a grid from YAML. Every mistake is reported with its place and a remedy."""
