"""Applications that read from one topic, write to another, and commit their offsets."""
