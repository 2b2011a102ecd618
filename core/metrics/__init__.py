"""Kafka's metrics, made from events: meters as Kafka's own, gauges, and the request queue behind the idle percentages."""
