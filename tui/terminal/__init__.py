"""The modules between Textual and the terminal or browser: driver, compositor, filters, and server."""
