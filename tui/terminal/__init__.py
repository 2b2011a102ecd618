"""The modules between Textual and the terminal or browser, and the line that shows progress without Textual."""
