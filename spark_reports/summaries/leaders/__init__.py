"""Summaries of leaders: elections, leadership by broker, and controllers."""
