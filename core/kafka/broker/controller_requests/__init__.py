"""Requests that a broker sends to the active controller."""
