"""The exception of reports and sweeps, which is raised for problems that the user can fix."""

from __future__ import annotations


class ReportError(Exception):
    """A report cannot be created. The message contains the problem, its place, and the remedy."""
