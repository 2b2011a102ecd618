"""The playground as a Textual application: how it starts, what ends it, what is left when it fails."""
