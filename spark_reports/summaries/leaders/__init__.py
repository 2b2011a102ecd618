"""Summaries about leaders: elections, leadership by broker, and controllers."""
