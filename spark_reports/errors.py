"""The exception that reports and Spark sessions raise for problems that the user can fix."""

from __future__ import annotations


class ReportError(Exception):
    """A report, or a session on Spark, cannot be completed. The message describes the problem, where it occurred, and how to fix it."""
