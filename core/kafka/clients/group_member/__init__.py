"""A consumer that is a member of a group (Kafka: `KafkaConsumer#subscribe`): its poll loop, its membership, its commits, and its
fetches."""
