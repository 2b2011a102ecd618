"""The playground as a Textual application: its start, its end, and its crash report."""
