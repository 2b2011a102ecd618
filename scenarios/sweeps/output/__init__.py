"""Shows the result of a sweep on the terminal, as an HTML page, as files, and as scenarios."""
