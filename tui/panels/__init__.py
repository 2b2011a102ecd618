"""The panels of the main screen.

Each module contains a pure function that paints frozen state as lines, and a thin widget around this function.
"""
