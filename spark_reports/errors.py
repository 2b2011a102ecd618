"""The error of reports and sweeps that the user can fix."""

from __future__ import annotations


class ReportError(Exception):
    """A report cannot be made. The message says what is wrong, where, and how to fix it."""
