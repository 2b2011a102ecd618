"""The playground as a Textual application, including its start, its end, and its crash report."""
