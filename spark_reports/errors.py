"""The exception that reports and sweeps raise for problems that the user can fix."""

from __future__ import annotations


class ReportError(Exception):
    """A report or a sweep cannot be completed. The message describes the problem, where it occurred, and how to fix it."""
