"""The logs of a broker: the periodic tasks on them, the log cleaner, and the log directories (Kafka: `LogManager`)."""
