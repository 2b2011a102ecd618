"""The modules that are between Textual and the terminal or browser: driver, compositor, filters, and server."""
