"""The running session: loading it, and playing it in wall-clock time. This package does not depend on widgets."""
