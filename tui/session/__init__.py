"""The running session: how it is loaded, and how it is played in wall-clock time. This package does not depend on widgets."""
