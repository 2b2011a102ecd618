"""The results of sweeps over Kafka's settings."""
