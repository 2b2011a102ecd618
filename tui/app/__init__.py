"""The playground as a Textual application, including startup, shutdown, and the crash report."""
