"""Services that applications build on top of Kafka: delayed records, retries, and dead letters. Kafka itself does not provide these
services."""
