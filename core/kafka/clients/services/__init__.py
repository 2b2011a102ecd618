"""Services that applications build on top of Kafka: delayed records, retries, and dead letters. Kafka itself has none of these."""
