"""Shows a finished report on the terminal, as an HTML page with charts, or as JSON."""
