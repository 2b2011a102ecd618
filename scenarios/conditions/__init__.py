"""Conditions: what expectations and watchpoints ask of a moment. Their language, their parser, and how they are evaluated."""
