"""Analysis of frozen views and events: faults, ISR reasons, and metrics over time. No module here depends on a widget."""
