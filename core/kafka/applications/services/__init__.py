"""Services that applications build on top of Kafka, which does not provide them itself: delayed records, retries, and dead letters."""
