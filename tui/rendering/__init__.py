"""Palettes, lines, tables, and the glyphs and words for states. This package does not depend on the panels."""
