"""Exports of one moment of a log or of a scenario: Kafka's metrics and checkpoint files. Also exports a log as a trace for Perfetto."""
