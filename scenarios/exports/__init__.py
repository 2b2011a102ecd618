"""A moment of a log or of a scenario in other formats: Kafka's metrics and checkpoint files, and a trace for Perfetto."""
