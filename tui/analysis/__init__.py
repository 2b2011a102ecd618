"""What follows from frozen views and events: faults, reasons, metrics over time. Knows no widget."""
