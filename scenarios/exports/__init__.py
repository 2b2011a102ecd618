"""Exports: Kafka's metrics and checkpoint files at one moment of a log or of a scenario, and logs as traces for Perfetto."""
