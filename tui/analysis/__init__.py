"""Analysis of frozen views and events: faults, ISR reasons, and metrics over time. The modules of this package do not depend on widgets."""
