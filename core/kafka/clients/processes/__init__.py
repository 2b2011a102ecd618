"""Applications that read a topic, write another topic, and commit their offsets."""
