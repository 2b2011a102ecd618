"""The running session: its loading, and its playback with the wall clock. This package does not depend on widgets."""
