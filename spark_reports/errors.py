"""What can go wrong with a report through no fault of the program."""

from __future__ import annotations


class ReportError(Exception):
    """A report cannot be made; the message says what is wrong, where, and what would be right."""
