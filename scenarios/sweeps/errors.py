"""The exception that a sweep raises for problems that the user can fix."""

from __future__ import annotations


class SweepError(Exception):
    """A sweep cannot be completed. The message describes the problem, where it occurred, and how to fix it."""


class SweepLimitReached(SweepError):
    """A run of a sweep was stopped, because it reached a limit."""
