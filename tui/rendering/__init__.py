"""How things look: palettes, glyphs and words of states, lines and tables. Knows no widget."""
