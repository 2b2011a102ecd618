"""The error of reports and sweeps for problems that the user can fix."""

from __future__ import annotations


class ReportError(Exception):
    """A report cannot be created. The message contains the problem, its place, and the remedy."""
