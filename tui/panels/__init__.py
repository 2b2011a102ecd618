"""The panels of the main screen. Each module has a pure function from frozen state to lines, and a thin widget around it."""
