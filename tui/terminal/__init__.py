"""Between Textual and the terminal, or the browser: driver, compositor, filters, server."""
