"""Palettes, the glyphs and words of states, lines, and tables. This package does not depend on the panels."""
